package generate

import "math"

// house is one block of flats. Lengths are in pixels.
type house struct {
	left, right, top float64
	cell             float64 // from window to window
	seed             uint32
	roof             float64
}

// block is one row of houses at the same distance.
type block struct {
	houses []house
	wall   rgb
	lit    float64 // the share of lit windows
	fade   rgb
	near   float64
}

// drawCity: blocks of flats at dusk, some windows lit.
func drawCity(s *sketch) error {
	t := s.light("dusk", "dusk", "night", "neon", "mist")
	horizon := s.fh * between(s.rnd, 0.62, 0.8)
	k := newSky(s, t, horizon)
	k.power, k.clouds = 0.45, between(s.rnd, 0, 0.4)
	moon := &disc{s: s, x: k.sunX, y: s.fh * between(s.rnd, 0.12, 0.28), r: s.unit * between(s.rnd, 0.05, 0.09), color: t.glow.mix(rgbOf(0xffffff), 0.4), maria: 0.8, spot: between(s.rnd, 0, 99)}
	var night *stars
	if s.dark() {
		night, k.sunY = newStars(s, horizon), moon.y
	}
	warm := s.palette([]rgb{rgbOf(0xffd98a), rgbOf(0xffb45e), rgbOf(0xfff0c8), rgbOf(0xa8d0e8)})
	if s.look.mood == "neon" {
		warm = s.palette([]rgb{rgbOf(0xff5fd0), rgbOf(0x4ff0ff), rgbOf(0xffd98a), rgbOf(0xa070ff)})
	}
	blocks := newBlocks(s, t, horizon)
	return s.rows(func(y int, row []rgb) {
		yy := float64(y)
		k.paint(yy, row)
		if night != nil {
			night.paint(yy, row)
		}
		if s.dark() {
			moon.paint(yy, row)
		}
		for i := range blocks {
			blocks[i].paint(s, warm, yy, row)
		}
	})
}

func newBlocks(s *sketch, t tones, horizon float64) []block {
	count := 4 + s.rnd.IntN(2)
	shades := gradient(t.far.mix(t.sky[2], 0.4), t.far.mix(t.near, 0.35), t.near.mix(t.far, 0.15))
	out := make([]block, count)
	for i := range out {
		near := float64(i) / float64(count-1)
		b := block{wall: shades.at(near), lit: lerp(0.14, 0.32, near), near: near, fade: t.sky[len(t.sky)-1].mix(shades.at(near), 0.35)}
		cell := s.unit * lerp(0.012, 0.036, near)
		base := lerp(horizon-s.unit*0.22, s.fh*0.86, near)
		for x := -s.unit * 0.1 * s.rnd.Float64(); x < s.fw; {
			wide := cell * float64(4+s.rnd.IntN(5))
			top := base - s.unit*lerp(0.10, 0.17, near)*between(s.rnd, -0.7, 1.5)
			b.houses = append(b.houses, house{
				left: x, right: x + wide, top: top, cell: cell, seed: s.rnd.Uint32(), roof: between(s.rnd, 0, 1),
			})
			x += wide + cell*pick(s.rnd, 0, 0, 0.4, 1.2)
		}
		out[i] = b
	}
	return out
}

func (b *block) paint(s *sketch, warm []rgb, yy float64, row []rgb) {
	for i := range b.houses {
		h := &b.houses[i]
		if yy < h.top-h.cell*3.2 {
			continue
		}
		if yy < h.top {
			h.mast(s, yy, b.wall, row)
		}
		if yy > h.top-1 {
			h.front(s, b, warm, yy, row)
		}
	}
}

// mast is what stands on the roof: an aerial, a tank or nothing.
func (h *house) mast(s *sketch, yy float64, wall rgb, row []rgb) {
	at, half, tall := lerp(h.left, h.right, 0.25+0.5*math.Mod(h.roof*7, 1)), h.cell*0.05, h.cell*3
	switch {
	case h.roof < 0.35:
		half, tall = h.cell*0.8, h.cell*0.9
	case h.roof > 0.65:
		return
	}
	if yy < h.top-tall {
		return
	}
	from, to := s.span(at, half+1)
	for x := from; x < to; x++ {
		cover := clamp(half-math.Abs(float64(x)-at)+0.5, 0, 1)
		row[x] = row[x].mix(wall.scale(0.92), cover)
	}
}

// front covers the row with the house's wall and its windows.
func (h *house) front(s *sketch, b *block, warm []rgb, yy float64, row []rgb) {
	down := yy - h.top
	over := clamp(down+0.5, 0, 1)
	fade := clamp(down/(s.unit*0.5), 0, 1) * 0.5 * (1 - b.near)
	for x := max(int(h.left), 0); x < min(int(h.right)+1, len(row)); x++ {
		fx := float64(x)
		cover := over * clamp(h.right-fx, 0, 1) * clamp(fx-h.left+1, 0, 1)
		side := (fx - h.left) / (h.right - h.left)
		c := b.wall.scale(1.06 - 0.16*side)
		if down < h.cell*0.22 {
			c = c.scale(1.14)
		}
		c = h.window(c, b, warm, fx-h.left, down-h.cell*0.6)
		row[x] = row[x].mix(c.mix(b.fade, fade), cover)
	}
}

// window is the wall's colour c, or a window's: dark, lit, or lit with the
// blind half down.
func (h *house) window(c rgb, b *block, warm []rgb, x, y float64) rgb {
	if y < 0 {
		return c
	}
	u, v := x/h.cell-0.5, y/(h.cell*1.25)
	col, line := math.Floor(u), math.Floor(v)
	if col < 0 || u > math.Floor((h.right-h.left)/h.cell-1) {
		return c
	}
	du, dv := (u-col-0.5)*h.cell, (v-line-0.5)*h.cell*1.25
	cover := clamp(h.cell*0.28-math.Abs(du)+0.5, 0, 1) * clamp(h.cell*0.36-math.Abs(dv)+0.5, 0, 1)
	bits := hash32(uint32(col), uint32(line), h.seed)
	glass := b.wall.scale(0.78)
	if float64(bits&0xFFFF)/65536 < b.lit {
		glass = warm[bits>>16&3%uint32(len(warm))].scale(0.74 + 0.26*float64(bits>>20&15)/15)
		if bits>>24&3 == 0 && dv < 0 {
			glass = glass.mix(b.wall, 0.4)
		}
		glass = glass.mix(b.fade, 0.45*(1-b.near))
	}
	return c.mix(glass, cover)
}
