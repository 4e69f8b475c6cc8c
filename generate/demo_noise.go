package generate

import (
	"math"
	"math/rand/v2"
)

// noise is gradient noise over a plane: the same for the same seed.
type noise struct {
	perm [512]uint8
}

func newNoise(rnd *rand.Rand) *noise {
	var n noise
	for i, v := range rnd.Perm(256) {
		n.perm[i] = uint8(v)
		n.perm[i+256] = uint8(v)
	}
	return &n
}

// directions are the slopes at the lattice points: sixteen around the circle,
// so that no axis shows.
var directions = func() (out [16][2]float64) {
	for i := range out {
		sin, cos := math.Sincos((float64(i) + 0.5) * math.Pi / 8)
		out[i] = [2]float64{cos, sin}
	}
	return out
}()

// at is the noise at a point, about -1 to 1, 0 on average.
func (n *noise) at(x, y float64) float64 {
	fx, fy := math.Floor(x), math.Floor(y)
	ix, iy := int(fx)&255, int(fy)&255
	x -= fx
	y -= fy
	u := x * x * x * (x*(x*6-15) + 10)
	v := y * y * y * (y*(y*6-15) + 10)
	left, right := int(n.perm[ix]), int(n.perm[(ix+1)&255])
	a := &directions[n.perm[left+iy]&15]
	b := &directions[n.perm[right+iy]&15]
	c := &directions[n.perm[left+iy+1]&15]
	d := &directions[n.perm[right+iy+1]&15]
	top := lerp(a[0]*x+a[1]*y, b[0]*(x-1)+b[1]*y, u)
	low := lerp(c[0]*x+c[1]*(y-1), d[0]*(x-1)+d[1]*(y-1), u)
	return lerp(top, low, v) * 1.5
}

// fbm sums octaves of noise, each half as strong and twice as fine.
func (n *noise) fbm(x, y float64, octaves int) float64 {
	sum, amp := 0.0, 0.5
	for range octaves {
		sum += amp * n.at(x, y)
		// Turned and shifted, so that the lattices do not line up.
		x, y = x*1.6+y*1.2+17.3, y*1.6-x*1.2+5.7
		amp *= 0.5
	}
	return sum
}

// line is fbm along one axis, for skylines; row keeps skylines apart.
// gain is how rough it is: 0.35 rolling, 0.55 craggy.
func (n *noise) line(x, row float64, octaves int, gain float64) float64 {
	sum, amp := 0.0, 1.0
	for range octaves {
		sum += amp * n.at(x, row)
		x = x*2.03 + 11.9
		row += 7.31
		amp *= gain
	}
	return sum * (1 - gain)
}

// hash32 scatters a point of the pixel grid: grain, stars, windows.
func hash32(x, y, seed uint32) uint32 {
	h := x*0x9E3779B1 ^ y*0x85EBCA77 ^ seed*0xC2B2AE3D
	h ^= h >> 15
	h *= 0x2C1B3C6D
	h ^= h >> 12
	h *= 0x297A2D39
	return h ^ h>>15
}

// between is a random number from a to b.
func between(rnd *rand.Rand, a, b float64) float64 { return a + (b-a)*rnd.Float64() }

// pick is one of the choices.
func pick[T any](rnd *rand.Rand, choices ...T) T { return choices[rnd.IntN(len(choices))] }
