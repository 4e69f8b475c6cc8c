package thumbs

import "errors"

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
func (f *file) perPixelJPEG() (perPixel int64, err error) {
	err = f.segments(func(marker byte, off, size int64) (bool, error) {
		if !isStartOfFrame(marker) {
			return false, nil
		}
		b, err := f.bytes(off, 6)
		if err != nil {
			return true, err
		}
		samples := int64(b[5])
		perPixel = samples + 4
		if marker == 0xc2 {
			perPixel = 5*samples + 4
		}
		return true, nil
	})
	if err == nil && perPixel == 0 {
		err = errNoFrameHeader
	}
	return perPixel, err
}
