package fetch

import (
	"bytes"
)

// jpegWalk is what the segments so far have said.
type jpegWalk struct {
	*file
	img     Image
	icc     int64
	scanned bool // a scan has come
}

// walkJPEG follows the segments of a JPEG and the scans between them up to the end marker. What
// follows that (a second picture, a film) is no part of the picture.
//
// Some writers forget the end marker, and every browser shows their pictures. Such a file is whole
// if its scan decodes to the last block; else it is cut short.
func walkJPEG(f *file) (Image, error) {
	w := &jpegWalk{file: f, img: Image{MIME: "image/jpeg", Ext: ".jpg"}}
	for off := int64(2); ; {
		marker, at, err := w.marker(off)
		if err != nil {
			return w.atEnd(off, err)
		}
		if marker == 0xd9 {
			if !w.scanned {
				return Image{}, bad(at, "a JPEG without picture data")
			}
			return w.img, nil
		}
		if marker == 0x01 || marker >= 0xd0 && marker <= 0xd7 { // stand alone
			off = at
			continue
		}
		size, err := w.segment(marker, at)
		if err != nil {
			return w.atEnd(at, err)
		}
		off = at + size
		if marker == 0xda {
			w.scanned = true
			if off, err = w.scanEnd(off); err != nil {
				return w.atEnd(off, err)
			}
		}
	}
}

// atEnd decides about a file that ended before its end marker.
func (w *jpegWalk) atEnd(off int64, err error) (Image, error) {
	if off >= w.size-1 && w.scanned && scanIsWhole(w.file) {
		return w.img, nil
	}
	return Image{}, err
}

// marker reads the marker at off, after any fill bytes, and gives the offset behind it.
func (w *jpegWalk) marker(off int64) (byte, int64, error) {
	b, err := w.bytes(off, 1)
	if err != nil {
		return 0, off, err
	}
	if b[0] != 0xff {
		return 0, off, bad(off, "no JPEG marker")
	}
	for off++; ; off++ {
		b, err := w.bytes(off, 1)
		if err != nil {
			return 0, off, err
		}
		if b[0] == 0 {
			return 0, off, bad(off, "no JPEG marker")
		}
		if b[0] != 0xff {
			return b[0], off + 1, nil
		}
	}
}

// segment judges the segment whose length is at off and gives its size.
func (w *jpegWalk) segment(marker byte, off int64) (int64, error) {
	b, err := w.bytes(off, 2)
	if err != nil {
		return 0, err
	}
	size := int64(be16(b))
	if size < 2 {
		return 0, bad(off, "a wrong segment length")
	}
	if size > w.size-off {
		return 0, w.cut(off)
	}
	switch {
	case isStartOfFrame(marker):
		return size, w.startOfFrame(off, size)
	case marker == 0xda && w.img.Width == 0:
		return 0, bad(off, "a scan before its frame")
	case marker == 0xd8:
		return 0, bad(off, "a picture inside a picture")
	case marker == 0xe1:
		return size, w.exif(off+2, size-2)
	case marker == 0xe2:
		return size, w.iccPart(off+2, size-2)
	}
	return size, nil
}

func isStartOfFrame(marker byte) bool {
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc
}

func (w *jpegWalk) startOfFrame(off, size int64) error {
	if w.img.Width != 0 {
		return bad(off, "a second frame")
	}
	if size < 11 {
		return bad(off, "a frame without components")
	}
	b, err := w.bytes(off, int(min(size, 8+3*4)))
	if err != nil {
		return err
	}
	components := int(b[7])
	if components < 1 || components > 4 || size != int64(8+3*components) {
		return bad(off, "a frame of %d components", components)
	}
	w.img.Width, w.img.Height = be16(b[5:]), be16(b[3:])
	if w.img.Orientation >= 5 {
		w.img.Width, w.img.Height = w.img.Height, w.img.Width
	}
	return w.shape(w.img.Width, w.img.Height)
}

// exif reads the orientation, which decides how the picture is shown.
func (w *jpegWalk) exif(at, size int64) error {
	b, err := w.bytes(at, int(min(size, 32<<10)))
	if err != nil {
		return err
	}
	rest, ok := bytes.CutPrefix(b, []byte("Exif\x00\x00"))
	if !ok || w.img.Orientation != 0 {
		return nil
	}
	w.img.Orientation = exifOrientation(rest)
	if w.img.Orientation >= 5 {
		w.img.Width, w.img.Height = w.img.Height, w.img.Width
	}
	return nil
}

func (w *jpegWalk) iccPart(at, size int64) error {
	b, err := w.bytes(at, int(min(size, 12)))
	if err != nil {
		return err
	}
	if string(b) == "ICC_PROFILE\x00" {
		w.icc += size
	}
	return w.profile(w.icc)
}

// scanEnd looks for the marker that ends a scan. On failure it gives the file's end.
func (w *jpegWalk) scanEnd(off int64) (int64, error) {
	for {
		b, err := w.some(off)
		if err == nil && len(b) == 1 && off+1 < w.size {
			b, err = w.bytes(off, 2) // a marker may lie across the window's edge
		}
		if err != nil {
			return w.size, err
		}
		n, found := scanMarker(b)
		if off += int64(n); found {
			return off, nil
		}
		if off == w.size-1 { // a last byte can begin no marker
			off++
		}
	}
}

// scanMarker finds the first marker in b that is neither data nor a restart. Without one it gives
// how much of b is done with: at least one byte, if b has two.
func scanMarker(b []byte) (n int, found bool) {
	for n < len(b)-1 {
		i := bytes.IndexByte(b[n:len(b)-1], 0xff)
		if i < 0 {
			return len(b) - 1, false
		}
		n += i
		switch m := b[n+1]; {
		case m == 0xff: // fill byte
			n++
		case m == 0 || m >= 0xd0 && m <= 0xd7: // data, restart
			n += 2
		default:
			return n, true
		}
	}
	return n, false
}

// exifOrientation finds tag 274 in the first directory of a TIFF header; 1 when there is none.
func exifOrientation(b []byte) int {
	if len(b) < 8 {
		return 1
	}
	u16, u32 := le16, le32
	if string(b[:2]) == "MM" {
		u16, u32 = be16, be32
	}
	dir := int64(u32(b[4:]))
	if dir+2 > int64(len(b)) {
		return 1
	}
	entries := b[dir+2:]
	for range u16(b[dir:]) {
		if len(entries) < 12 {
			break
		}
		if u16(entries) == 274 {
			if v := u16(entries[8:]); v >= 1 && v <= 8 {
				return v
			}
			break
		}
		entries = entries[12:]
	}
	return 1
}
