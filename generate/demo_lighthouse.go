package generate

import "math"

// lighthouse is the tower with its lamp. All lengths are in pixels.
type lighthouse struct {
	s         *sketch
	x         float64 // its axis
	top, foot float64 // the gallery under the lamp, and the ground
	wide      float64 // half its width at the foot
	lamp      rgb
	paint1    rgb
	paint2    rgb
	dark      rgb
	bands     float64
	aim       [2]float64 // where the beams point: slopes
	power     float64
}

// drawLighthouse: a tower on its rock, the lamp lit, the sea smooth from a
// long exposure.
func drawLighthouse(s *sketch) error {
	t := s.light("mist", "mist", "dusk", "night", "dawn")
	horizon := s.fh * between(s.rnd, 0.66, 0.76)
	k := newSky(s, t, horizon)
	k.power, k.clouds = 0.4, between(s.rnd, 0.15, 0.5)
	var night *stars
	if s.dark() {
		night = newStars(s, horizon)
	}
	rock := newRock(s, t, horizon)
	far := newFarRange(s, t, horizon, between(s.rnd, 0.02, 0.05), 0.8)
	tower := newLighthouse(s, t, rock, horizon)

	bank := make([]float64, s.w)
	air := func(yy float64, row []rgb) {
		k.paint(yy, row)
		if night != nil {
			night.paint(yy, row)
		}
		far.paint(s, k, yy, row)
		rock.paint(s, k, yy, row)
		tower.paint(yy, row)
		s.fog(yy, horizon, t.sky[len(t.sky)-1], bank, row)
	}
	mirror := make([]rgb, s.w)
	return s.rows(func(y int, row []rgb) {
		if yy := float64(y); yy < horizon {
			air(yy, row)
		} else {
			s.longExposure(yy, horizon, t, air, bank, mirror, row)
		}
	})
}

// newRock is the island the tower stands on.
func newRock(s *sketch, t tones, horizon float64) *ridge {
	at := s.fw * pick(s.rnd, between(s.rnd, 0.24, 0.4), between(s.rnd, 0.6, 0.76))
	half, height := min(s.unit*between(s.rnd, 0.26, 0.4), s.fw*0.5), s.unit*between(s.rnd, 0.07, 0.13)
	row := between(s.rnd, 0, 99)
	color := t.near.mix(t.far, 0.28)
	return &ridge{
		line: s.columns(func(x float64) float64 {
			d := (x - at) / half
			bump := 0.24*s.n.line(x/s.unit*5, row, 6, 0.5)*math.Exp(-d*d) + 0.03
			return horizon + 2 - height*(1.25*math.Exp(-d*d*2.6)-0.13+bump)
		}),
		color: color, haze: color.mix(t.far, 0.55), fade: height * 1.6, row: row, near: 0.6,
	}
}

func newLighthouse(s *sketch, t tones, rock *ridge, horizon float64) *lighthouse {
	summit := 0
	for x, y := range rock.line {
		if y < rock.line[summit] {
			summit = x
		}
	}
	tall := min(s.unit*between(s.rnd, 0.30, 0.40), rock.line[summit]*0.62)
	stripe := pick(s.rnd, rgbOf(0xb4493f), rgbOf(0xb4493f), rgbOf(0x2c4a68), rgbOf(0x3b3b40))
	if first, _ := s.tintPair(); first != nil {
		stripe = first.apply(rgbOf(0xb4493f), 1)
	}
	white := rgbOf(0xf2efe8)
	if s.dark() {
		white, stripe = white.mix(t.far, 0.55), stripe.mix(t.near, 0.5)
	}
	h := &lighthouse{
		s: s, x: float64(summit), foot: rock.line[summit] + tall*0.03, top: rock.line[summit] - tall,
		wide: tall * 0.095, bands: pick(s.rnd, 3.0, 4, 5),
		paint1: white.mix(t.sky[len(t.sky)-1], 0.12), paint2: stripe.mix(t.sky[len(t.sky)-1], 0.18),
		dark: t.near.mix(t.far, 0.15), lamp: rgbOf(0xfff0c0).mix(t.glow, 0.3), power: 0.75,
	}
	if s.dark() {
		h.power = 1
	}
	h.aim = [2]float64{between(s.rnd, -0.14, 0.02), between(s.rnd, -0.02, 0.14)}
	return h
}

func (h *lighthouse) paint(yy float64, row []rgb) {
	h.beams(yy, row)
	tall := h.foot - h.top
	if yy > h.top-tall*0.26 && yy < h.foot+1 {
		h.tower(yy, row, tall)
	}
	h.shine(yy, row, tall)
}

