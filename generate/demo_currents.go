package generate

import (
	"context"
	"math"
)

// flow is a field of directions and the strokes drawn along it.
type flow struct {
	s     *sketch
	inks  *ramp
	scale float64
	turn  float64
	shift float64
	pulls []pull
	gap   float64 // pixels: the side of a cell
	taken []bool  // the cells a stroke has passed: no other starts there
	cols  int
	rows  int
}

// pull is a point that bends the flow around itself.
type pull struct{ x, y, spin, reach float64 }

// drawCurrents: ink drawn out by currents, line by line.
func drawCurrents(s *sketch) error {
	s.vignette, s.grain = 0.12, 2.6
	color, inks := s.inkAndPaper()
	sheet := newPaper(s, color)
	err := s.rows(func(y int, row []rgb) { sheet.paint(float64(y), row) })
	if err != nil {
		return err
	}
	f := newFlow(s, gradient(inks...))
	// Broad pale strokes first, then finer and darker ones over them.
	for _, pass := range []struct{ gap, width, alpha float64 }{
		{1 / 16.0, 1 / 140.0, 0.26},
		{1 / 44.0, 1 / 320.0, 0.80},
		{1 / 60.0, 1 / 650.0, 0.85},
	} {
		if err := f.fill(pass.gap*s.unit, pass.width*s.unit, pass.alpha); err != nil {
			return err
		}
	}
	return nil
}

func (s *sketch) inkAndPaper() (rgb, []rgb) {
	bone, night := rgbOf(0xece3d3), rgbOf(0x0d1b26)
	type choice struct {
		paper rgb
		inks  []rgb
	}
	light := []choice{
		{bone, []rgb{rgbOf(0x3a2fb0), rgbOf(0x6a4fc4), rgbOf(0xc0587a), rgbOf(0xd98a8a)}},
		{rgbOf(0xefe8da), []rgb{rgbOf(0x14323e), rgbOf(0x1f6470), rgbOf(0x4f9a94), rgbOf(0xd07a48)}},
		{rgbOf(0xf0e9de), []rgb{rgbOf(0x1c1c22), rgbOf(0x45434c), rgbOf(0x8a8078), rgbOf(0xb5433a)}},
	}
	dark := []choice{
		{night, []rgb{rgbOf(0x2a6fb0), rgbOf(0x4fb0b8), rgbOf(0xf0dcae), rgbOf(0xe8683a)}},
		{rgbOf(0x150f22), []rgb{rgbOf(0x5a3fd0), rgbOf(0xb04fc8), rgbOf(0xff8fa8), rgbOf(0xffd9a0)}},
		{rgbOf(0x0a1614), []rgb{rgbOf(0x1f7a60), rgbOf(0x66c090), rgbOf(0xe0e8b0), rgbOf(0xf0b050)}},
	}
	group := pick(s.rnd, light, light, dark)
	switch s.look.mood {
	case "night", "neon":
		group = dark
	case "day", "mist", "dawn":
		group = light
	}
	c := group[s.rnd.IntN(len(group))]
	return c.paper, s.palette(c.inks)
}

func newFlow(s *sketch, inks *ramp) *flow {
	f := &flow{s: s, inks: inks, scale: between(s.rnd, 0.7, 1.25), turn: between(s.rnd, 0, 2*math.Pi), shift: between(s.rnd, 0, 99)}
	for range 2 + s.rnd.IntN(3) {
		f.pulls = append(f.pulls, pull{
			x: s.fw * s.rnd.Float64(), y: s.fh * s.rnd.Float64(),
			spin: pick(s.rnd, -1.0, 1.0) * between(s.rnd, 0.8, 2.2), reach: s.unit * between(s.rnd, 0.18, 0.38),
		})
	}
	return f
}

// angle is the direction of the flow at a point.
func (f *flow) angle(x, y float64) float64 {
	u := f.s.unit
	a := f.turn + 2.3*f.s.n.fbm(x/u*f.scale+f.shift, y/u*f.scale, 2)
	for _, p := range f.pulls {
		dx, dy := x-p.x, y-p.y
		a += p.spin * math.Exp(-(dx*dx+dy*dy)/(p.reach*p.reach))
	}
	return a
}

