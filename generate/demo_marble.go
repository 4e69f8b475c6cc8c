package generate

import "math"

// drawMarble: inks floated on a bath and combed, as on old endpapers.
func drawMarble(s *sketch) error {
	s.vignette, s.grain = 0.08, 2.6
	inks := s.palette(
		[]rgb{rgbOf(0x123f4a), rgbOf(0x1f7a7a), rgbOf(0xe9dcc0), rgbOf(0xe0a45a), rgbOf(0xc2502c)},
		[]rgb{rgbOf(0x1a2448), rgbOf(0x3f5f9a), rgbOf(0xf0e6d6), rgbOf(0xd8a0a0), rgbOf(0x8a2f4a)},
		[]rgb{rgbOf(0x14241e), rgbOf(0x3f6a4a), rgbOf(0xefe6cc), rgbOf(0xc8b060), rgbOf(0x7a4a26)},
		[]rgb{rgbOf(0x1b1620), rgbOf(0x5a3f78), rgbOf(0xf2e2e6), rgbOf(0xe090a8), rgbOf(0xd8b05a)},
	)
	if s.dark() {
		for i, c := range inks {
			inks[i] = c.scale(0.75)
		}
	}
	m := &bath{
		s: s, scale: between(s.rnd, 0.9, 1.5), warp: between(s.rnd, 0.9, 1.4), veins: between(s.rnd, 1.7, 2.8),
		shift: between(s.rnd, 0, 99), turn: between(s.rnd, -0.6, 0.6), gold: inks[3].mix(rgbOf(0xf6dca0), 0.5),
		layer: make([]float64, s.w), relief: make([]float64, s.w),
	}
	// The order repeats back and forth, so that every border is a soft one.
	m.inks = gradient(inks[0], inks[1], inks[2], inks[3], inks[4], inks[3], inks[2], inks[1], inks[0])
	return s.rows(m.paint)
}

// bath is the folded field the inks float on.
type bath struct {
	s     *sketch
	inks  *ramp
	gold  rgb
	scale float64
	warp  float64
	veins float64
	shift float64
	turn  float64

	layer, relief []float64 // one row of each
}

// paint fills a row with pools of ink and the lines between them.
func (m *bath) paint(y int, row []rgb) {
	m.fold(float64(y))
	for x := range row {
		layer := m.layer[x]
		pool := (layer - math.Floor(layer)) * 8
		whole := math.Floor(pool)
		part := pool - whole
		// Steps with soft sides: flat pools, and a narrow blend between two.
		c := m.inks.at((whole + step(0.30, 0.70, part)) / 8).scale(1 + m.relief[x])
		if int(whole)%4 == 1 { // a thread of gold along some of the borders
			c = c.mix(m.gold, 0.55*step(0.10, 0.02, math.Abs(part-0.5)))
		}
		row[x] = c
	}
}

// fold bends noise by noise, twice. The finest folds are some pixels wide,
// so every second pixel is enough.
func (m *bath) fold(y float64) {
	n, u := m.s.n, m.s.unit
	at := func(x float64) (layer, relief float64) {
		px, py := x/u*m.scale+m.shift, y/u*m.scale
		px, py = px+m.turn*py, py-m.turn*px*0.3
		ax, ay := n.fbm(px, py, 2), n.fbm(px+5.2, py+1.3, 2)
		qx, qy := px+m.warp*1.9*ax, py+m.warp*1.9*ay
		bx, by := n.fbm(qx+1.7, qy+9.2, 2), n.fbm(qx+8.3, qy+2.8, 2)
		v := n.fbm(px+m.warp*1.6*bx, py+m.warp*1.6*by, 2)
		return v*m.veins + 0.7*bx, 0.16 * (ax + by)
	}
	left, leftRelief := at(0)
	for x := 0; x < len(m.layer); x += 2 {
		right, rightRelief := at(float64(x + 2))
		m.layer[x], m.relief[x] = left, leftRelief
		if x+1 < len(m.layer) {
			m.layer[x+1], m.relief[x+1] = (left+right)/2, (leftRelief+rightRelief)/2
		}
		left, leftRelief = right, rightRelief
	}
}
