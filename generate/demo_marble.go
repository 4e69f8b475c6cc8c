package generate

import "math"

// drawMarble: inks floated on a bath and combed, as on old endpapers.
func drawMarble(s *sketch) error {
	s.vignette, s.grain = 0.08, 2.6
	inks := s.palette(
		[]rgb{hex(0x123f4a), hex(0x1f7a7a), hex(0xe9dcc0), hex(0xe0a45a), hex(0xc2502c)},
		[]rgb{hex(0x1a2448), hex(0x3f5f9a), hex(0xf0e6d6), hex(0xd8a0a0), hex(0x8a2f4a)},
		[]rgb{hex(0x14241e), hex(0x3f6a4a), hex(0xefe6cc), hex(0xc8b060), hex(0x7a4a26)},
		[]rgb{hex(0x1b1620), hex(0x5a3f78), hex(0xf2e2e6), hex(0xe090a8), hex(0xd8b05a)},
	)
	if s.dark() {
		for i, c := range inks {
			inks[i] = c.scale(0.75)
		}
	}
	m := &bath{
		s: s, scale: between(s.rnd, 1.1, 1.9), warp: between(s.rnd, 0.9, 1.5), veins: between(s.rnd, 3, 5.5),
		shift: between(s.rnd, 0, 99), turn: between(s.rnd, -0.6, 0.6), gold: inks[3].mix(hex(0xf6dca0), 0.5),
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
}

// paint fills a row: noise folded by noise twice, read as layers of ink.
func (m *bath) paint(y int, row []rgb) {
	n, u := m.s.n, m.s.unit
	for x := range row {
		px, py := float64(x)/u*m.scale+m.shift, float64(y)/u*m.scale
		px, py = px+m.turn*py, py-m.turn*px*0.3
		ax, ay := n.fbm(px, py, 2), n.fbm(px+5.2, py+1.3, 2)
		bx := n.fbm(px+m.warp*1.9*ax+1.7, py+m.warp*1.9*ay+9.2, 2)
		by := n.fbm(px+m.warp*1.9*ax+8.3, py+m.warp*1.9*ay+2.8, 2)
		v := n.fbm(px+m.warp*1.6*bx, py+m.warp*1.6*by, 2)
		layer := v*m.veins + 0.7*bx
		t := layer - math.Floor(layer)
		// Steps with soft sides: flat pools of ink and a thin line between.
		pool := t * 8
		flat := math.Floor(pool) + step(0.30, 0.70, pool-math.Floor(pool))
		c := m.inks.at(flat / 8)
		edge := math.Abs(pool - math.Floor(pool) - 0.5)
		relief := 1 + 0.16*(ax+by) + 0.05*(0.5-edge)
		c = c.scale(relief)
		if int(math.Floor(pool))%4 == 1 {
			c = c.mix(m.gold, 0.55*step(0.10, 0.02, edge))
		}
		row[x] = c
	}
}
