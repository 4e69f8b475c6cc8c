package generate

import "math"

// inkWave is one swell of a woodblock sea.
type inkWave struct {
	crest []float64
	wash  *ramp // from the crest down
	tall  float64
	row   float64
	under []float64 // the line below which nearer waves cover it
}

// drawRedSun: a printed sun over waves of ink, on fibrous paper.
func drawRedSun(s *sketch) error {
	s.vignette, s.grain = 0.10, 3
	colors := s.woodblock()
	paper, sunTop, sunLow, waves := colors[0], colors[1], colors[2], colors[3:]

	horizon := s.fh * between(s.rnd, 0.56, 0.70)
	r := min(s.unit*between(s.rnd, 0.21, 0.30), s.fw*0.36)
	sun := &disc{s: s, x: s.fw * between(s.rnd, 0.34, 0.66), y: horizon - r*between(s.rnd, 0.45, 1.25), r: r}
	sunWash := gradient(sunTop, sunTop, sunLow)
	swells := newInkWaves(s, paper, waves, horizon)
	bars := newCloudBars(s, horizon, sun)
	ink := waves[len(waves)-1].scale(0.55)
	sheet := newPaper(s, paper)
	mist := paper.mix(rgbOf(0xfffaf0), 0.45)
	if s.dark() {
		mist = paper.mix(waves[1], 0.35)
	}

	return s.rows(func(y int, row []rgb) {
		yy := float64(y)
		sheet.paint(yy, row)
		s.printSun(sun, sunWash, yy, row)
		for i := range bars {
			bars[i].paint(s, mist, yy, row)
		}
		for i := range swells {
			swells[i].paint(s, ink, yy, row)
		}
	})
}

// woodblock chooses paper, the sun's two reds and the inks of the waves.
func (s *sketch) woodblock() []rgb {
	colors := pick(s.rnd,
		[]rgb{rgbOf(0xefe0c2), rgbOf(0xc8321f), rgbOf(0xe2663c), rgbOf(0xa9bfb2), rgbOf(0x5b8c8f), rgbOf(0x2f6472), rgbOf(0x173f52)},
		[]rgb{rgbOf(0xf0e4cc), rgbOf(0xbf2b2b), rgbOf(0xe07a52), rgbOf(0x9fb4c4), rgbOf(0x5c7fa3), rgbOf(0x31557f), rgbOf(0x182f55)},
		[]rgb{rgbOf(0xe8dcc4), rgbOf(0xb8342a), rgbOf(0xd9854f), rgbOf(0xc4b79c), rgbOf(0x8b8a7b), rgbOf(0x55605f), rgbOf(0x26343a)},
		[]rgb{rgbOf(0xf3dfc6), rgbOf(0xcf4426), rgbOf(0xf0a05c), rgbOf(0xd8a798), rgbOf(0xa0677a), rgbOf(0x65416a), rgbOf(0x332551)},
	)
	if s.dark() {
		for i, c := range colors {
			colors[i] = c.scale(0.8)
		}
		colors[0] = rgbOf(0x1d2840)
	}
	first, second := s.tintPair()
	copy(colors[1:], s.tinted(colors[1:3], first, 0.85))
	if len(s.look.tints) > 1 {
		copy(colors[3:], s.tinted(colors[3:], second, 0.8))
	}
	return colors
}

// printSun covers the row with the sun, printed unevenly.
func (s *sketch) printSun(d *disc, wash *ramp, yy float64, row []rgb) {
	dy := yy - d.y
	if math.Abs(dy) > d.r*1.03 {
		return
	}
	from, to := s.span(d.x, d.r*1.03)
	for x := from; x < to; x++ {
		dx := float64(x) - d.x
		rough := s.n.at(dx/s.unit*26+9, dy/s.unit*26) * s.unit * 0.0016
		cover := clamp(d.r-math.Hypot(dx, dy)+rough+0.5, 0, 1)
		if cover == 0 {
			continue
		}
		wood := 0.05*s.n.at(dx/s.unit*5, dy/s.unit*70) + 0.03*s.n.fbm(dx/s.unit*18, dy/s.unit*18, 2)
		c := wash.at(0.5 + dy/d.r*0.5).scale(1 + wood)
		row[x] = row[x].mix(c, cover*0.97)
	}
}

