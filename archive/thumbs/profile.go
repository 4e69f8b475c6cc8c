package thumbs

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"
)

// maxProfile bounds the colour profiles that thumbnails carry on, in bytes.
// Those of cameras, screens and editors have 500 to 4,000; the large ones are
// of printers, and a thumbnail must stay small.
const maxProfile = 16 << 10

// profile gives the picture's colour profile, if its thumbnails need it. Their
// pixels are in the colours of the original's, so with its profile they look
// like it, and without look pale where it has more colours than sRGB. Nil: they
// need none, or it does not fit what we draw, which is always RGB.
func (f *file) profile() []byte {
	var icc []byte
	var err error
	switch f.MIME {
	case "image/jpeg":
		icc, err = f.profileJPEG()
	case "image/png":
		icc, err = f.profilePNG()
	case "image/webp":
		icc, err = f.findChunk("ICCP", 12, min(f.size, 12+30+8+maxProfile)) // it comes right after VP8X
	}
	if err != nil || !isRGB(icc) || isSRGB(icc) {
		return nil // a profile that cannot be read is none, to browsers too
	}
	return icc
}

// isRGB reports that it is a profile, whole, and for RGB.
func isRGB(icc []byte) bool {
	return len(icc) >= 128 && len(icc) <= maxProfile && int(binary.BigEndian.Uint32(icc)) == len(icc) &&
		string(icc[16:20]) == "RGB " && string(icc[36:40]) == "acsp"
}

// isSRGB reports that it says what everybody takes for granted.
func isSRGB(icc []byte) bool {
	return bytes.Contains(icc, []byte("sRGB")) || bytes.Contains(icc, []byte("s\x00R\x00G\x00B"))
}

const profileMark = "ICC_PROFILE\x00"

// profileJPEG joins the parts, which may be in any order.
func (f *file) profileJPEG() ([]byte, error) {
	var parts [256][]byte
	total := int64(0)
	err := f.segments(func(marker byte, off, size int64) (bool, error) {
		if marker != 0xe2 || size < 14 {
			return false, nil
		}
		if total += size; total > 2*maxProfile {
			return true, nil
		}
		b, err := f.bytes(off, size)
		if err == nil && string(b[:12]) == profileMark {
			parts[b[12]] = b[14:]
		}
		return false, err
	})
	return bytes.Join(parts[:], nil), err
}

// profilePNG inflates the chunk iCCP, which comes before the pixels.
func (f *file) profilePNG() ([]byte, error) {
	for off := int64(8); ; {
		head, err := f.bytes(off, 8)
		if err != nil {
			return nil, err
		}
		size, kind := int64(binary.BigEndian.Uint32(head)), string(head[4:])
		switch {
		case kind == "IDAT":
			return nil, nil
		case kind != "iCCP":
			off += 12 + size
			continue
		case size > 2*maxProfile:
			return nil, nil
		}
		b, err := f.bytes(off+8, size)
		if err != nil {
			return nil, err
		}
		_, deflated, _ := bytes.Cut(b, []byte{0})
		if len(deflated) < 2 {
			return nil, nil
		}
		z, err := zlib.NewReader(bytes.NewReader(deflated[1:]))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(io.LimitReader(z, maxProfile+1))
	}
}

// withProfile puts a profile into a JPEG or PNG that an encoder has just made.
func withProfile(encoded, icc []byte, format string) []byte {
	if icc == nil {
		return encoded
	}
	if format == "png" {
		return pngChunk(encoded, "iCCP", append([]byte("icc\x00\x00"), deflated(icc)...))
	}
	body := append([]byte(profileMark+"\x01\x01"), icc...)
	segment := append(binary.BigEndian.AppendUint16([]byte{0xff, 0xe2}, uint16(len(body)+2)), body...)
	return append(append([]byte{0xff, 0xd8}, segment...), encoded[2:]...)
}
