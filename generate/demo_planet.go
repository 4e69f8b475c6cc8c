package generate

import "math"

// globe is a planet, perhaps with rings.
type globe struct {
	s          *sketch
	x, y, r    float64
	bands      *ramp
	tilt       [2]float64 // sine and cosine of the axis' lean
	light      [3]float64
	row        float64
	ringed     bool
	open       float64 // how far the rings are open: 0 edge on, 1 from above
	ringColors *ramp
	air        rgb
}

// drawPlanet: a banded planet in a field of stars, above the ground of a moon.
func drawPlanet(s *sketch) error {
	space := pick(s.rnd,
		[]rgb{rgbOf(0x07060f), rgbOf(0x14132c), rgbOf(0x2a2150)},
		[]rgb{rgbOf(0x03080f), rgbOf(0x0c1d30), rgbOf(0x1d4552)},
		[]rgb{rgbOf(0x0b0509), rgbOf(0x24101f), rgbOf(0x50243a)})
	if len(s.look.tints) > 1 {
		_, second := s.tintPair()
		space = s.tinted(space, second, 0.7)
	}
	g := newGlobe(s)
	night := newStars(s, s.fh*4)
	drift := between(s.rnd, 0, 99)
	ground := s.fh * between(s.rnd, 0.80, 0.92)
	t := tones{sky: space, far: space[2], near: space[0].scale(0.6), glow: g.air}
	moon := newFarRange(s, t, ground, 0.05, 0.5)
	for x := range moon.line {
		moon.line[x] += s.unit * 0.02
	}
	k := &sky{s: s, glow: g.air, sunX: g.x, power: 0.5}
	nebula := gradient(space...)
	angle, cloud := between(s.rnd, -0.9, 0.9), make([]float64, s.w)
	return s.rows(func(y int, row []rgb) {
		yy := float64(y)
		s.sampled(cloud, s.unit/14, func(fx float64) float64 {
			v := (fx/s.unit-s.fw/s.unit/2)*math.Sin(angle) + (yy/s.unit-s.fh/s.unit/2)*math.Cos(angle)
			gas := s.n.fbm(fx/s.unit*1.6+drift, yy/s.unit*1.6, 4)
			return 0.22 + 0.9*gas*math.Exp(-v*v*3) + 0.30*math.Exp(-v*v*7)
		})
		for x := range row {
			row[x] = nebula.at(cloud[x])
		}
		night.paint(yy, row)
		g.ring(yy, row, false)
		g.paint(yy, row)
		g.ring(yy, row, true)
		moon.paint(s, k, yy, row)
	})
}

func newGlobe(s *sketch) *globe {
	lean := between(s.rnd, -0.5, 0.5)
	sin, cos := math.Sincos(lean)
	around := between(s.rnd, 0.5, 1.0) * pick(s.rnd, -1.0, 1.0)
	g := &globe{
		s: s, r: s.unit * between(s.rnd, 0.17, 0.25), tilt: [2]float64{sin, cos}, row: between(s.rnd, 0, 99),
		ringed: s.rnd.IntN(4) > 0, open: between(s.rnd, 0.12, 0.34),
		light: [3]float64{-math.Sin(around) * 0.9, -0.35, 0.5},
	}
	g.x, g.y = s.fw*between(s.rnd, 0.36, 0.64), s.fh*between(s.rnd, 0.36, 0.5)
	colors := s.palette(
		[]rgb{rgbOf(0x8a5a38), rgbOf(0xd9a066), rgbOf(0xf2dcb4), rgbOf(0xb87844), rgbOf(0xe8c48e), rgbOf(0x9c6a48)},
		[]rgb{rgbOf(0x2b4f7a), rgbOf(0x6fa3c4), rgbOf(0xd3e6ea), rgbOf(0x4a7ba6), rgbOf(0x9cc4d4), rgbOf(0x3a5f8c)},
		[]rgb{rgbOf(0x6a3a6a), rgbOf(0xc27aa0), rgbOf(0xf2c8c0), rgbOf(0x94528a), rgbOf(0xe0a0b0), rgbOf(0x5a3a78)},
		[]rgb{rgbOf(0x2f5a50), rgbOf(0x7fb08a), rgbOf(0xe2e8bc), rgbOf(0x4a8a7a), rgbOf(0xb8d0a0), rgbOf(0x37695e)},
	)
	g.bands, g.air = gradient(colors...), colors[2]
	g.ringColors = gradient(colors[2].scale(0.9), colors[1].scale(0.7), colors[2], colors[4].scale(0.75), colors[3].scale(0.5))
	n := math.Sqrt(sq(g.light[0]) + sq(g.light[1]) + sq(g.light[2]))
	for i := range g.light {
		g.light[i] /= n
	}
	return g
}

