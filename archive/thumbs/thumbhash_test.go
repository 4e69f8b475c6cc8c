package thumbs

import (
	"encoding/base64"
	"image"
	"image/color"
	"testing"
)

// The values are those of the npm package thumbhash 0.1.1 for the same pixels.
func TestThumbHash(t *testing.T) {
	slope := func(x, y, w, h int) color.NRGBA {
		return color.NRGBA{byte(x * 255 / max(1, w-1)), byte(y * 255 / max(1, h-1)), 128, 255}
	}
	rings := func(x, y, w, h int) color.NRGBA {
		d := max(x-w/2, w/2-x) + max(y-h/2, h/2-y)
		return color.NRGBA{byte(d * 7), byte(d * 13), byte(x * y), 255}
	}
	// Not symmetric: what is nothing but noise is rounded by the last bit of a cosine.
	partClear := func(x, y, w, _ int) color.NRGBA {
		if x < w/3+y/4 {
			return color.NRGBA{}
		}
		return color.NRGBA{200, 40, byte(x*5 + y), 255}
	}
	black := func(int, int, int, int) color.NRGBA { return color.NRGBA{A: 255} }
	clear := func(int, int, int, int) color.NRGBA { return color.NRGBA{} }
	for _, c := range []struct {
		name string
		at   func(x, y, w, h int) color.NRGBA
		w, h int
		want string
	}{
		{"a slope that is wide", slope, 100, 75, "3wcKNZqAh4eAiHeIeHiHiICACPh3"},
		{"a slope that is tall", slope, 60, 100, "3/cJNBqAB4iIiHeId4iAgAj4eA=="},
		{"rings", rings, 100, 100, "H/gBDwBVBaZldndldlR3B0d2+v3bB4cA"},
		{"rings that are very tall", rings, 37, 91, "XvgFGwSFZTdndnC2/ax5eQg="},
		{"part of it clear, wide", partClear, 80, 40, "3jeHE4BJSvOIhnfwdgiFiFCZiHeIiIg="},
		{"part of it clear, tall", partClear, 43, 79, "YjaDEwBHxEcfjHYruA+4l4B4eoaHh3c="},
		{"a black line", black, 100, 1, "AAgCAYAAAAAAAAAAAAAAAAA="},
		{"a line of nothing", clear, 1, 100, "AAiCAQAAAAAAAAAAAAAAAAAAAAAAAAA="},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := image.NewRGBA(image.Rect(0, 0, c.w, c.h))
			for y := range c.h {
				for x := range c.w {
					m.Set(x, y, c.at(x, y, c.w, c.h))
				}
			}
			if got := base64.StdEncoding.EncodeToString(thumbHash(m)); got != c.want {
				t.Errorf("it is  %s\nwant   %s", got, c.want)
			}
		})
	}
}
