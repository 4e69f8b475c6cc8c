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
		{[]rgb{rgbOf(0x2b4570), rgbOf(0x7c90c0), rgbOf(0xf0b9a4), rgbOf(0xffdcb8)}, rgbOf(0xffd2a6), rgbOf(0xbfa2b2), rgbOf(0x0d1930)},
		{[]rgb{rgbOf(0x2c5563), rgbOf(0x86aeb4), rgbOf(0xf2cfc0), rgbOf(0xfbe6cf)}, rgbOf(0xffe6c4), rgbOf(0xaebcc0), rgbOf(0x0e2630)},
		{[]rgb{rgbOf(0x4a4a86), rgbOf(0xa58dbb), rgbOf(0xf0b3b5), rgbOf(0xfcdcc6)}, rgbOf(0xffd9c4), rgbOf(0xc0a3bd), rgbOf(0x1c1a3a)},
	},
	"day": {
		{[]rgb{rgbOf(0x3671ad), rgbOf(0x83b6dc), rgbOf(0xd3e7ea), rgbOf(0xf3f3e4)}, rgbOf(0xfffbe8), rgbOf(0xa9c5d6), rgbOf(0x14364a)},
		{[]rgb{rgbOf(0x4d86a0), rgbOf(0x9fc8cc), rgbOf(0xe6eedd), rgbOf(0xf8f2dc)}, rgbOf(0xfff6dc), rgbOf(0xb2c9bf), rgbOf(0x16403f)},
	},
	"dusk": {
		{[]rgb{rgbOf(0x271d4c), rgbOf(0x84477c), rgbOf(0xec8260), rgbOf(0xffc987)}, rgbOf(0xffd79c), rgbOf(0xb06a78), rgbOf(0x180c28)},
		{[]rgb{rgbOf(0x18234d), rgbOf(0x64589a), rgbOf(0xe08d8c), rgbOf(0xffc8a0)}, rgbOf(0xffd2b0), rgbOf(0x8a719f), rgbOf(0x10122f)},
		{[]rgb{rgbOf(0x3a2a3f), rgbOf(0xa2565a), rgbOf(0xf09a52), rgbOf(0xffdc98)}, rgbOf(0xffe0a0), rgbOf(0xb9755f), rgbOf(0x1f0f18)},
	},
	"night": {
		{[]rgb{rgbOf(0x060a1c), rgbOf(0x12204a), rgbOf(0x34508a), rgbOf(0x6a86b4)}, rgbOf(0xe4ecff), rgbOf(0x30496f), rgbOf(0x04070f)},
		{[]rgb{rgbOf(0x0a0a20), rgbOf(0x221f55), rgbOf(0x5a4f94), rgbOf(0x8f83ba)}, rgbOf(0xfdf0d8), rgbOf(0x484080), rgbOf(0x070613)},
		{[]rgb{rgbOf(0x04131c), rgbOf(0x0c3242), rgbOf(0x2b6470), rgbOf(0x6a9c9c)}, rgbOf(0xeef8ec), rgbOf(0x2b5660), rgbOf(0x030b10)},
	},
	"mist": {
		{[]rgb{rgbOf(0xb9c9c6), rgbOf(0xd3deda), rgbOf(0xe6ebe4), rgbOf(0xf2f0e6)}, rgbOf(0xfff8ea), rgbOf(0xb4c5bf), rgbOf(0x14312f)},
		{[]rgb{rgbOf(0x8fa3b2), rgbOf(0xbac5cb), rgbOf(0xddd9d2), rgbOf(0xf0e6d8)}, rgbOf(0xfff3dc), rgbOf(0xa7b2b9), rgbOf(0x25333e)},
		{[]rgb{rgbOf(0xa9a6b8), rgbOf(0xcbc5cf), rgbOf(0xe6dcd8), rgbOf(0xf3e9df)}, rgbOf(0xfff0e2), rgbOf(0xb3abbb), rgbOf(0x2c2a3e)},
	},
	"neon": {
		{[]rgb{rgbOf(0x0a0324), rgbOf(0x3a0c68), rgbOf(0xb01d8f), rgbOf(0xff6fa0)}, rgbOf(0xff8fd8), rgbOf(0x6a2aa8), rgbOf(0x090318)},
		{[]rgb{rgbOf(0x020c24), rgbOf(0x0c2a78), rgbOf(0x1787c4), rgbOf(0x63f0e0)}, rgbOf(0xff6fc8), rgbOf(0x2457b0), rgbOf(0x03061a)},
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
