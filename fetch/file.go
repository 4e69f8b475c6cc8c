package fetch

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

// file lets a walker look at any byte of a file while it holds one window of it in memory.
type file struct {
	r    io.ReaderAt
	size int64
	lim  Limits

	window []byte
	start  int64 // where in the file the window begins
	filled int   // bytes of it that are read

	pixels int64 // of all frames so far
	frames int
	text   int64 // inflated so far
	texts  int   // compressed texts so far
}

var windows = sync.Pool{New: func() any { return new([32 << 10]byte) }}

func identify(r io.ReaderAt, size int64, lim Limits) (Image, error) {
	window := windows.Get().(*[32 << 10]byte)
	defer windows.Put(window)
	f := &file{r: r, size: size, lim: lim, window: window[:]}
	if size <= 0 {
		return Image{}, passing(NotImage, "the file is empty")
	}
	head, err := f.some(0)
	if err != nil {
		return Image{}, err
	}
	if err := judgeStart(head, nil); err != nil {
		return Image{}, err
	}
	img, err := sniff(head).walk(f)
	if err != nil {
		return Image{}, err
	}
	img.Orientation = max(img.Orientation, 1)
	img.Frames = max(f.frames, 1)
	img.Animated = img.Frames > 1
	return img, nil
}

// bytes gives the n bytes at off, n being small. The slice holds until the next call.
func (f *file) bytes(off int64, n int) ([]byte, error) {
	if off < 0 || int64(n) > f.size-off {
		return nil, f.cut(off)
	}
	if at := off - f.start; at < 0 || at+int64(n) > int64(f.filled) {
		if err := f.fill(off); err != nil {
			return nil, err
		}
		if n > f.filled {
			return nil, f.cut(off)
		}
	}
	at := int(off - f.start)
	return f.window[at : at+n], nil
}

// some gives whatever is at hand from off on: at least one byte.
func (f *file) some(off int64) ([]byte, error) {
	if _, err := f.bytes(off, 1); err != nil {
		return nil, err
	}
	return f.window[off-f.start : f.filled], nil
}

func (f *file) fill(off int64) error {
	n := int(min(int64(len(f.window)), f.size-off))
	f.start, f.filled = off, 0
	n, err := f.r.ReadAt(f.window[:n], off)
	f.filled = n
	if err != nil && err != io.EOF {
		return fmt.Errorf("read the image: %w", err)
	}
	return nil
}

// cut says that the file ends too early. That can pass: it may have been read too early.
func (f *file) cut(off int64) error {
	return passing(Corrupt, fmt.Sprintf("cut short: it has %d bytes and needs more at byte %d", f.size, off))
}

// bad says what is wrong where.
func bad(off int64, format string, args ...any) error {
	return final(Corrupt, fmt.Sprintf(format, args...)+fmt.Sprintf(" at byte %d", off))
}

func tooLarge(format string, args ...any) *Error {
	return final(TooLarge, fmt.Sprintf(format, args...))
}

// shape judges the size of the whole picture.
func (f *file) shape(w, h int) error {
	switch {
	case w <= 0 || h <= 0:
		return final(Corrupt, fmt.Sprintf("a picture of %d x %d pixels", w, h))
	case w > f.lim.Side || h > f.lim.Side:
		return tooLarge("%d x %d pixels: a side has more than %d", w, h, f.lim.Side)
	case int64(w)*int64(h) > f.lim.Pixels:
		e := tooLarge("%d x %d pixels: more than %d", w, h, f.lim.Pixels)
		e.Setting = "IMAGE_ARCHIVE_MAX_PIXELS"
		return e
	}
	return nil
}

// frame counts one frame more.
func (f *file) frame(w, h int) error {
	if err := f.shape(w, h); err != nil {
		return err
	}
	f.frames++
	f.pixels += int64(w) * int64(h)
	switch {
	case f.frames > f.lim.Frames:
		return tooLarge("more than %d frames", f.lim.Frames)
	case f.pixels > f.lim.TotalPixels:
		return tooLarge("more than %d pixels in all frames", f.lim.TotalPixels)
	}
	return nil
}

// profile judges the size of a colour profile.
func (f *file) profile(n int64) error {
	if n > f.lim.Profile {
		return tooLarge("a colour profile of more than %d bytes", f.lim.Profile)
	}
	return nil
}

func be16(b []byte) int    { return int(binary.BigEndian.Uint16(b)) }
func be32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }
func le16(b []byte) int    { return int(binary.LittleEndian.Uint16(b)) }
func le24(b []byte) int    { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
func le32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