// fill starts strokes wherever none has passed within a gap. They may run
// together later: that is where the ink gathers.
func (f *flow) fill(gap, width, alpha float64) error {
	f.gap = max(gap, 2)
	f.cols, f.rows = int(f.s.fw/f.gap)+1, int(f.s.fh/f.gap)+1
	f.taken = make([]bool, f.cols*f.rows)
	for range f.cols * f.rows {
		if err := f.s.ctx.Err(); err != nil {
			return context.Cause(f.s.ctx)
		}
		x, y := f.s.fw*f.s.rnd.Float64(), f.s.fh*f.s.rnd.Float64()
		tone, bold := f.s.rnd.Float64(), f.s.rnd.Float64()
		if cell := f.cell(x, y); cell < 0 || f.taken[cell] {
			continue
		}
		line := f.trace(x, y)
		if len(line) > 6 {
			tone = clamp(0.5+0.9*f.s.n.at(x/f.s.unit*1.1+50, y/f.s.unit*1.1)+0.25*(tone-0.5), 0, 1)
			f.stroke(line, width*(0.45+1.1*bold*bold), f.inks.at(tone), alpha)
		}
	}
	return nil
}

// cell is the place of a point in the grid, -1 outside the picture.
func (f *flow) cell(x, y float64) int {
	if x < 0 || y < 0 || x >= f.s.fw || y >= f.s.fh {
		return -1
	}
	return int(y/f.gap)*f.cols + int(x/f.gap)
}

// trace follows the flow both ways from a point.
func (f *flow) trace(x, y float64) [][2]float64 {
	own := map[int]bool{}
	reach := 40 + f.s.rnd.IntN(110)
	back := f.walk(x, y, -1, reach, own)
	ahead := f.walk(x, y, 1, reach, own)
	for cell := range own {
		f.taken[cell] = true
	}
	line := make([][2]float64, 0, len(back)+len(ahead))
	for i := len(back) - 1; i > 0; i-- {
		line = append(line, back[i])
	}
	return append(line, ahead...)
}

func (f *flow) walk(x, y, way float64, reach int, own map[int]bool) [][2]float64 {
	length := max(f.s.unit/220, 1.5) * way
	var out [][2]float64
	for len(out) < reach {
		cell := f.cell(x, y)
		if cell < 0 {
			break
		}
		own[cell] = true
		out = append(out, [2]float64{x, y})
		sin, cos := math.Sincos(f.angle(x, y))
		x, y = x+cos*length, y+sin*length
	}
	return out
}

// stroke draws a line that swells in its middle and runs out at its ends.
func (f *flow) stroke(line [][2]float64, width float64, c rgb, alpha float64) {
	for i := 1; i < len(line); i++ {
		t := float64(i) / float64(len(line))
		swell := math.Pow(math.Sin(t*math.Pi), 0.6)
		f.segment(line[i-1], line[i], width*swell, c, alpha*(0.35+0.65*swell))
	}
}

// segment covers the pixels whose foot on the line lies between a and b, so
// that the joints of a stroke are not painted twice.
func (f *flow) segment(a, b [2]float64, width float64, c rgb, alpha float64) {
	dx, dy := b[0]-a[0], b[1]-a[1]
	l2 := dx*dx + dy*dy
	half := max(width/2, 0.35)
	alpha *= min(width/0.7, 1) // thinner than a pixel: paler instead
	pad := half + 1
	for y := int(min(a[1], b[1]) - pad); y <= int(max(a[1], b[1])+pad); y++ {
		for x := int(min(a[0], b[0]) - pad); x <= int(max(a[0], b[0])+pad); x++ {
			px, py := float64(x)-a[0], float64(y)-a[1]
			t := (px*dx + py*dy) / l2
			if t < 0 || t >= 1 {
				continue
			}
			side := math.Abs(px*dy-py*dx) / math.Sqrt(l2)
			if cover := half - side + 0.5; cover > 0 {
				f.s.blend(x, y, c, alpha*min(cover, 1))
			}
		}
	}
}
