package main

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
)

// The sizes of image that are measured, in bytes.
const (
	small  = 200_000
	medium = 2_000_000
	large  = 50_000_000
)

// noise is a valid PNG of about size bytes. It is not compressed, so that its
// size is what its pixels take, and as hard to compress as a real one.
func noise(size int) ([]byte, error) {
	side := max(1, int(math.Sqrt(float64(size)/3))) // three bytes a pixel
	picture := image.NewNRGBA(image.Rect(0, 0, side, side))
	random := rand.NewChaCha8([32]byte{'n', 'o', 'i', 's', 'e'})
	random.Read(picture.Pix)
	for n := 3; n < len(picture.Pix); n += 4 {
		picture.Pix[n] = 255 // opaque: the file has no fourth byte
	}
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.NoCompression}
	if err := encoder.Encode(&b, picture); err != nil {
		return nil, fmt.Errorf("draw an image of %d bytes: %w", size, err)
	}
	return b.Bytes(), nil
}

// sizeName is how the table calls a size.
func sizeName(size int) string {
	if size < 1_000_000 {
		return fmt.Sprintf("%d KB", size/1000)
	}
	return fmt.Sprintf("%d MB", size/1_000_000)
}
