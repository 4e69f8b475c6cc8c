package generate

import (
	"math/rand/v2"
	"slices"
)

// tones are the colours of a landscape in one light.
type tones struct {
	// sky goes from the top to the horizon.
	sky []rgb

	// glow is the light source and what it lights.
	glow rgb

	// far and near are the land, in the haze and at our feet.
	far, near rgb
}

// lights are the tones by mood; the seed chooses among them.
var lights = map[string][]tones{
	"dawn": {
		{[]rgb{hex(0x2b4570), hex(0x7c90c0), hex(0xf0b9a4), hex(0xffdcb8)}, hex(0xffd2a6), hex(0xbfa2b2), hex(0x0d1930)},
		{[]rgb{hex(0x2c5563), hex(0x86aeb4), hex(0xf2cfc0), hex(0xfbe6cf)}, hex(0xffe6c4), hex(0xaebcc0), hex(0x0e2630)},
		{[]rgb{hex(0x4a4a86), hex(0xa58dbb), hex(0xf0b3b5), hex(0xfcdcc6)}, hex(0xffd9c4), hex(0xc0a3bd), hex(0x1c1a3a)},
	},
	"day": {
		{[]rgb{hex(0x3671ad), hex(0x83b6dc), hex(0xd3e7ea), hex(0xf3f3e4)}, hex(0xfffbe8), hex(0xa9c5d6), hex(0x14364a)},
		{[]rgb{hex(0x4d86a0), hex(0x9fc8cc), hex(0xe6eedd), hex(0xf8f2dc)}, hex(0xfff6dc), hex(0xb2c9bf), hex(0x16403f)},
	},
	"dusk": {
		{[]rgb{hex(0x271d4c), hex(0x84477c), hex(0xec8260), hex(0xffc987)}, hex(0xffd79c), hex(0xb06a78), hex(0x180c28)},
		{[]rgb{hex(0x18234d), hex(0x64589a), hex(0xe08d8c), hex(0xffc8a0)}, hex(0xffd2b0), hex(0x8a719f), hex(0x10122f)},
		{[]rgb{hex(0x3a2a3f), hex(0xa2565a), hex(0xf09a52), hex(0xffdc98)}, hex(0xffe0a0), hex(0xb9755f), hex(0x1f0f18)},
	},
	"night": {
		{[]rgb{hex(0x060a1c), hex(0x12204a), hex(0x34508a), hex(0x6a86b4)}, hex(0xe4ecff), hex(0x30496f), hex(0x04070f)},
		{[]rgb{hex(0x0a0a20), hex(0x221f55), hex(0x5a4f94), hex(0x8f83ba)}, hex(0xfdf0d8), hex(0x484080), hex(0x070613)},
		{[]rgb{hex(0x04131c), hex(0x0c3242), hex(0x2b6470), hex(0x6a9c9c)}, hex(0xeef8ec), hex(0x2b5660), hex(0x030b10)},
	},
	"mist": {
		{[]rgb{hex(0xb9c9c6), hex(0xd3deda), hex(0xe6ebe4), hex(0xf2f0e6)}, hex(0xfff8ea), hex(0xb4c5bf), hex(0x14312f)},
		{[]rgb{hex(0x8fa3b2), hex(0xbac5cb), hex(0xddd9d2), hex(0xf0e6d8)}, hex(0xfff3dc), hex(0xa7b2b9), hex(0x25333e)},
		{[]rgb{hex(0xa9a6b8), hex(0xcbc5cf), hex(0xe6dcd8), hex(0xf3e9df)}, hex(0xfff0e2), hex(0xb3abbb), hex(0x2c2a3e)},
	},
	"neon": {
		{[]rgb{hex(0x0a0324), hex(0x3a0c68), hex(0xb01d8f), hex(0xff6fa0)}, hex(0xff8fd8), hex(0x6a2aa8), hex(0x090318)},
		{[]rgb{hex(0x020c24), hex(0x0c2a78), hex(0x1787c4), hex(0x63f0e0)}, hex(0xff6fc8), hex(0x2457b0), hex(0x03061a)},
	},
}

// light chooses tones for the mood the prompt names, or for one of those that
// suit the scene, and colours them as the prompt says.
func (s *sketch) light(suiting ...string) tones {
	if s.look.mood == "" {
		s.look.mood = pick(s.rnd, suiting...)
	}
	t := pick(s.rnd, lights[s.look.mood]...)
	first, second := s.tintPair()
	t.sky = s.tinted(slices.Clone(t.sky), first, 0.75) // scenes change their own copy
	t.far = s.tinted([]rgb{t.far}, first, 0.8)[0]
	t.near = s.tinted([]rgb{t.near}, first, 0.8)[0]
	t.glow = s.tinted([]rgb{t.glow}, second, 0.4)[0]
	return t
}

// dark says whether the light is that of a night.
func (s *sketch) dark() bool { return s.look.mood == "night" || s.look.mood == "neon" }

// tintPair gives the first colour asked for and the last, nil if none.
func (s *sketch) tintPair() (first, second *tint) {
	if n := len(s.look.tints); n > 0 {
		return &s.look.tints[0], &s.look.tints[n-1]
	}
	return nil, nil
}

// tinted gives the colours, pulled towards the tint if there is one.
func (s *sketch) tinted(colors []rgb, t *tint, k float64) []rgb {
	if t == nil {
		return colors
	}
	out := make([]rgb, len(colors))
	for i, c := range colors {
		out[i] = t.apply(c, k)
	}
	return out
}

// palette chooses one of the colour lists and colours it as the prompt says:
// the first half with the first colour, the rest with the second.
func (s *sketch) palette(choices ...[]rgb) []rgb {
	colors := choices[s.rnd.IntN(len(choices))]
	first, second := s.tintPair()
	half := (len(colors) + 1) / 2
	return append(s.tinted(colors[:half], first, 0.8), s.tinted(colors[half:], second, 0.8)...)
}

// shuffledHue turns a colour's hue a little, so that no two things have quite
// the same one.
func shuffledHue(rnd *rand.Rand, c rgb, by float64) rgb {
	lab := c.lab()
	lab.a += between(rnd, -by, by)
	lab.b += between(rnd, -by, by)
	return lab.rgb()
}
