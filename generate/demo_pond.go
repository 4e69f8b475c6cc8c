package generate

import "math"

// pond is the water around the fish and what floats on it.
type pond struct {
	s     *sketch
	water *ramp
	light rgb
	drift float64
	rings [][3]float64 // ripples: x, y and how far they have come
	pads  []pad

	deep, web, sheen []float64 // one row of each
}

// pad is a lily leaf.
type pad struct {
	x, y, r, notch float64
	color          rgb
	flower         rgb
	bloom          float64 // the flower's radius, 0: none
}

// drawKoi: fish circling in a pond, under ripples and lily leaves.
func drawKoi(s *sketch) error {
	p := newPond(s)
	school := newSchool(s)
	deep := p.water.at(0).scale(0.45)
	return s.rows(func(y int, row []rgb) {
		yy := float64(y)
		p.paint(yy, row)
		for _, k := range school {
			k.shadow(yy, deep, row)
		}
		for _, k := range school {
			k.paint(yy, row)
		}
		p.surface(yy, row)
		for i := range p.pads {
			p.pads[i].paint(s, yy, row)
		}
	})
}

func newPond(s *sketch) *pond {
	waters := [][]rgb{
		{rgbOf(0x0a2a33), rgbOf(0x124a52), rgbOf(0x2a7a78)},
		{rgbOf(0x0b2233), rgbOf(0x17425c), rgbOf(0x3a7b93)},
		{rgbOf(0x10291f), rgbOf(0x23503c), rgbOf(0x5a8a62)},
	}
	switch s.look.mood {
	case "night":
		waters = [][]rgb{{rgbOf(0x050b16), rgbOf(0x0b1c30), rgbOf(0x1d4058)}}
	case "neon":
		waters = [][]rgb{{rgbOf(0x060716), rgbOf(0x0e1236), rgbOf(0x1f2a6a)}, {rgbOf(0x0a0414), rgbOf(0x1c0a34), rgbOf(0x3f1a66)}}
	case "dawn", "day", "mist":
		waters = append(waters, []rgb{rgbOf(0x4d8f96), rgbOf(0x86bdb9), rgbOf(0xc4e0d4)})
	}
	colors := pick(s.rnd, waters...)
	if first, second := s.tintPair(); first != nil && len(s.look.tints) > 1 {
		colors = s.tinted(colors, second, 0.7)
	}
	p := &pond{s: s, water: gradient(colors...), light: colors[len(colors)-1].mix(rgbOf(0xffffff), 0.55), drift: between(s.rnd, 0, 90)}
	p.deep, p.web, p.sheen = make([]float64, s.w), make([]float64, s.w), make([]float64, s.w)
	for range 1 + s.rnd.IntN(3) {
		p.rings = append(p.rings, [3]float64{s.fw * s.rnd.Float64(), s.fh * s.rnd.Float64(), s.unit * between(s.rnd, 0.12, 0.3)})
	}
	p.addPads(colors[1])
	return p
}

// addPads lays a group of leaves at one corner and a stray one elsewhere.
func (p *pond) addPads(water rgb) {
	s := p.s
	if s.rnd.IntN(6) == 0 {
		return
	}
	cx, cy := s.fw*pick(s.rnd, 0.02, 0.98), s.fh*pick(s.rnd, 0.03, 0.97)
	leaf := pick(s.rnd, rgbOf(0x4f8a4a), rgbOf(0x5f9a5e), rgbOf(0x3f7a58)).mix(water, 0.25)
	if s.dark() {
		leaf = leaf.mix(water, 0.55)
	}
	for i := range 3 + s.rnd.IntN(5) {
		spread := s.unit * 0.11 * math.Sqrt(float64(i)) * 1.7
		a := float64(i)*2.4 + s.rnd.Float64()
		one := pad{
			x: cx + math.Cos(a)*spread, y: cy + math.Sin(a)*spread, r: s.unit * between(s.rnd, 0.05, 0.105),
			notch: between(s.rnd, -math.Pi, math.Pi), color: shuffledHue(s.rnd, leaf, 0.02),
		}
		if s.rnd.IntN(4) == 0 {
			one.bloom, one.flower = one.r*0.62, pick(s.rnd, rgbOf(0xf6c6d4), rgbOf(0xf7ead8), rgbOf(0xe88fb0))
		}
		p.pads = append(p.pads, one)
	}
}

func newSchool(s *sketch) []*koi {
	skins := [][]rgb{
		{rgbOf(0xf5efe4), rgbOf(0xe2512a), rgbOf(0x24201f)},
		{rgbOf(0xf7f0e2), rgbOf(0xd93a2b), rgbOf(0xd93a2b)},
		{rgbOf(0xf2b04a), rgbOf(0xe8862a), rgbOf(0x5a2a18)},
		{rgbOf(0xf4eee6), rgbOf(0x3a3a40), rgbOf(0x24201f)},
		{rgbOf(0xe9683a), rgbOf(0xf2a05a), rgbOf(0x3a1a14)},
	}
	if s.look.mood == "neon" {
		skins = [][]rgb{
			{rgbOf(0xffe8f6), rgbOf(0xff3d9a), rgbOf(0x7a1fff)},
			{rgbOf(0xe6fff8), rgbOf(0x19e6c8), rgbOf(0x1a6dff)},
			{rgbOf(0xfff3d6), rgbOf(0xff8a2a), rgbOf(0xff2a6a)},
		}
	}
	count := 3 + s.rnd.IntN(4)
	way, turn := pick(s.rnd, -1.0, 1.0), between(s.rnd, 0, 2*math.Pi)
	circling := s.rnd.IntN(3) > 0
	first, _ := s.tintPair()
	var out []*koi
	for i := range count {
		a := turn + 2*math.Pi*float64(i)/float64(count) + between(s.rnd, -0.25, 0.25)
		ring := between(s.rnd, 0.22, 0.31)
		x, y := s.fw*(0.5+math.Cos(a)*ring), s.fh*(0.5+math.Sin(a)*ring)
		heading, bend := a+way*math.Pi/2+between(s.rnd, -0.35, 0.35), -way*between(s.rnd, 0.4, 1.0)
		if !circling { // a shoal crossing the picture, row by row
			place := (float64(i)+0.5)/float64(count) - 0.5
			x = s.fw * (0.5 + place*0.85)
			y = s.fh * (0.5 + between(s.rnd, 0.12, 0.26)*pick(s.rnd, -1.0, 1.0))
			heading, bend = turn+between(s.rnd, -0.4, 0.4), between(s.rnd, -0.7, 0.7)
		}
		skin := skins[s.rnd.IntN(len(skins))]
		if first != nil {
			skin = []rgb{skin[0], first.apply(skin[1], 0.85), skin[2]}
		}
		size := s.unit * between(s.rnd, 0.27, 0.42)
		out = append(out, newKoi(s, x, y, heading, bend, size, skin))
	}
	return out
}

