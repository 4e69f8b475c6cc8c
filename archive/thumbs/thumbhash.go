package thumbs

import (
	"image"
	"image/color"
	"math"
)

// hashSide is the long edge, in pixels, of what is hashed: more would be slow
// and change nothing.
const hashSide = 100

// thumbHash is some 25 bytes that say roughly how a picture looks: its average
// colour, its proportions and the lowest frequencies of brightness and colour.
// Pages draw a blur from them until the picture is there. The format is the
// one that the npm package thumbhash made known.
func thumbHash(m *image.RGBA) []byte {
	c, clear := channels(m)
	w, h := m.Rect.Dx(), m.Rect.Dy()
	steps := 7.0
	if clear {
		steps = 5 // the bits go to the alpha channel
	}
	long := float64(max(w, h))
	lx := max(1, round(steps*float64(w)/long))
	ly := max(1, round(steps*float64(h)/long))
	l := transform(c.l, w, h, max(3, lx), max(3, ly))
	p := transform(c.p, w, h, 3, 3)
	q := transform(c.q, w, h, 3, 3)

	wide, narrow := 0, lx
	if w > h {
		wide, narrow = 1, ly
	}
	see := 0
	if clear {
		see = 1
	}
	first := round(63*l.dc) | round(31.5+31.5*p.dc)<<6 | round(31.5+31.5*q.dc)<<12 | round(31*l.scale)<<18 | see<<23
	second := narrow | round(63*p.scale)<<3 | round(63*q.scale)<<9 | wide<<15
	hash := []byte{byte(first), byte(first >> 8), byte(first >> 16), byte(second), byte(second >> 8)}
	varying := [][]float64{l.ac, p.ac, q.ac}
	if clear {
		a := transform(c.a, w, h, 5, 5)
		hash = append(hash, byte(round(15*a.dc)|round(15*a.scale)<<4))
		varying = append(varying, a.ac)
	}
	return appendNibbles(hash, varying)
}

// appendNibbles adds values from 0 to 1 in four bits each, the low ones first.
func appendNibbles(hash []byte, channels [][]float64) []byte {
	n := 0
	for _, values := range channels {
		for _, v := range values {
			if n%2 == 0 {
				hash = append(hash, byte(round(15*v)))
			} else {
				hash[len(hash)-1] |= byte(round(15*v) << 4)
			}
			n++
		}
	}
	return hash
}

// lpqa are a picture's values as they are hashed: light, yellow against blue,
// red against green, and alpha.
type lpqa struct{ l, p, q, a []float64 }

// channels puts a picture on its own average colour and parts it. Clear
// reports that something shines through.
func channels(m *image.RGBA) (c lpqa, clear bool) {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	var sum [4]float64
	// In the order of the reference, so that the same bits come out of halves.
	each := func(fn func(i int, r, g, b, a float64)) {
		for y := range h {
			for x := range w {
				v := color.NRGBAModel.Convert(m.RGBAAt(x, y)).(color.NRGBA)
				a := float64(v.A) / 255
				fn(y*w+x, a/255*float64(v.R), a/255*float64(v.G), a/255*float64(v.B), a)
			}
		}
	}
	each(func(_ int, r, g, b, a float64) {
		sum[0], sum[1], sum[2], sum[3] = sum[0]+r, sum[1]+g, sum[2]+b, sum[3]+a
	})
	if sum[3] > 0 {
		sum[0], sum[1], sum[2] = sum[0]/sum[3], sum[1]/sum[3], sum[2]/sum[3]
	}
	n := w * h
	c = lpqa{make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)}
	each(func(i int, r, g, b, a float64) {
		r, g, b = sum[0]*(1-a)+r, sum[1]*(1-a)+g, sum[2]*(1-a)+b
		c.l[i], c.p[i], c.q[i], c.a[i] = (r+g+b)/3, (r+g)/2-b, r-g, a
	})
	return c, sum[3] < float64(n)
}

// waves are a channel's mean and, scaled to 0 to 1, its lowest frequencies.
type waves struct {
	dc, scale float64
	ac        []float64
}

// transform is a cosine transform of which a triangle of nx by ny values is
// kept.
func transform(channel []float64, w, h, nx, ny int) (t waves) {
	for cy := range ny {
		for cx := 0; cx*ny < nx*(ny-cy); cx++ {
			fx := make([]float64, w)
			for x := range fx {
				fx[x] = math.Cos(math.Pi / float64(w) * float64(cx) * (float64(x) + .5))
			}
			f := 0.0
			for y := range h {
				fy := math.Cos(math.Pi / float64(h) * float64(cy) * (float64(y) + .5))
				for x, v := range channel[y*w : (y+1)*w] {
					f += v * fx[x] * fy
				}
			}
			f /= float64(w * h)
			if cx == 0 && cy == 0 {
				t.dc = f
				continue
			}
			t.ac, t.scale = append(t.ac, f), max(t.scale, math.Abs(f))
		}
	}
	for i := range t.ac {
		if t.scale > 0 {
			t.ac[i] = .5 + .5/t.scale*t.ac[i]
		}
	}
	return t
}

// round rounds halves up.
func round(v float64) int { return int(math.Floor(v + .5)) }