// eye is the height of the lamp.
func (h *lighthouse) eye() float64 { return h.top - (h.foot-h.top)*0.07 }

// beams are two cones of light in the haze.
func (h *lighthouse) beams(yy float64, row []rgb) {
	for x := range row {
		dx := (float64(x) - h.x) / h.s.unit
		far := math.Abs(dx)
		slope := h.aim[0]
		if dx > 0 {
			slope = h.aim[1]
		}
		half := 0.010 + 0.075*far
		off := ((yy-h.eye())/h.s.unit - slope*far) / half
		if off > 3 || off < -3 {
			continue
		}
		light := math.Exp(-off*off*1.3) * (0.70/(1+2.0*far) + 0.14) * h.power
		row[x] = row[x].screen(h.lamp, light)
	}
}

// shine is the lamp itself and its halo.
func (h *lighthouse) shine(yy float64, row []rgb, tall float64) {
	r := tall * 0.13
	dy := (yy - h.eye()) / r
	if math.Abs(dy) > 12 {
		return
	}
	from, to := h.s.span(h.x, r*12)
	for x := from; x < to; x++ {
		dx := (float64(x) - h.x) / r
		d2 := dx*dx + dy*dy
		fade := clamp(1-d2/144, 0, 1)
		row[x] = row[x].screen(h.lamp, (0.95*math.Exp(-d2*1.6)+0.42/(1+d2*0.55))*fade)
	}
}

// tower covers the row with masonry, gallery, lantern or roof.
func (h *lighthouse) tower(yy float64, row []rgb, tall float64) {
	up := (h.foot - yy) / tall // 0 at the foot, 1 at the gallery
	half, part := 0.0, 0
	switch {
	case up < 0.985:
		half = h.wide * lerp(1, 0.66, math.Pow(max(up, 0), 0.8))
	case up < 1.02:
		half, part = h.wide*0.95, 1
	case up < 1.125:
		half, part = h.wide*0.50, 2
	default:
		half, part = h.wide*0.72*(1.235-up)/0.11, 1
	}
	if half <= 0 {
		return
	}
	from, to := h.s.span(h.x, half+1)
	for x := from; x < to; x++ {
		dx := float64(x) - h.x
		cover := clamp(half-math.Abs(dx)+0.5, 0, 1)
		row[x] = row[x].mix(h.wall(up, dx/half, part), cover)
	}
}

// wall is the colour at a height and at u from the left edge (-1) to the
// right (1); round things are darker at one side.
func (h *lighthouse) wall(up, u float64, part int) rgb {
	switch part {
	case 1:
		return h.dark.scale(1.15 - 0.25*u)
	case 2:
		return h.lamp.mix(h.dark, 0.25*step(0.7, 1, math.Abs(u)))
	}
	edge := math.Sin(up * h.bands * 2 * math.Pi)
	c := h.paint1.mix(h.paint2, step(-0.12, 0.12, edge))
	return c.scale(1.02-0.20*u-0.14*u*u).mix(h.dark, 0.3*step(0.93, 0.985, up))
}

// fog lies on the water and thins out above it.
func (s *sketch) fog(yy, horizon float64, color rgb, bank []float64, row []rgb) {
	up := (horizon - yy) / s.unit
	k := math.Exp(-max(up, 0)*16) * 0.85
	if s.look.mood == "mist" {
		k = math.Exp(-max(up, 0)*8) * 0.95
	}
	if k < 0.01 {
		return
	}
	s.sampled(bank, s.unit/8, func(x float64) float64 {
		return clamp(k*(0.62+1.1*s.n.fbm(x/s.unit*2, up*9+40, 3)), 0, 0.9)
	})
	for x := range row {
		row[x] = row[x].mix(color, bank[x])
	}
}

// longExposure fills a row of water smoothed by time: the reflection blurred
// into bands.
func (s *sketch) longExposure(yy, horizon float64, t tones, air func(float64, []rgb), bank []float64, mirror, row []rgb) {
	down := (yy - horizon) / max(s.fh-horizon, 1)
	depth := (yy - horizon) / s.unit
	air(horizon-depth*s.unit*1.25-1, mirror)
	base := t.sky[len(t.sky)-1].mix(t.sky[1], 0.25+0.6*down).mix(t.near, 0.10+0.18*down)
	s.sampled(bank, s.unit/4, func(x float64) float64 {
		return s.n.fbm(x/s.unit*0.9+7, depth*15/(0.35+depth*2), 3)
	})
	for x := range row {
		band := bank[x]
		c := base.mix(mirror[x], clamp(0.42-0.35*down+0.2*band, 0.05, 0.6))
		row[x] = c.screen(t.glow, clamp(0.13*band+0.05, 0, 1))
	}
}
