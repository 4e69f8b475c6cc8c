package generate

import "math"

// dune is one wave of sand: its crest, and which side lies in the shadow.
type dune struct {
	crest []float64 // in pixels from the top, for every column
	slope []float64 // of the crest, in pixels a pixel
	lit   rgb
	shade rgb
	row   float64
	near  float64
	under []float64 // the line below which nearer dunes cover it
	lean  float64   // how far the shadow's edge leans as it comes down
}

// drawDunes: waves of sand in low light, each with a bright and a dark side.
func drawDunes(s *sketch) error {
	t := s.light("dusk", "dusk", "dawn", "day", "night")
	horizon := s.fh * between(s.rnd, 0.34, 0.5)
	k := newSky(s, t, horizon+s.unit*0.04)
	k.power, k.clouds = 0.5, pick(s.rnd, 0, 0, 0.25)
	sun := &disc{s: s, x: k.sunX, y: horizon - s.unit*between(s.rnd, 0.06, 0.24), r: s.unit * between(s.rnd, 0.045, 0.085), color: t.glow.mix(rgbOf(0xffffff), 0.45)}
	sun.y = max(sun.y, 1.7*sun.r) // whole, also in a wide picture
	k.sunY = sun.y
	var night *stars
	if s.dark() {
		night = newStars(s, horizon)
		sun.maria, sun.spot = 1, between(s.rnd, 0, 90)
	}
	dunes := newDunes(s, t, horizon)
	return s.rows(func(y int, row []rgb) {
		yy := float64(y)
		k.paint(yy, row)
		if night != nil {
			night.paint(yy, row)
		}
		sun.paint(yy, row)
		for i := range dunes {
			dunes[i].paint(s, yy, row)
		}
	})
}

func newDunes(s *sketch, t tones, horizon float64) []dune {
	sand, shadow := rgbOf(0xe59a55), rgbOf(0x5b2c3c)
	switch s.look.mood {
	case "night", "neon":
		sand, shadow = t.far.mix(t.glow, 0.22), t.near
	case "day":
		sand, shadow = rgbOf(0xf0cb8e), rgbOf(0xa9714f)
	case "mist":
		sand, shadow = rgbOf(0xdcc7a8), rgbOf(0x93827c)
	case "dawn":
		sand, shadow = rgbOf(0xe8ab80), rgbOf(0x694a64)
	}
	first, second := s.tintPair()
	sand, shadow = s.tinted([]rgb{sand}, first, 0.8)[0], s.tinted([]rgb{shadow}, second, 0.7)[0]
	air := t.sky[len(t.sky)-1]

	count := 4 + s.rnd.IntN(3)
	side := pick(s.rnd, -1.0, 1.0)
	out := make([]dune, count)
	for i := range out {
		near := float64(i) / float64(count-1)
		base := lerp(horizon, s.fh*0.9, math.Pow(near, 1.2))
		height := s.unit * lerp(0.06, 0.17, near) * between(s.rnd, 0.8, 1.25)
		scale := lerp(1.7, 0.85, near) / s.unit * between(s.rnd, 0.85, 1.2)
		shift, row := between(s.rnd, 0, 100), 13*float64(i)+between(s.rnd, 0, 5)
		at := func(x float64) float64 {
			v := s.n.at(x*scale+shift, row) + 0.22*s.n.at(x*scale*2.3+shift, row+3)
			return base - height*v*1.25
		}
		d := dune{
			crest: s.columns(at), row: row, near: near, lean: between(s.rnd, 0.25, 0.9) * side,
			lit:   sand.mix(air, 0.55*(1-near)).scale(1 - 0.06*near),
			shade: shadow.mix(air, 0.5*(1-near)).scale(1 - 0.25*near),
		}
		delta := s.unit * 0.004
		d.slope = s.columns(func(x float64) float64 { return side * (at(x+delta) - at(x-delta)) / (2 * delta) })
		out[i] = d
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

// paint covers the row below the crest. The edge of the shadow starts sharp
// at the crest's peak and runs down the dune in a soft S.
func (d *dune) paint(s *sketch, yy float64, row []rgb) {
	u := s.unit
	for x := range row {
		depth := yy - d.crest[x] + 0.5
		if depth <= 0 || yy > d.under[x] {
			continue
		}
		fx := float64(x)
		down := depth / u
		curve := d.lean*depth + 0.05*u*math.Sin(down*9+d.row)*min(down*6, 1)
		at := int(clamp(fx+curve, 0, s.fw-1))
		soft := 0.015 + 0.5*down
		light := step(-soft, soft, d.slope[at]+0.03)
		// Wind ripples: they follow the crest and fade with the distance.
		wave := s.n.at(fx/u*2.2, yy/u*2.2+d.row)
		freq := lerp(95, 46, d.near)
		ripple := math.Sin((down*freq + wave*3.4 + fx/u*1.5) * 2)
		c := d.shade.mix(d.lit, light)
		c = c.scale(1 + ripple*0.035*(0.25+0.75*light)*(0.3+0.7*d.near)*clamp(down*9, 0, 1))
		// Sand catches the light along the crest and sinks into shade below.
		rim := math.Exp(-depth / (u * 0.008))
		c = c.screen(d.lit, 0.25*rim).scale(1 - 0.22*clamp(down*0.9, 0, 1))
		row[x] = row[x].mix(c, min(depth, 1))
	}
}
