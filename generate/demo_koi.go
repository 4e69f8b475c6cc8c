package generate

import "math"

// koi is one fish seen from above: a bent spine with a body around it.
type koi struct {
	s      *sketch
	spine  [koiJoints][2]float64 // from the nose to the tip of the tail, in pixels
	size   float64               // length in pixels
	fat    float64               // half the width at the shoulders, in pixels
	base   rgb
	patch  rgb
	spots  rgb
	much   float64 // how much of it is patched
	row    float64 // where in the noise its pattern is
	neon   bool
	top    float64 // the rows it is on
	bottom float64
}

const koiJoints = 20

// newKoi makes a fish of the given length at a place, heading an angle and
// bent by bend radians over its length.
func newKoi(s *sketch, x, y, heading, bend, size float64, colors []rgb) *koi {
	k := &koi{
		s: s, size: size, fat: size * between(s.rnd, 0.098, 0.118), row: between(s.rnd, 0, 200),
		base: colors[0], patch: colors[1], spots: colors[2], much: between(s.rnd, -0.12, 0.2),
		neon: s.look.mood == "neon",
	}
	sway := between(s.rnd, 0.5, 0.9) * pick(s.rnd, -1.0, 1.0)
	angle, length := heading-bend/2, size/(koiJoints-1)
	x, y = x+math.Cos(heading)*size*0.45, y+math.Sin(heading)*size*0.45
	k.top, k.bottom = y, y
	for i := range k.spine {
		k.spine[i] = [2]float64{x, y}
		k.top, k.bottom = min(k.top, y), max(k.bottom, y)
		t := float64(i) / (koiJoints - 1)
		a := angle + bend*t + sway*t*t*math.Sin(t*4.2)
		x, y = x-math.Cos(a)*length, y-math.Sin(a)*length
	}
	pad := k.fat * 3.2
	k.top, k.bottom = k.top-pad, k.bottom+pad
	return k
}

// locate gives where a point is on the fish: t from the nose (0) to the tail
// (1), and the distance to the spine, negative on the one side.
func (k *koi) locate(px, py float64) (t, d float64) {
	near, nearest := 0, math.Inf(1)
	for i := range k.spine {
		if d2 := sq(px-k.spine[i][0]) + sq(py-k.spine[i][1]); d2 < nearest {
			near, nearest = i, d2
		}
	}
	best, side := math.Inf(1), 1.0
	for i := max(near-1, 0); i <= min(near, koiJoints-2); i++ { // the bones on both sides of the joint
		a, b := &k.spine[i], &k.spine[i+1]
		dx, dy := b[0]-a[0], b[1]-a[1]
		qx, qy := px-a[0], py-a[1]
		u := clamp((qx*dx+qy*dy)/(dx*dx+dy*dy), 0, 1)
		if d2 := sq(qx-u*dx) + sq(qy-u*dy); d2 < best {
			best, t = d2, (float64(i)+u)/(koiJoints-1)
			side = dx*qy - dy*qx
		}
	}
	return t, math.Copysign(math.Sqrt(best), side)
}

// extent gives the pixels of a row that are within reach of the spine.
func (k *koi) extent(yy, reach float64) (from, to int) {
	left, right := k.s.fw, 0.0
	for _, j := range k.spine {
		if math.Abs(j[1]-yy) < reach+k.size/koiJoints {
			left, right = min(left, j[0]-reach), max(right, j[0]+reach)
		}
	}
	return max(int(left), 0), min(int(right)+1, k.s.w)
}

// girth is half the width of the body at t.
func (k *koi) girth(t float64) float64 {
	if t < 0.26 {
		return k.fat * math.Pow(t/0.26, 0.52)
	}
	return k.fat * (1 - 0.80*step(0.22, 0.82, t))
}

