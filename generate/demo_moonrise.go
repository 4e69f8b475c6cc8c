package generate

import "math"

// drawMoonrise: a moon (by day a sun) over open water, and its road of light.
func drawMoonrise(s *sketch) error {
	t := s.light("night", "night", "night", "dusk", "dawn")
	horizon := s.fh * between(s.rnd, 0.56, 0.68)
	k := newSky(s, t, horizon)
	moon := &disc{s: s, x: k.sunX, r: s.unit * between(s.rnd, 0.08, 0.145), color: t.glow.mix(rgbOf(0xfff6e2), 0.5)}
	moon.y = horizon - moon.r*between(s.rnd, -0.15, 1) - min(s.unit*0.4, s.fh*0.28)*s.rnd.Float64()
	k.sunY, k.spread, k.power = moon.y, s.unit*0.42, 0.55
	k.clouds = pick(s.rnd, 0.12, 0.3, 0.45)
	var night *stars
	if s.dark() {
		night = newStars(s, horizon)
		moon.maria, moon.spot = 1, between(s.rnd, 0, 90)
	} else {
		moon.color = moon.color.mix(rgbOf(0xffffff), 0.6)
	}
	coast := newCoast(s, t, horizon)
	sea := newSea(s, t, k, horizon)
	return s.rows(func(y int, row []rgb) {
		yy := float64(y)
		if yy >= horizon {
			sea.paint(yy, row)
			return
		}
		k.paint(yy, row)
		if night != nil {
			night.paint(yy, row)
		}
		moon.paint(yy, row)
		coast.paint(s, k, yy, row)
	})
}

// newCoast is a low island on the horizon, on one side of the picture.
func newCoast(s *sketch, t tones, horizon float64) *ridge {
	at, half := s.fw*pick(s.rnd, 0.02, 0.98, 0.5), s.fw*between(s.rnd, 0.2, 0.55)
	height, row := s.unit*between(s.rnd, 0.03, 0.09), between(s.rnd, 0, 99)
	color := t.far.mix(t.sky[len(t.sky)-1], 0.25)
	return &ridge{
		line: s.columns(func(x float64) float64 {
			rise := 1 - math.Abs(x-at)/half
			v := s.n.line(x/s.unit*3, row, 6, 0.45)
			return horizon + 1 - height*(rise+0.5*v)*1.2
		}),
		color: color, haze: color.mix(t.sky[len(t.sky)-1], 0.6), fade: height * 1.3, row: row,
	}
}

// sea is still water that mirrors the sky and breaks the light on its waves.
type sea struct {
	s       *sketch
	sky     *sky
	deep    rgb
	horizon float64
	row     float64
	calm    float64
}

func newSea(s *sketch, t tones, k *sky, horizon float64) *sea {
	return &sea{s: s, sky: k, deep: t.near.mix(t.sky[0], 0.55), horizon: horizon, row: between(s.rnd, 0, 99), calm: between(s.rnd, 0.7, 1.3)}
}

// paint fills a row of water. Waves shrink towards the horizon, so the noise
// is read in perspective: one over the distance below it.
func (w *sea) paint(yy float64, row []rgb) {
	u := w.s.unit
	down := (yy - w.horizon + 0.5) / (w.s.fh - w.horizon + 1) // 0 to 1
	depth := down * (w.s.fh - w.horizon) / u
	base := w.sky.ramp.at(1-0.75*math.Sqrt(down)).mix(w.deep, 0.30+0.45*down)
	far := 1 / (depth + 0.06)
	road := (0.022 + 0.20*depth) * w.calm // half the width of the road of light
	for x := range row {
		fx := (float64(x) - w.sky.sunX) / u
		wave := w.s.n.fbm(fx*far*1.1+w.row, far*5.5*1.6+w.row, 3) + 0.5*w.s.n.at(fx*far*3, far*26+w.row)
		c := base.scale(1 + 0.16*wave)
		side := fx / road
		glint := step(0.10, 0.42, wave+0.22*math.Exp(-side*side)-0.05) * math.Exp(-side*side*0.8)
		sheen := 0.30 * falloff(side*side*0.35)
		c = c.screen(w.sky.glow, sheen*w.sky.power).screen(w.sky.glow, 0.9*glint)
		row[x] = c
	}
	if edge := yy - w.horizon; edge < 1 { // a soft line where water meets air
		for x := range row {
			row[x] = row[x].scale(0.94)
		}
	}
}
