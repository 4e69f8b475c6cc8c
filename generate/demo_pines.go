package generate

import "math"

// pine is one tree. Lengths are in pixels.
type pine struct {
	x, tip, tall float64
	wide         float64 // half the width of the skirt, as a part of tall
	phase        float64
	tiers        float64
}

// wood is one row of pines at the same distance.
type wood struct {
	trees  []pine
	color  rgb
	ground []float64 // the line the trees stand on
	fog    rgb
	fade   float64
	under  []float64 // the line below which nearer woods cover it
	drift  []float64
}

// drawPines: rows of pines sinking into the mist.
func drawPines(s *sketch) error {
	t := s.light("mist", "mist", "dawn", "dusk", "night")
	if s.look.mood == "mist" && len(s.look.tints) == 0 {
		t.near = pick(s.rnd, rgbOf(0x0f2b2a), rgbOf(0x16302c), rgbOf(0x18283a))
	}
	horizon := s.fh * between(s.rnd, 0.30, 0.42)
	k := newSky(s, t, s.fh*0.7)
	k.sunY, k.power = horizon+s.unit*between(s.rnd, -0.15, 0.05), 0.6
	var night *stars
	sun := &disc{s: s, x: k.sunX, y: k.sunY - s.unit*0.06, r: s.unit * between(s.rnd, 0.04, 0.07), color: t.glow.mix(rgbOf(0xffffff), 0.4)}
	if s.dark() {
		night, sun.maria = newStars(s, s.fh*0.6), 1
	}
	showSun := s.rnd.IntN(2) == 0 || s.dark()
	far := newFarRange(s, t, s.fh*0.55, between(s.rnd, 0.16, 0.3), 1.0)
	far.color = far.color.mix(t.sky[2], 0.55)
	far.haze = t.sky[len(t.sky)-1]
	woods := newWoods(s, t, horizon)
	return s.rows(func(y int, row []rgb) {
		yy := float64(y)
		k.paint(yy, row)
		if night != nil {
			night.paint(yy, row)
		}
		if showSun {
			sun.paint(yy, row)
		}
		far.paint(s, k, yy, row)
		for i := range woods {
			woods[i].paint(s, k, yy, row)
		}
	})
}

func newWoods(s *sketch, t tones, horizon float64) []wood {
	count := 4 + s.rnd.IntN(2)
	air := t.sky[len(t.sky)-1]
	shades := gradient(t.far.mix(air, 0.5), t.far, t.far.mix(t.near, 0.55), t.near)
	slope := between(s.rnd, -0.12, 0.12)
	out := make([]wood, count)
	for i := range out {
		near := float64(i) / float64(count-1)
		base := lerp(horizon+s.unit*0.10, s.fh*1.04, math.Pow(near, 1.1))
		row := between(s.rnd, 0, 99)
		w := wood{
			drift: make([]float64, s.w), color: shades.at(near), fog: air.mix(shades.at(near*0.5), 0.35),
			fade: s.unit * lerp(0.14, 0.32, near),
			ground: s.columns(func(x float64) float64 {
				return base + slope*(x-s.fw/2)*(1-near) - s.unit*0.10*s.n.line(x/s.unit*1.3+row, row, 3, 0.4)
			}),
		}
		tall := s.unit * lerp(0.10, 0.40, math.Pow(near, 1.3))
		gap := tall * lerp(0.16, 0.24, near)
		for x := -tall * 0.2; x < s.fw+tall*0.2; x += gap * between(s.rnd, 0.35, 1.6) {
			at := int(clamp(x, 0, s.fw-1))
			h := tall * between(s.rnd, 0.5, 1.12)
			w.trees = append(w.trees, pine{
				x: x, tall: h, tip: w.ground[at] - h*0.94, wide: between(s.rnd, 0.15, 0.21),
				phase: s.rnd.Float64(), tiers: math.Round(between(s.rnd, 10, 16)),
			})
		}
		out[i] = w
	}
	lines := make([][]float64, count)
	for i := range out {
		lines[i] = out[i].ground
	}
	for i, line := range s.hidden(lines) {
		out[i].under = line
	}
	return out
}

// paint covers the row with the trees that reach it, then with the fog that
// has gathered at their feet.
func (w *wood) paint(s *sketch, k *sky, yy float64, row []rgb) {
	for i := range w.trees {
		w.trees[i].paint(s, yy, w.color, row)
	}
	s.sampled(w.drift, s.unit/5, func(x float64) float64 {
		return 0.35 * s.n.fbm(x/s.unit*2.4+w.fade, yy/w.fade*1.2, 2)
	})
	for x := range row {
		fx := float64(x)
		up := (w.ground[x] - yy) / w.fade
		if up > 1.4 || yy > w.under[x]+1 {
			continue
		}
		if up < 0 {
			row[x] = w.color.mix(w.fog, 0.75)
		}
		c := w.fog.screen(k.glow, 0.35*falloff(sq((fx-k.sunX)/(s.unit*0.6)))*k.power)
		row[x] = row[x].mix(c, clamp(step(1.25, -0.15, up+w.drift[x])*0.86, 0, 1))
	}
}

// paint covers the row with one tree: boughs hang in tiers, each wider than
// the one above and ragged at its edge.
func (p *pine) paint(s *sketch, yy float64, color rgb, row []rgb) {
	down := (yy - p.tip) / p.tall
	if down < 0 || down > 1.1 {
		return
	}
	tier := down*p.tiers + p.phase
	within := tier - math.Floor(tier)
	half := p.tall * p.wide * math.Pow(down, 0.85) * (0.46 + 0.54*within*within)
	ragged := p.tall * p.wide * 0.30 * min(down*2, 1)
	left := half + ragged*s.n.at(tier*2.1, p.x*0.37+p.phase*9)
	right := half + ragged*s.n.at(tier*2.1, p.x*0.37-p.phase*9+40)
	trunk := p.tall * 0.007 * min(down*5, 1)
	left, right = max(left, trunk), max(right, trunk)
	from, to := s.span(p.x, max(left, right)+1)
	for x := from; x < to; x++ {
		dx := float64(x) - p.x
		cover := clamp(right-dx+0.5, 0, 1) * clamp(left+dx+0.5, 0, 1)
		row[x] = row[x].mix(color, cover)
	}
}

func sq(v float64) float64 { return v * v }
