package thumbs

import (
	"bytes"
	"fmt"
	"image"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"

	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"
)

// decode gives the picture's pixels as they are stored; of an animation, its
// first frame.
func (f *file) decode() (image.Image, error) {
	var m image.Image
	var err error
	switch f.MIME {
	case "image/png": // of an APNG this is the picture that everybody can show
		m, err = png.Decode(f.reader())
	case "image/jpeg":
		m, err = jpeg.Decode(f.reader())
	case "image/gif":
		m, err = gif.Decode(f.reader())
	case "image/bmp":
		m, err = bmp.Decode(f.reader())
	case "image/webp":
		m, err = f.decodeWebP()
	default:
		return nil, ErrNoDecoder
	}
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", f.MIME, err)
	}
	w, h := f.stored()
	switch canvas := image.Rect(0, 0, w, h); {
	case m.Bounds() == canvas:
		return m, nil
	case f.MIME == "image/gif" && m.Bounds().In(canvas):
		return place(m, canvas), nil
	}
	return nil, fmt.Errorf("the pixels are %v, but the file says %d×%d", m.Bounds(), w, h)
}

// place puts the frame of an animation where it belongs.
func place(m image.Image, canvas image.Rectangle) image.Image {
	whole := image.NewRGBA(canvas)
	draw.Draw(whole, m.Bounds(), m, m.Bounds().Min, draw.Src)
	return whole
}

func (f *file) decodeWebP() (image.Image, error) {
	if !f.Animated {
		return webp.Decode(f.reader())
	}
	still, at, err := f.firstFrame()
	if err != nil {
		return nil, err
	}
	m, err := webp.Decode(bytes.NewReader(still))
	if err != nil {
		return nil, err
	}
	w, h := f.stored()
	frame, canvas := m.Bounds().Add(at), image.Rect(0, 0, w, h)
	if frame == canvas {
		return m, nil
	}
	whole := image.NewRGBA(canvas)
	draw.Draw(whole, frame, m, m.Bounds().Min, draw.Src)
	return whole, nil
}
