package generate

import (
	"context"
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// sketch is one picture in the making. Scenes paint it a row at a time in
// floating point; only the finished row is rounded to bytes, with grain, so
// no gradient shows bands and a picture never needs more than its own bytes.
type sketch struct {
	ctx  context.Context
	w, h int

	// fw and fh are w and h. unit is the length that things are measured in:
	// near the short side, longer where the picture is far from square.
	fw, fh, unit float64

	rnd  *rand.Rand
	n    *noise
	look look

	// grain is the film grain in levels of 255; vignette is how much darker
	// the corners are, from 0 to 1.
	grain, vignette float64
	grainSeed       uint32

	// pix are the bytes, three a pixel: red, green, blue.
	pix []uint8
}

func newSketch(ctx context.Context, prompt string, seed int64, w, h int) *sketch {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(prompt)) // a hash takes everything
	rnd := rand.New(rand.NewPCG(sum.Sum64(), uint64(seed)))
	fw, fh := float64(w), float64(h)
	return &sketch{
		ctx: ctx, w: w, h: h, fw: fw, fh: fh,
		unit:      min(1.5*min(fw, fh), math.Sqrt(fw*fh)),
		rnd:       rnd,
		n:         newNoise(rnd),
		look:      readLook(prompt, sum.Sum64()),
		grain:     2.4,
		vignette:  0.16,
		grainSeed: rnd.Uint32(),
		pix:       make([]uint8, 3*w*h),
	}
}

// rows lets paint fill every row, from the top, and stops when the context
// ends. A row arrives with whatever was in it: paint sets every pixel.
func (s *sketch) rows(paint func(y int, row []rgb)) error {
	row := make([]rgb, s.w)
	for y := range s.h {
		if err := s.ctx.Err(); err != nil {
			return context.Cause(s.ctx)
		}
		paint(y, row)
		s.develop(y, row)
	}
	return nil
}

// develop rounds a row to bytes, with vignette and grain.
func (s *sketch) develop(y int, row []rgb) {
	out := s.pix[3*s.w*y : 3*s.w*(y+1)]
	dy := float64(2*y)/s.fh - 1
	for x, c := range row {
		dx := float64(2*x)/s.fw - 1
		r2 := (dx*dx + dy*dy) / 2
		k := 255 * (1 - s.vignette*r2*r2*1.6)
		h := hash32(uint32(x), uint32(y), s.grainSeed)
		// The sum of two even numbers: noise like film's, and a dither too.
		g := 0.5 + (float64(h&0xFFFF)+float64(h>>16)-65535)/65535*s.grain
		out[3*x] = level(c.r*k + g)
		out[3*x+1] = level(c.g*k + g)
		out[3*x+2] = level(c.b*k + g)
	}
}

func level(v float64) uint8 { return uint8(clamp(v, 0, 255)) }

// blend lays a colour over a finished pixel; outside the picture it is lost.
func (s *sketch) blend(x, y int, c rgb, alpha float64) {
	if x < 0 || y < 0 || x >= s.w || y >= s.h {
		return
	}
	p := s.pix[3*(y*s.w+x):][:3]
	k := 256 * clamp(alpha, 0, 1)
	p[0] += uint8((int(c.r*255) - int(p[0])) * int(k) >> 8)
	p[1] += uint8((int(c.g*255) - int(p[1])) * int(k) >> 8)
	p[2] += uint8((int(c.b*255) - int(p[2])) * int(k) >> 8)
}

// columns evaluates f for every column: skylines are worked out once.
func (s *sketch) columns(f func(x float64) float64) []float64 {
	out := make([]float64, s.w)
	for x := range out {
		out[x] = f(float64(x))
	}
	return out
}

// sampled evaluates f along a row into out, but only as often as its finest
// wave (in pixels) needs; in between it draws straight lines. Soft noise costs
// a fraction of what it would cost pixel by pixel.
func (s *sketch) sampled(out []float64, finest float64, f func(x float64) float64) {
	stride := int(clamp(finest/9, 1, 24))
	left := f(0)
	for x := 0; x < len(out); x += stride {
		right := f(float64(x + stride))
		slope := (right - left) / float64(stride)
		for i := range min(stride, len(out)-x) {
			out[x+i] = left + slope*float64(i)
		}
		left = right
	}
}

// hidden gives, for each of the skylines from far to near, the line below
// which a nearer one covers it: there it need not be painted.
func (s *sketch) hidden(lines [][]float64) [][]float64 {
	out := make([][]float64, len(lines))
	nearer := s.columns(func(float64) float64 { return s.fh + 2 })
	for i := len(lines) - 1; i >= 0; i-- {
		out[i] = nearer
		next := make([]float64, s.w)
		for x := range next {
			next[x] = min(nearer[x], lines[i][x]+1)
		}
		nearer = next
	}
	return out
}

// span gives the pixels of a row within half of center, cut to the picture.
func (s *sketch) span(center, half float64) (from, to int) {
	from = int(clamp(math.Floor(center-half), 0, s.fw))
	to = int(clamp(math.Ceil(center+half)+1, 0, s.fw))
	return from, to
}