// shadow darkens the ground under the fish; the light comes from the top left.
func (k *koi) shadow(yy float64, water rgb, row []rgb) {
	off := k.size * 0.075
	if yy-off < k.top || yy-off > k.bottom {
		return
	}
	soft := k.fat * 0.7
	from, to := k.extent(yy-off, k.fat*1.8)
	for x := max(from+int(off*0.7), 0); x < min(to+int(off*0.7)+1, len(row)); x++ {
		t, d := k.locate(float64(x)-off*0.7, yy-off)
		dark := step(soft, -soft, math.Abs(d)-max(k.girth(min(t, 0.85)), k.fat*0.1))
		row[x] = row[x].mix(water, 0.6*dark*step(1, 0.86, t))
	}
}

// paint covers the row with fins, tail and body, in this order.
func (k *koi) paint(yy float64, row []rgb) {
	if yy < k.top || yy > k.bottom {
		return
	}
	from, to := k.extent(yy, k.fat*2.4)
	for x := from; x < to; x++ {
		t, d := k.locate(float64(x), yy)
		side := math.Abs(d)
		if side > k.fat*2.4 {
			continue
		}
		c := row[x]
		if k.neon {
			out := max(side-k.girth(t), 0) / k.fat
			c = c.screen(k.patch, 0.42*math.Exp(-out*2.2)*step(1, 0.9, t))
		}
		c = k.fins(c, t, side)
		c = k.tail(c, t, side)
		if cover := clamp(k.girth(t)-side+0.5, 0, 1); cover > 0 && t > 0 && t < 0.86 {
			c = c.mix(k.skin(t, d), cover*step(0.86, 0.80, t))
		}
		row[x] = c
	}
}

// fins are two pairs of thin fans that stand off the body.
func (k *koi) fins(c rgb, t, side float64) rgb {
	for _, fin := range [2][3]float64{{0.27, 1.15, 0.13}, {0.55, 0.6, 0.08}} {
		out := (side - k.girth(t)*0.6) / (k.fat * fin[1])
		if out < 0 || out > 1.1 {
			continue
		}
		along := (t - fin[0] - 0.10*out) / (fin[2] * (0.35 + 0.65*out))
		edge := 1 - along*along - out*out*0.9
		rays := 0.75 + 0.25*math.Sin(along*16)
		c = c.mix(k.base.mix(k.patch, 0.25), clamp(edge*5, 0, 1)*0.52*rays)
	}
	return c
}

// tail is a forked fan.
func (k *koi) tail(c rgb, t, side float64) rgb {
	if t < 0.74 {
		return c
	}
	open := (t - 0.74) / 0.26
	half := k.fat * (0.16 + 0.95*math.Pow(open, 1.15))
	u := side / half
	end := 1 - 0.34*(1-u*u)*0.8
	cover := clamp((half-side)*0.5+0.5, 0, 1) * step(end, end-0.14, open)
	rays := 0.7 + 0.3*math.Sin(u*15)
	return c.mix(k.base.mix(k.patch, 0.3+0.3*open), cover*0.62*rays)
}

// skin is the colour of the body: patches on a pale ground, rounded by light.
func (k *koi) skin(t, d float64) rgb {
	w := max(k.girth(t), 0.5)
	u := d / w
	n := k.s.n
	red := n.fbm(t*3.4+k.row, u*0.55+k.row, 3) + k.much
	c := k.base.mix(k.patch, step(-0.015, 0.035, red))
	black := n.fbm(t*6+k.row+70, u*0.9, 3) - 0.20
	c = c.mix(k.spots, step(0, 0.05, black)*0.92)
	scales := math.Sin(t*150)*math.Sin(u*7+math.Floor(t*24)*math.Pi) + 0.5*n.at(t*60, u*6)
	c = c.scale(1.04 - 0.34*u*u - 0.10*u + 0.02*scales*step(0.14, 0.24, t))
	c = c.mix(k.spots, 0.16*math.Exp(-u*u*220)*step(0.2, 0.3, t)) // the ridge of the back
	c = c.screen(rgbOf(0xffffff), 0.22*math.Exp(-sq(u+0.32)*16)*step(0.02, 0.12, t)*step(0.8, 0.5, t))
	eye := sq((t-0.075)*k.size) + sq((math.Abs(u)-0.74)*w)
	return c.mix(rgbOf(0x14110f), step(1.6, 0.7, math.Sqrt(eye)/(k.fat*0.1)))
}
