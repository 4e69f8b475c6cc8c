package generate

import "math"

// curtain is one sheet of northern light.
type curtain struct {
	foot   []float64 // its lower edge for every column, in pixels from the top
	rays   []float64 // how bright each column is
	height float64   // pixels
	power  float64
}

// drawAurora: curtains of light over mountains and their still lake.
func drawAurora(s *sketch) error {
	if s.look.mood != "neon" {
		s.look.mood = "night"
	}
	tints := s.look.tints
	s.look.tints = nil // the colour words are for the light, not the night
	t := s.light("night")
	s.look.tints = tints
	for i, c := range t.sky {
		t.sky[i] = c.scale(0.72)
	}
	t.sky[len(t.sky)-1] = t.sky[1].mix(t.sky[2], 0.6) // the land swallows the last light
	colors := gradient(s.palette(
		[]rgb{rgbOf(0x7dffb4), rgbOf(0x22e884), rgbOf(0x10b487), rgbOf(0x4f49c8), rgbOf(0x8a2fb0)},
		[]rgb{rgbOf(0x9affd0), rgbOf(0x30ecae), rgbOf(0x18a0d4), rgbOf(0x3f48cc), rgbOf(0x4a2a9c)},
		[]rgb{rgbOf(0xc4ff9a), rgbOf(0x5cf06e), rgbOf(0x1fb886), rgbOf(0xc0388c), rgbOf(0x7a1e70)},
	)...)
	shore := s.fh * between(s.rnd, 0.62, 0.74)
	k := newSky(s, t, shore)
	k.power = 0
	night := newStars(s, shore)
	curtains := newCurtains(s, shore)
	range1 := newFarRange(s, t, shore, 0.10, 0.25)
	range2 := newFarRange(s, t, shore, 0.05, 0.05)

	air := func(yy float64, row []rgb) {
		k.paint(yy, row)
		night.paint(yy, row)
		for i := range curtains {
			curtains[i].paint(colors, yy, row)
		}
		range1.paint(s, k, yy, row)
		range2.paint(s, k, yy, row)
	}
	mirror := make([]rgb, s.w)
	return s.rows(func(y int, row []rgb) {
		yy := float64(y)
		if yy < shore {
			air(yy, row)
			return
		}
		s.reflect(yy, shore, t.near, air, mirror, row)
	})
}

func newCurtains(s *sketch, shore float64) []curtain {
	out := make([]curtain, 3+s.rnd.IntN(2))
	for i := range out {
		base := shore * lerp(0.46, 0.80, (float64(i)+s.rnd.Float64()*0.6)/float64(len(out)))
		row, shift := 41*float64(i)+between(s.rnd, 0, 9), between(s.rnd, 0, 60)
		wide := between(s.rnd, 0.7, 1.3) / s.unit
		tilt := between(s.rnd, -0.25, 0.25)
		c := curtain{height: max(shore*0.36, s.unit*0.18) * between(s.rnd, 0.7, 1.2), power: between(s.rnd, 0.8, 1.25)}
		c.foot = s.columns(func(x float64) float64 {
			fold := s.n.line(x*wide+shift, row, 3, 0.4)
			return base + tilt*(x-s.fw/2)*0.5 + fold*min(s.unit*0.26, shore*0.3)
		})
		c.rays = s.columns(func(x float64) float64 {
			broad := 0.55 + 0.9*s.n.line(x*wide*1.4+shift, row+50, 2, 0.5)
			fine := s.n.line(x*wide*11+shift, row+70, 4, 0.6)
			return clamp(broad, 0, 1) * clamp(0.75+0.75*fine, 0.08, 1.2)
		})
		out[i] = c
	}
	return out
}

// paint adds the curtain's light to a row: a crisp lower edge, long rays up,
// and the colours changing with the height.
func (c *curtain) paint(colors *ramp, yy float64, row []rgb) {
	for x := range row {
		up := (c.foot[x] - yy) / c.height
		if up < -0.2 || up > 2.6 {
			continue
		}
		glow := step(-0.2, 0.05, up) * math.Exp(-max(up, 0)*2.1) * c.rays[x] * c.power
		row[x] = row[x].screen(colors.at(up*0.85+0.08), glow)
	}
}

// newFarRange is a dark range of mountains standing on the shore.
func newFarRange(s *sketch, t tones, shore, height, pale float64) *ridge {
	row, shift := between(s.rnd, 0, 99), between(s.rnd, 0, 99)
	color := t.near.mix(t.far, pale)
	return &ridge{
		line: s.columns(func(x float64) float64 {
			v := s.n.line(x/s.unit*2.2+shift, row, 7, 0.47)
			return shore - s.unit*height*(0.55+1.5*v) - 1
		}),
		color: color, haze: color.mix(t.far, 0.45), fade: s.unit * height * 2.4, row: row,
	}
}

// reflect fills a row of water below shore with what air shows above it,
// darker, and shaken sideways by the ripples.
func (s *sketch) reflect(yy, shore float64, deep rgb, air func(float64, []rgb), mirror, row []rgb) {
	down := (yy - shore) / max(s.fh-shore, 1)
	depth := (yy - shore) / s.unit
	far := 1 / (depth + 0.05)
	shake := s.unit * (0.002 + 0.03*depth)
	ripple := s.n.at(3.7, far*9) * s.unit * 0.02 * min(depth*8, 1)
	air(shore-(yy-shore)*1.08-1+ripple, mirror)
	for x := range row {
		fx := float64(x)
		wave := s.n.fbm(fx/s.unit*far*0.9, far*14, 2)
		from := int(clamp(fx+wave*shake*2, 0, s.fw-1))
		c := mirror[from].mix(deep, 0.30+0.35*down)
		row[x] = c.scale(1 + 0.22*wave*min(depth*6, 1))
	}
}
