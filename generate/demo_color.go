package generate

import "math"

// rgb is a colour with its parts from 0 to 1, gamma encoded as on a screen.
type rgb struct{ r, g, b float64 }

// rgbOf makes a colour from 0xRRGGBB.
func rgbOf(v uint32) rgb {
	return rgb{float64(v>>16&255) / 255, float64(v>>8&255) / 255, float64(v&255) / 255}
}

// mix goes from c (t = 0) to d (t = 1).
func (c rgb) mix(d rgb, t float64) rgb {
	return rgb{c.r + (d.r-c.r)*t, c.g + (d.g-c.g)*t, c.b + (d.b-c.b)*t}
}

// scale makes the colour k times as bright.
func (c rgb) scale(k float64) rgb { return rgb{c.r * k, c.g * k, c.b * k} }

// screen adds light of colour d and strength k without ever burning out.
func (c rgb) screen(d rgb, k float64) rgb {
	return rgb{
		1 - (1-c.r)*(1-d.r*k),
		1 - (1-c.g)*(1-d.g*k),
		1 - (1-c.b)*(1-d.b*k),
	}
}

// oklab is a colour in Björn Ottosson's OKLab space, where a straight line
// between two colours looks even to the eye: no grey middle, no dark seam.
type oklab struct{ l, a, b float64 }

func (c rgb) lab() oklab {
	r, g, b := toLinear(c.r), toLinear(c.g), toLinear(c.b)
	l := math.Cbrt(0.4122214708*r + 0.5363325363*g + 0.0514459929*b)
	m := math.Cbrt(0.2119034982*r + 0.6806995451*g + 0.1073969566*b)
	s := math.Cbrt(0.0883024619*r + 0.2817188376*g + 0.6299787005*b)
	return oklab{
		0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
		1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
		0.0259040371*l + 0.7827717662*m - 0.8086757660*s,
	}
}

func (c oklab) rgb() rgb {
	l := c.l + 0.3963377774*c.a + 0.2158037573*c.b
	m := c.l - 0.1055613458*c.a - 0.0638541728*c.b
	s := c.l - 0.0894841775*c.a - 1.2914855480*c.b
	l, m, s = l*l*l, m*m*m, s*s*s
	return rgb{
		toGamma(4.0767416621*l - 3.3077115913*m + 0.2309699292*s),
		toGamma(-1.2684380046*l + 2.6097574011*m - 0.3413193965*s),
		toGamma(-0.0041960863*l - 0.7034186147*m + 1.7076147010*s),
	}
}

func toLinear(v float64) float64 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

func toGamma(v float64) float64 {
	v = clamp(v, 0, 1)
	if v <= 0.0031308 {
		return v * 12.92
	}
	return 1.055*math.Pow(v, 1/2.4) - 0.055
}

// tint is a colour word: a hue in OKLab degrees, or none at all (grey).
type tint struct {
	hue    float64
	chroma float64
}

// apply pulls c towards the tint by k and keeps its lightness, so that a red
// night stays a night.
func (t tint) apply(c rgb, k float64) rgb {
	lab := c.lab()
	chroma := t.chroma
	if chroma > 0 {
		chroma = max(math.Hypot(lab.a, lab.b), chroma)
		// Very dark and very light colours cannot be that strong.
		chroma *= clamp(4*lab.l*(1.08-lab.l), 0.15, 1)
	}
	sin, cos := math.Sincos(t.hue * math.Pi / 180)
	lab.a += (chroma*cos - lab.a) * k
	lab.b += (chroma*sin - lab.b) * k
	return lab.rgb()
}

// ramp is a smooth row of colours, ready to be read for every pixel.
type ramp [513]rgb

// gradient spreads the colours evenly over a ramp.
func gradient(colors ...rgb) *ramp {
	labs := make([]oklab, len(colors))
	for i, c := range colors {
		labs[i] = c.lab()
	}
	var out ramp
	last := len(labs) - 1
	for i := range out {
		pos := float64(i) / float64(len(out)-1) * float64(last)
		k := min(int(pos), max(last-1, 0))
		t := pos - float64(k)
		// Half of an S-curve: soft at the stops, with no visible bends.
		t = (t + smooth(t)) / 2
		a, b := labs[k], labs[min(k+1, last)]
		out[i] = oklab{a.l + (b.l-a.l)*t, a.a + (b.a-a.a)*t, a.b + (b.b-a.b)*t}.rgb()
	}
	return &out
}

// at reads the ramp at t from 0 to 1; outside, its ends go on.
func (r *ramp) at(t float64) rgb {
	pos := clamp(t, 0, 1) * float64(len(r)-1)
	k := min(int(pos), len(r)-2)
	return r[k].mix(r[k+1], pos-float64(k))
}

// clamp keeps v from low to high. Written out: min and max ask about NaN, and
// this runs for every pixel.
func clamp(v, low, high float64) float64 {
	if v < low {
		return low
	}
	if v > high {
		return high
	}
	return v
}

// smooth is the S-curve from 0 to 1.
func smooth(t float64) float64 { return t * t * (3 - 2*t) }

// step rises softly from 0 at a to 1 at b; with a > b it falls.
func step(a, b, v float64) float64 { return smooth(clamp((v-a)/(b-a), 0, 1)) }

// lerp goes from a to b.
func lerp(a, b, t float64) float64 { return a + (b-a)*t }
