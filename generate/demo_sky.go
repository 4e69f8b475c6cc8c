package generate

import "math"

// sky is what lies behind a landscape: a gradient down to the horizon and a
// light source with its glow.
type sky struct {
	s       *sketch
	ramp    *ramp
	horizon float64 // pixels from the top
	glow    rgb
	sunX    float64
	sunY    float64
	spread  float64 // how far the glow reaches, in pixels
	power   float64 // how strong it is, 0 to 1
	clouds  float64 // how much of the sky is streaked, 0 to 1
	drift   float64 // where in the noise the clouds are
	streaks []float64
}

func newSky(s *sketch, t tones, horizon float64) *sky {
	return &sky{
		s: s, ramp: gradient(t.sky...), horizon: horizon, glow: t.glow,
		sunX: s.fw * between(s.rnd, 0.18, 0.82), sunY: horizon,
		spread: s.unit * 0.45, power: 0.6,
		drift: between(s.rnd, 0, 200), streaks: make([]float64, s.w),
	}
}

// paint fills a row; yy may lie between rows, and above or below the picture
// (reflections ask for that).
func (k *sky) paint(yy float64, row []rgb) {
	base := k.ramp.at(yy / max(k.horizon, 1))
	dy := (yy - k.sunY) / k.spread
	dy *= dy
	if k.clouds > 0 {
		k.sampleClouds(yy)
	}
	for x := range row {
		dx := (float64(x) - k.sunX) / (k.spread * 1.25)
		c := base.screen(k.glow, k.power*falloff(dx*dx+dy))
		if k.clouds > 0 {
			c = c.mix(c.screen(k.glow, 0.55), k.streaks[x])
		}
		row[x] = c
	}
}

// falloff is a glow by the square of the distance: bright core, long skirt.
func falloff(d2 float64) float64 { return 1 / (1 + 3*d2 + 2.5*d2*d2) }

// sampleClouds works out the streaks of a row: long and thin near the
// horizon, as clouds look.
func (k *sky) sampleClouds(yy float64) {
	u := k.s.unit
	depth := clamp((k.horizon-yy)/u, 0, 2)
	v := yy/u*(7-2.2*depth) + k.drift
	low := k.clouds * step(0, 0.12, depth)
	k.s.sampled(k.streaks, u/9, func(x float64) float64 {
		return step(0.02, 0.5, k.s.n.fbm(x/u*1.1+k.drift, v, 4)) * low
	})
}

// stars are points of light above a line, more where the sky is dark.
type stars struct {
	s     *sketch
	cell  float64
	seed  uint32
	limit float64 // the horizon: none below
	color rgb
}

func newStars(s *sketch, limit float64) *stars {
	return &stars{s: s, cell: max(s.unit/26, 6), seed: s.rnd.Uint32(), limit: limit, color: rgbOf(0xf4f2ff)}
}

// paint adds the stars near this row: one at most in each cell of a grid.
func (k *stars) paint(yy float64, row []rgb) {
	r := max(k.s.unit/620, 0.75)
	for cy := int(math.Floor((yy-3*r)/k.cell)) - 1; cy <= int((yy+3*r)/k.cell)+1; cy++ {
		for cx := range int(float64(len(row))/k.cell) + 1 {
			h := hash32(uint32(cx), uint32(cy), k.seed)
			if h&3 != 0 {
				continue
			}
			sx := (float64(cx) + float64(h>>8&255)/255) * k.cell
			sy := (float64(cy) + float64(h>>16&255)/255) * k.cell
			mag := float64(h>>24) / 255
			mag *= mag * mag
			fade := clamp(1.1*(1-sy/max(k.limit, 1)), 0, 1)
			k.dot(yy, row, sx, sy, r*(0.65+1.1*mag), (0.25+0.75*mag)*fade)
		}
	}
}

func (k *stars) dot(yy float64, row []rgb, sx, sy, r, power float64) {
	dy := math.Abs(yy - sy)
	if dy > 3*r || power <= 0.02 {
		return
	}
	from, to := k.s.span(sx, 3*r)
	for x := from; x < to; x++ {
		d2 := ((float64(x)-sx)*(float64(x)-sx) + dy*dy) / (r * r)
		row[x] = row[x].screen(k.color, power*math.Exp(-d2*0.9))
	}
}

// disc is a sun or a moon.
type disc struct {
	s       *sketch
	x, y, r float64
	color   rgb
	maria   float64 // the moon's dark seas, 0 to 1
	spot    float64
}

// paint lays the disc over a row.
func (d *disc) paint(yy float64, row []rgb) {
	dy := yy - d.y
	if math.Abs(dy) > d.r+1 {
		return
	}
	from, to := d.s.span(d.x, d.r+1)
	for x := from; x < to; x++ {
		dx := float64(x) - d.x
		dist := math.Sqrt(dx*dx + dy*dy)
		cover := clamp(d.r-dist+0.5, 0, 1)
		if cover == 0 {
			continue
		}
		c := d.shade(dx/d.r, dy/d.r, dist/d.r)
		if d.maria == 0 { // a sun is never darker than its sky
			c = rgb{max(c.r, row[x].r), max(c.g, row[x].g), max(c.b, row[x].b)}
		}
		row[x] = row[x].mix(c, cover)
	}
}

func (d *disc) shade(u, v, r float64) rgb {
	c := d.color.scale(1 - 0.10*r*r*r*r)
	if d.maria == 0 {
		return c
	}
	seas := step(0.02, 0.34, d.s.n.fbm(u*1.3+d.spot, v*1.3+d.spot, 4)+0.08)
	fine := d.s.n.fbm(u*5+d.spot, v*5, 3)
	return c.scale(1 - d.maria*(0.22*seas+0.10*fine))
}
