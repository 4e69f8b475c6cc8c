package thumbs_test

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"os"
	"testing"

	"afterimage/archive/thumbs"
	"afterimage/fetch"
)

// FuzzMake: whatever passes for an image is drawn in the sizes promised, or
// cannot be drawn; nothing panics, and no decoder's panic had to be caught.
func FuzzMake(f *testing.F) {
	lossy, err := os.ReadFile("../../web/static/example-3.webp")
	if err != nil {
		f.Fatal(err)
	}
	wide := iccOf("RGB ", "Display P3", 548)
	for _, file := range [][]byte{
		pngOf(corners(20, 10)), pngOf(filled(3, 3, color.NRGBA{1, 2, 3, 4})), pngOf(image.NewNRGBA64(image.Rect(0, 0, 2, 300))),
		pngOf(image.NewPaletted(image.Rect(0, 0, 9, 9), color.Palette{red, blue})), spoiled(),
		jpegOf(corners(20, 10), 1), jpegOf(corners(33, 17), 6), jpegOf(image.NewGray(image.Rect(0, 0, 8, 8)), 8),
		gifOf(8, 8, 1), gifOf(12, 4, 3), bmpOf(corners(9, 5)),
		riff(chunk("VP8L", vp8l(300, 2, blue)...)), webpOf(16, 16, green, red), lossy, progressive(),
		jpegWith(wide, 100), pngWithProfile(pngOf(corners(9, 5)), wide), webpWith(wide), pngWith(pngOf(corners(9, 5)), "eXIf", exif(5)),
	} {
		f.Add(file)
	}
	maker := thumbs.New(128 << 20)
	f.Fuzz(func(t *testing.T, file []byte) {
		what, err := fetch.Identify(bytes.NewReader(file), int64(len(file)), fetch.Limits{Pixels: 1e6, Side: 4000})
		if err != nil {
			return
		}
		set, err := maker.Make(t.Context(), bytes.NewReader(file), int64(len(file)), what)
		if err == nil {
			opened(t, set, what)
			if n := len(set.Hash); n < 10 || n > 30 {
				t.Fatalf("a placeholder of %d bytes", n)
			}
			return
		}
		if _, ok := errors.AsType[*thumbs.UndrawableError](err); !ok || bytes.Contains([]byte(err.Error()), []byte("panicked")) {
			t.Fatal(err)
		}
	})
}
