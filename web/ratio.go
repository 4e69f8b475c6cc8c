package web

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Styles cannot be written into a page (CSP), so the proportions of a tile are a class. There is one
// for each step of 1.8 % and for the usual sizes, so at most 1 % of an image is trimmed.
const narrowest, widest, step = 0.4, 2.5, 1.018

var usual = []float64{
	1, 1.5, 2. / 3, 16. / 9, 9. / 16, 4. / 3, 3. / 4, 5. / 4, 4. / 5, 2, 0.5, 1536. / 1024,
	1344. / 768, 768. / 1344, 1216. / 832, 832. / 1216, 1792. / 1024, 1024. / 1792,
}

// steps are all steps, ascending, to three digits.
var steps = ratios()

func ratios() []float64 {
	var all []float64
	add := func(r float64) { all = append(all, math.Round(r*1000)/1000) }
	for r := narrowest; r < widest; r *= step {
		add(r)
	}
	add(widest)
	for _, r := range usual {
		add(r)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ratioCSS is the rule for each step.
func ratioCSS() string {
	var css strings.Builder
	for _, r := range steps {
		fmt.Fprintf(&css, ".r-%d{--r:%g}", int(math.Round(r*1000)), r)
	}
	return css.String()
}

// RatioClass are the classes for the proportions of the tile: the nearest step; "r-wide" spans two
// columns on a phone; "r-odd" is beyond the steps and shown whole inside the nearest.
func (t Tile) RatioClass() string {
	if t.Width <= 0 || t.Height <= 0 {
		return "r-1000"
	}
	want := float64(t.Width) / float64(t.Height)
	nearest := slices.MinFunc(steps, func(a, b float64) int {
		return cmp.Compare(math.Abs(math.Log(a/want)), math.Abs(math.Log(b/want)))
	})
	class := fmt.Sprintf("r-%d", int(math.Round(nearest*1000)))
	if nearest >= 2 {
		class += " r-wide"
	}
	if want < narrowest/step || want > widest*step {
		class += " r-odd"
	}
	return class
}
