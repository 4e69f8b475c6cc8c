package thumbs_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"os"
	"slices"
	"testing"

	"afterimage/archive/thumbs"
	"afterimage/fetch"
)

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		width, height int
		want          string // size and what it comes to
	}{
		{1, 1, "240:1x1"},
		{240, 10, "240:240x10"},
		{300, 300, "240:240x240 480:300x300"},
		{480, 360, "240:240x180 480:480x360"},
		{600, 900, "240:160x240 480:320x480 960:600x900"},
		{1000, 500, "240:240x120 480:480x240 960:960x480"},
		{1, 8000, "240:1x240 480:1x480 960:1x960"},
		{32768, 3000, "240:240x22 480:480x44 960:960x88"},
	} {
		t.Run(fmt.Sprintf("%d by %d", c.width, c.height), func(t *testing.T) {
			got := ""
			for _, size := range thumbs.Sizes(c.width, c.height) {
				w, h := thumbs.Fit(c.width, c.height, size)
				got += fmt.Sprintf(" %d:%dx%d", size, w, h)
			}
			if got[1:] != c.want {
				t.Errorf("got  %s\nwant %s", got[1:], c.want)
			}
		})
	}
}

// made draws a file's thumbnails and decodes them, after checking that each
// has the size that is promised.
func made(t testing.TB, file []byte) (format string, small []image.Image) {
	t.Helper()
	what := identify(t, file)
	set, err := thumbs.New(0).Make(t.Context(), bytes.NewReader(file), int64(len(file)), what)
	if err != nil {
		t.Fatal(err)
	}
	return set.Format, opened(t, set, what)
}

func opened(t testing.TB, set thumbs.Set, what fetch.Image) (small []image.Image) {
	t.Helper()
	var sizes []int
	for _, thumb := range set.Thumbs {
		m, format, err := image.Decode(bytes.NewReader(thumb.Data))
		if err != nil {
			t.Fatal(err)
		}
		w, h := thumbs.Fit(what.Width, what.Height, thumb.Size)
		if m.Bounds() != image.Rect(0, 0, w, h) || format != map[string]string{"jpg": "jpeg", "png": "png"}[set.Format] {
			t.Fatalf("a thumbnail of %d is a %s of %v, want %s of %d×%d", thumb.Size, format, m.Bounds(), set.Format, w, h)
		}
		sizes, small = append(sizes, thumb.Size), append(small, m)
	}
	if want := thumbs.Sizes(what.Width, what.Height); !slices.Equal(sizes, want) {
		t.Fatalf("the sizes are %v, want %v", sizes, want)
	}
	return small
}

// near reports that two colours look the same.
func near(a, b color.Color) bool {
	ar, ag, ab, aa := a.RGBA()
	br, bg, bb, ba := b.RGBA()
	for _, d := range []int{int(ar) - int(br), int(ag) - int(bg), int(ab) - int(bb), int(aa) - int(ba)} {
		if d > 0x1800 || d < -0x1800 {
			return false
		}
	}
	return true
}

// wantAt checks a colour at a place that is given in parts of the whole.
func wantAt(t *testing.T, m image.Image, x, y float64, want color.Color) {
	t.Helper()
	b := m.Bounds()
	if got := m.At(int(x*float64(b.Dx())), int(y*float64(b.Dy()))); !near(got, want) {
		t.Errorf("of %v, at %v, %v there is %v, want %v", b, x, y, got, want)
	}
}

func TestOrientation(t *testing.T) {
	for n, want := range []struct{ left, right color.Color }{
		{red, green}, {green, red}, {white, blue}, {blue, white},
		{red, blue}, {blue, red}, {white, green}, {green, white},
	} {
		t.Run(fmt.Sprint(n+1), func(t *testing.T) {
			for _, file := range [][]byte{
				jpegOf(corners(60, 30), byte(n+1)), jpegOf(corners(500, 250), byte(n+1)),
				pngWith(pngOf(corners(60, 30)), "eXIf", exif(byte(n+1))),
			} {
				_, small := made(t, file)
				for _, m := range small {
					if tall := m.Bounds().Dy() > m.Bounds().Dx(); tall != (n+1 >= 5) {
						t.Errorf("it is %v", m.Bounds())
					}
					wantAt(t, m, .25, .25, want.left)
					wantAt(t, m, .75, .25, want.right)
				}
			}
		})
	}
}

