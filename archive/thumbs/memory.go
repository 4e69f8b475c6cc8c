package thumbs

import (
	"encoding/binary"
	"errors"
)

// drawMemory is what scaling takes beside the picture itself, in bytes.
const drawMemory = 80 << 20

// memory estimates how many bytes decoding and drawing take at most. It is
// read from the file's head, without decoding.
func (f *file) memory() (int64, error) {
	perPixel, err := f.perPixel()
	return int64(f.Width)*int64(f.Height)*perPixel + drawMemory, err
}

// perPixel is how many bytes the decoder of the file's format allocates for a
// pixel at most.
func (f *file) perPixel() (int64, error) {
	switch f.MIME {
	case "image/png":
		return f.perPixelPNG()
	case "image/jpeg":
		return f.perPixelJPEG()
	case "image/webp":
		return f.perPixelWebP()
	case "image/gif":
		return 1 + 4, nil // indices, and the canvas when the frame is smaller
	case "image/bmp":
		return 4, nil
	}
	return 0, ErrNoDecoder
}

func (f *file) perPixelPNG() (int64, error) {
	b, err := f.bytes(24, 5) // the end of IHDR
	if err != nil {
		return 0, err
	}
	n := int64(4)
	if b[0] == 16 {
		n = 8
	}
	if b[4] != 0 { // interlaced: each pass is a picture by itself
		n *= 2
	}
	return n, nil
}

// perPixelWebP: lossless data are decoded to four bytes and rearranged, and
// so is the transparency of lossy ones.
func (f *file) perPixelWebP() (int64, error) {
	b, err := f.bytes(12, 4)
	if err != nil {
		return 0, err
	}
	if string(b) == "VP8 " {
		return 2, nil
	}
	return 14, nil
}

var errNoFrameHeader = errors.New("a JPEG without a frame header")

// perPixelJPEG finds the frame header, which says how many samples a pixel has
// and whether the picture comes in passes, between which coefficients of four
// bytes are kept. Four more are for colours that are converted.
func (f *file) perPixelJPEG() (int64, error) {
	for off := int64(2); ; {
		b, err := f.bytes(off, 10)
		if err != nil {
			return 0, err
		}
		marker := b[1]
		switch {
		case b[0] != 0xff:
			return 0, errNoFrameHeader
		case marker == 0xff: // padding
			off++
			continue
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			samples := int64(b[9])
			if marker == 0xc2 {
				return 5*samples + 4, nil
			}
			return samples + 4, nil
		case marker == 0xda:
			return 0, errNoFrameHeader
		}
		off += 2 + int64(binary.BigEndian.Uint16(b[2:]))
	}
}
