package generate

import "math"

// ridge is one skyline of a mountain range.
type ridge struct {
	line  []float64 // its height for every column, in pixels from the top
	color rgb
	haze  rgb     // what its foot fades into
	fade  float64 // how far below the crest, in pixels
	row   float64 // where in the noise it is
	near  float64 // 0 the farthest, 1 the nearest

	// hidden is the line below which nearer ridges cover it; nil: none do.
	hidden []float64
}

// drawRidges: mountains behind mountains, each paler than the one before it,
// with the light coming up behind.
func drawRidges(s *sketch) error {
	t := s.light("dawn", "dawn", "dusk", "dusk", "day", "mist")
	horizon := s.fh * between(s.rnd, 0.36, 0.54)
	k := newSky(s, t, horizon+0.05*s.unit)
	k.sunY = horizon - s.unit*between(s.rnd, -0.02, 0.06)
	k.clouds = pick(s.rnd, 0, 0.35, 0.5)
	k.power = 0.75

	var night *stars
	moon := &disc{s: s, x: k.sunX, y: horizon - s.unit*between(s.rnd, 0.14, 0.3), r: s.unit * between(s.rnd, 0.05, 0.09), color: t.glow}
	if s.dark() {
		night = newStars(s, horizon)
		moon.maria, moon.spot = 1, between(s.rnd, 0, 50)
		k.sunY, k.clouds = moon.y, 0.25
	} else {
		moon.y = horizon - s.unit*between(s.rnd, 0.0, 0.12)
		moon.color = t.glow.mix(rgbOf(0xffffff), 0.5)
	}
	moon.y = max(moon.y, 1.7*moon.r) // whole, also in a wide picture
	ridges := newRidges(s, t, horizon)
	disk := s.dark() || s.rnd.IntN(2) == 0

	return s.rows(func(y int, row []rgb) {
		yy := float64(y)
		k.paint(yy, row)
		if night != nil {
			night.paint(yy, row)
		}
		if disk {
			moon.paint(yy, row)
		}
		for i := range ridges {
			ridges[i].paint(s, k, yy, row)
		}
	})
}

func newRidges(s *sketch, t tones, horizon float64) []ridge {
	count := 4 + s.rnd.IntN(4)
	rough := between(s.rnd, 0.40, 0.50)
	wide := between(s.rnd, 0.8, 1.35)
	shades := gradient(t.far, t.far.mix(t.near, 0.45), t.near)
	out := make([]ridge, count)
	for i := range out {
		near := float64(i) / float64(count-1)
		base := lerp(horizon, s.fh*0.97, math.Pow(near, 1.15))
		height := s.unit * lerp(0.10, 0.20, near) * between(s.rnd, 0.8, 1.3)
		scale := lerp(1.9, 1.25, near) / s.unit * wide
		row := 31*float64(i) + between(s.rnd, 0, 9)
		shift := between(s.rnd, 0, 100)
		out[i] = ridge{
			line: s.columns(func(x float64) float64 {
				v := s.n.line(x*scale+shift, row, 7, rough)
				return base - height*(v*1.5+0.12*math.Abs(v))
			}),
			color: shades.at(0.04 + 0.96*near),
			haze:  shades.at(near*0.55).mix(t.sky[len(t.sky)-1], 0.55-0.2*near),
			fade:  s.unit * lerp(0.16, 0.34, near),
			row:   row, near: near,
		}
	}
	lines := make([][]float64, count)
	for i := range out {
		lines[i] = out[i].line
	}
	for i, line := range s.hidden(lines) {
		out[i].hidden = line
	}
	return out
}

// paint covers the row below the skyline. The haze lies in the valleys and is
// brightest under the sun; the rock shows in the nearer ridges.
func (r *ridge) paint(s *sketch, k *sky, yy float64, row []rgb) {
	for x := range row {
		depth := yy - r.line[x] + 0.5
		if depth <= 0 || r.hidden != nil && yy > r.hidden[x] {
			continue
		}
		fx := float64(x)
		down := depth / r.fade
		haze := smooth(clamp(down*0.8, 0, 1)) * (0.92 - 0.35*r.near)
		if down < 2.2 && r.near > 0.15 {
			rock := s.n.fbm(fx/s.unit*9+r.row, depth/s.unit*6-fx/s.unit*3, 3)
			haze += rock * 0.16 * r.near * (1 - down/2.2)
		}
		dx := (fx - k.sunX) / (s.unit * 0.7)
		warm := falloff(dx*dx) * k.power * (1 - 0.75*r.near)
		c := r.color.mix(r.haze, clamp(haze, 0, 1)).screen(k.glow, 0.30*warm)
		row[x] = row[x].mix(c, min(depth, 1))
	}
}