// paint fills a row with water: depth, and light broken on the ground.
func (p *pond) paint(yy float64, row []rgb) {
	n, u := p.s.n, p.s.unit
	p.s.sampled(p.deep, u/6, func(x float64) float64 { return n.fbm(x/u*1.3+p.drift, yy/u*1.3, 3) })
	p.s.sampled(p.web, u/22, func(x float64) float64 {
		deep := p.deep[int(clamp(x, 0, p.s.fw-1))]
		wx, wy := x/u*4+1.6*deep, yy/u*4-1.6*deep
		web := 1 - math.Abs(n.at(wx+p.drift, wy)+0.35*n.at(wx*2.1, wy*2.1+p.drift))
		return math.Pow(web, 8)
	})
	for x := range row {
		slope := 0.5*(float64(x)/p.s.fw) + 0.5*(yy/p.s.fh)
		c := p.water.at(0.55 - 0.5*slope + 0.55*p.deep[x])
		row[x] = c.screen(p.light, 0.16*p.web[x]*(1.1-slope))
	}
}

// surface adds the ripples' light and the sheen of the sky.
func (p *pond) surface(yy float64, row []rgb) {
	u := p.s.unit
	p.s.sampled(p.sheen, u/6, func(x float64) float64 {
		return 0.13 * step(0.1, 0.6, p.s.n.fbm(x/u*1.1-p.drift, yy/u*2.6+x/u*0.9, 2))
	})
	for _, ring := range p.rings {
		p.ripple(yy, ring)
	}
	for x := range row {
		row[x] = row[x].screen(p.light, p.sheen[x])
	}
}

// ripple adds the light of one ring of ripples to the sheen.
func (p *pond) ripple(yy float64, ring [3]float64) {
	reach := ring[2] * 1.4
	if math.Abs(yy-ring[1]) > reach {
		return
	}
	tight := 37.5 / (p.s.unit*0.1 + ring[2])
	from, to := p.s.span(ring[0], reach)
	for x := from; x < to; x++ {
		d := math.Hypot(float64(x)-ring[0], yy-ring[1])
		wave := max(math.Sin(d*tight), 0)
		fade := math.Exp(-sq((d-ring[2]*0.75)/(ring[2]*0.32))) * step(reach, reach*0.85, d)
		p.sheen[x] += 0.20 * wave * wave * fade
	}
}

// paint covers the row with the leaf, its shadow and its flower.
func (l *pad) paint(s *sketch, yy float64, row []rgb) {
	dy := yy - l.y
	if math.Abs(dy) > l.r*1.3 {
		return
	}
	from, to := s.span(l.x, l.r*1.3)
	for x := from; x < to; x++ {
		dx := float64(x) - l.x
		shade := math.Hypot(dx-l.r*0.1, dy-l.r*0.14)
		row[x] = row[x].scale(1 - 0.4*step(l.r*1.1, l.r*0.85, shade))
		r, a := math.Hypot(dx, dy), math.Atan2(dy, dx)
		off := math.Abs(math.Remainder(a-l.notch, 2*math.Pi))
		cover := clamp(l.r*(1+0.03*s.n.at(a*2, l.notch*9))-r+0.5, 0, 1) * clamp((off-0.20)*r+0.5, 0, 1)
		vein := math.Pow(math.Abs(math.Cos((a-l.notch)*6)), 40) * step(0.05, 0.4, r/l.r) * 0.16
		c := l.color.scale(0.80 + 0.28*r/l.r - 0.12*(dx+dy)/l.r + 0.05*s.n.at(dx/l.r*3, dy/l.r*3+l.notch))
		row[x] = row[x].mix(c.screen(rgbOf(0xd8f0b0), vein), cover)
		row[x] = l.petals(row[x], r, a)
	}
}

func (l *pad) petals(c rgb, r, a float64) rgb {
	if l.bloom == 0 || r > l.bloom {
		return c
	}
	for i, size := range []float64{1, 0.74, 0.48} {
		lobe := math.Abs(math.Cos(a*4 + float64(i)*math.Pi/2))
		edge := l.bloom * size * (0.55 + 0.45*math.Sqrt(lobe))
		tone := l.flower.scale(0.80+0.10*float64(i)).mix(rgbOf(0xffffff), 0.5*r/l.bloom)
		c = c.mix(tone, clamp(edge-r+0.5, 0, 1))
	}
	return c.mix(rgbOf(0xf2c14e), clamp(l.bloom*0.15-r+0.5, 0, 1))
}