func TestEveryFormatIsDrawn(t *testing.T) {
	lossy, err := os.ReadFile("../../web/static/example-1.webp")
	if err != nil {
		t.Fatal(err)
	}
	deep := image.NewNRGBA64(image.Rect(0, 0, 64, 48))
	indexed := image.NewPaletted(image.Rect(0, 0, 64, 48), color.Palette{green, blue})
	gray := image.NewGray(image.Rect(0, 0, 64, 48))
	for y := range 48 {
		for x := range 64 {
			deep.Set(x, y, green)
			gray.SetGray(x, y, color.Gray{200})
		}
	}
	for _, c := range []struct {
		name   string
		file   []byte
		format string
		left   color.Color // in the upper left quarter; nil: anything
		right  color.Color // in the lower right quarter
	}{
		{"PNG", pngOf(corners(800, 600)), "jpg", red, white},
		{"PNG that is transparent in part", pngOf(filled(800, 600, color.NRGBA{220, 30, 30, 128})), "png", color.NRGBA{220, 30, 30, 128}, nil},
		{"PNG of 16 bits", pngOf(deep), "jpg", green, green},
		{"PNG with a palette", pngOf(indexed), "jpg", green, green},
		{"PNG in gray", pngOf(gray), "jpg", color.Gray{200}, color.Gray{200}},
		{"PNG of one pixel", pngOf(filled(1, 1, blue)), "jpg", blue, blue},
		{"PNG of 1 by 8000", pngOf(filled(1, 8000, blue)), "jpg", blue, blue},
		{"PNG of 8000 by 1", pngOf(filled(8000, 1, blue)), "jpg", blue, blue},
		{"JPEG", jpegOf(corners(801, 601), 1), "jpg", red, white},
		{"BMP", bmpOf(corners(64, 48)), "jpg", red, white},
		{"GIF: its first frame where it belongs", gifOf(8, 8, 2), "png", red, clear},
		{"WebP", lossy, "jpg", nil, nil},
		{"WebP without loss", riff(chunk("VP8L", vp8l(64, 48, blue)...)), "jpg", blue, blue},
		{"WebP that moves: its first frame where it belongs", webpOf(64, 48, green, red), "png", clear, green},
	} {
		t.Run(c.name, func(t *testing.T) {
			format, small := made(t, c.file)
			if format != c.format {
				t.Errorf("it is a %s, want %s", format, c.format)
			}
			for _, m := range small {
				if c.left != nil {
					wantAt(t, m, .25, .25, c.left)
				}
				if c.right != nil {
					wantAt(t, m, .75, .75, c.right)
				}
			}
		})
	}
}

// The long form is as large as they come: 67 million pixels.
func TestAGiantIsDrawn(t *testing.T) {
	side := 2048
	if os.Getenv("TEST_LONG") != "" {
		side = 8192
	}
	m := image.NewPaletted(image.Rect(0, 0, side, side), color.Palette{blue, red})
	for i := range m.Pix {
		if i%side >= side/2 {
			m.Pix[i] = 1
		}
	}
	_, small := made(t, pngOf(m))
	wantAt(t, small[2], .25, .5, blue)
	wantAt(t, small[2], .75, .5, red)
}

func TestWhatCannotBeDrawn(t *testing.T) {
	torn := errors.New("torn")
	for _, c := range []struct {
		name string
		file []byte
		mime string // in place of its own
		read error
		want error // nil: an UndrawableError
	}{
		{name: "pixels that are spoiled in a right structure", file: spoiled()},
		{name: "an AVIF", file: pngOf(corners(8, 8)), mime: "image/avif", want: thumbs.ErrNoDecoder},
		{name: "another format than it says", file: pngOf(corners(8, 8)), mime: "image/jpeg"},
		{name: "a file that cannot be read", file: pngOf(corners(8, 8)), read: torn, want: torn},
	} {
		t.Run(c.name, func(t *testing.T) {
			what := identify(t, c.file)
			if c.mime != "" {
				what.MIME = c.mime
			}
			r := &reader{file: c.file, err: c.read}
			_, err := thumbs.New(0).Make(t.Context(), r, int64(len(c.file)), what)
			_, undrawable := errors.AsType[*thumbs.UndrawableError](err)
			if err == nil || undrawable != (c.read == nil) || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