// cloudBar is a band of cloud with round ends, as printers drew mist.
type cloudBar struct{ x, y, half, r float64 }

func newCloudBars(s *sketch, horizon float64, sun *disc) []cloudBar {
	out := make([]cloudBar, 2+s.rnd.IntN(4))
	for i := range out {
		r := s.unit * between(s.rnd, 0.008, 0.016)
		out[i] = cloudBar{
			x: s.fw * between(s.rnd, 0, 1), y: between(s.rnd, max(sun.y-sun.r, horizon*0.1), horizon-s.unit*0.06),
			half: s.unit * between(s.rnd, 0.10, 0.34), r: r,
		}
	}
	return out
}

func (b *cloudBar) paint(s *sketch, c rgb, yy float64, row []rgb) {
	dy := yy - b.y
	if math.Abs(dy) > b.r+1 {
		return
	}
	from, to := s.span(b.x, b.half+b.r+1)
	for x := from; x < to; x++ {
		dx := max(math.Abs(float64(x)-b.x)-b.half, 0)
		cover := clamp(b.r-math.Hypot(dx, dy)+0.5, 0, 1)
		row[x] = row[x].mix(c, cover)
	}
}

func newInkWaves(s *sketch, paper rgb, inks []rgb, horizon float64) []inkWave {
	count := 4 + s.rnd.IntN(3)
	shades := gradient(inks...)
	out := make([]inkWave, count)
	for i := range out {
		near := float64(i) / float64(count-1)
		base := lerp(horizon, s.fh*0.92, math.Pow(near, 1.1))
		height := s.unit * lerp(0.035, 0.085, near) * between(s.rnd, 0.8, 1.3)
		scale, shift, row := lerp(1.6, 0.95, near)/s.unit, between(s.rnd, 0, 99), 17*float64(i)+between(s.rnd, 0, 5)
		ink := shades.at(near)
		out[i] = inkWave{
			crest: s.columns(func(x float64) float64 {
				return base - height*2*(s.n.at(x*scale+shift, row)+0.25*s.n.at(x*scale*2.4+shift, row+9))
			}),
			wash: gradient(ink.scale(0.94), ink, ink.mix(paper, 0.42), ink.mix(paper, 0.74)),
			tall: s.unit * lerp(0.16, 0.30, near), row: row,
		}
	}
	lines := make([][]float64, count)
	for i := range out {
		lines[i] = out[i].crest
	}
	for i, line := range s.hidden(lines) {
		out[i].under = line
	}
	return out
}

// paint covers the row below the crest: an inked edge, a wash that fades, and
// fine lines that follow the swell.
func (w *inkWave) paint(s *sketch, ink rgb, yy float64, row []rgb) {
	line := max(s.unit/520, 0.7)
	for x := range row {
		depth := yy - w.crest[x] + 0.5
		if depth <= 0 || yy > w.under[x] {
			continue
		}
		fx := float64(x)
		down := depth / w.tall
		wood := 0.035*s.n.at(fx/s.unit*5+w.row, yy/s.unit*60) + 0.02*s.n.at(fx/s.unit*30, yy/s.unit*30+w.row)
		c := w.wash.at(down + 0.5*wood).scale(1 + wood)
		// Contour lines, wider apart as they go down and broken here and there.
		at := math.Sqrt(depth/s.unit)*15 + 0.35*s.n.at(fx/s.unit*2.2, w.row)
		near := math.Abs(at-math.Round(at)) / 15 * 2 * math.Sqrt(depth/s.unit) * s.unit
		gap := step(-0.25, 0.25, s.n.at(fx/s.unit*3+math.Round(at)*5.3, w.row+math.Round(at)*3.1))
		c = c.mix(ink, 0.34*clamp(line-near+0.5, 0, 1)*gap*clamp(1.2-down, 0, 1))
		c = c.mix(ink, clamp(line*1.8-depth+0.5, 0, 1)*0.9)
		row[x] = row[x].mix(c, min(depth, 1))
	}
}