// turn brings a point into the planet's own axes, in radii.
func (g *globe) turn(x, y float64) (u, v float64) {
	dx, dy := (x-g.x)/g.r, (y-g.y)/g.r
	return dx*g.tilt[1] + dy*g.tilt[0], dy*g.tilt[1] - dx*g.tilt[0]
}

func (g *globe) paint(yy float64, row []rgb) {
	halo := g.r * 1.25
	if math.Abs(yy-g.y) > halo {
		return
	}
	from, to := g.s.span(g.x, halo)
	for x := from; x < to; x++ {
		dx, dy := (float64(x)-g.x)/g.r, (yy-g.y)/g.r
		r := math.Hypot(dx, dy)
		if r > 1 {
			lit := clamp(0.4+(dx*g.light[0]+dy*g.light[1])/r, 0, 1.4)
			row[x] = row[x].screen(g.air, 0.30*lit*math.Exp(-(r-1)*22))
		}
		if cover := clamp((1-r)*g.r+0.5, 0, 1); cover > 0 {
			row[x] = row[x].mix(g.shade(float64(x), yy, dx, dy), cover)
		}
	}
}

// shade is the planet's colour: bands bent by storms, then day and night.
func (g *globe) shade(x, y, dx, dy float64) rgb {
	u, v := g.turn(x, y)
	z := math.Sqrt(max(1-dx*dx-dy*dy, 0))
	lat, lon := v+0.10*g.open*z, u/(0.35+0.65*z)
	n := g.s.n
	storm := n.fbm(lon*1.5+g.row, lat*6, 4)
	band := 0.5 + 0.62*n.line(lat*2.6+0.10*storm+g.row, g.row, 4, 0.6) + 0.10*storm
	c := g.bands.at(band)
	day := dx*g.light[0] + dy*g.light[1] + z*g.light[2]
	light := step(-0.16, 0.75, day)
	c = c.scale(0.03+1.0*light).screen(g.air, 0.28*math.Pow(1-z, 3)*light)
	return c
}

// ring paints the half of the rings behind the planet or before it.
func (g *globe) ring(yy float64, row []rgb, before bool) {
	if !g.ringed || math.Abs(yy-g.y) > g.r*2.5 {
		return
	}
	from, to := g.s.span(g.x, g.r*2.5)
	for x := from; x < to; x++ {
		u, v := g.turn(float64(x), yy)
		if (v > 0) != before {
			continue
		}
		r := math.Hypot(u, v/g.open)
		if r < 1.28 || r > 2.3 {
			continue
		}
		t := (r - 1.30) / 0.96
		grooves := 0.62 + 0.38*g.s.n.line(r*13, g.row+5, 3, 0.6)*1.6
		gap := 1 - 0.9*math.Exp(-sq((t-0.62)/0.025))
		alpha := step(0, 0.06, t) * step(1, 0.93, t) * clamp(grooves, 0.1, 1) * gap * 0.9
		// The planet's shadow falls across the rings on the side away from the light.
		away := u*(-g.light[0]) + v/g.open*(-g.light[1])
		across := math.Abs(u*g.light[1] - v/g.open*g.light[0])
		dark := step(0.2, 0.9, away) * step(1.05, 0.9, across)
		row[x] = row[x].mix(g.ringColors.at(t).scale(1-0.85*dark), alpha)
	}
}
