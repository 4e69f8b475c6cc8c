package generate

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"unicode/utf8"
)

// Limits of the demo provider.
const (
	demoMinSide   = 16
	demoMaxSide   = 4096
	demoSide      = 1024 // where the request names no size
	demoMaxN      = 10
	demoMaxPrompt = 4000

	// demoAtOnce bounds the memory: a picture of the largest size is 50 MB.
	demoAtOnce = 2
)

// Demo draws pictures itself, with no key and no network: scenes chosen and
// coloured by the prompt's words. The same prompt, seed and size always give
// the same bytes on one kind of machine (another CPU may round differently).
type Demo struct {
	slots chan struct{}
}

var _ Provider = (*Demo)(nil)

// NewDemo makes the provider. It draws two pictures at once at most, however
// many are asked for.
func NewDemo() *Demo {
	return &Demo{slots: make(chan struct{}, demoAtOnce)}
}

// Info describes the provider "demo" with its one model "demo".
func (d *Demo) Info() Info {
	return Info{
		Name:       "demo",
		Models:     []Model{{Name: "demo", MaxSide: demoMaxSide, MaxN: demoMaxN, MaxPrompt: demoMaxPrompt, Seed: true}},
		Repeatable: true,
	}
}

// Generate draws req.N pictures, one after the other; picture i has the seed
// req.Seed+i, so that any one of them can be made again alone. Without a seed
// it takes one at random and says which.
func (d *Demo) Generate(ctx context.Context, req Request, emit func(Output) error) (Task, error) {
	req, err := d.complete(req)
	if err != nil {
		return "", err
	}
	for i := range req.N {
		if err := d.one(ctx, req, i, emit); err != nil {
			return "", err
		}
	}
	return "", nil
}

// complete fills the defaults in and refuses what cannot be drawn.
func (d *Demo) complete(req Request) (Request, error) {
	req.N = cmp.Or(req.N, 1)
	req.Width = cmp.Or(req.Width, req.Height, demoSide)
	req.Height = cmp.Or(req.Height, req.Width)
	if !req.HasSeed {
		req.Seed = rand.Int64N(1 << 31)
	}
	invalid := func(format string, args ...any) (Request, error) {
		return req, &Error{Reason: ReasonInvalidRequest, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case req.Model != "" && req.Model != "demo":
		return req, &Error{Reason: ReasonModelMissing, Message: "The demo has one model, named demo."}
	case min(req.Width, req.Height) < demoMinSide || max(req.Width, req.Height) > demoMaxSide:
		return invalid("The demo draws sides from %d to %d pixels.", demoMinSide, demoMaxSide)
	case req.N < 1 || req.N > demoMaxN:
		return invalid("The demo draws 1 to %d images at a time.", demoMaxN)
	case utf8.RuneCountInString(req.Prompt) > demoMaxPrompt:
		return invalid("The demo reads prompts of up to %d characters.", demoMaxPrompt)
	}
	return req, nil
}

func (d *Demo) one(ctx context.Context, req Request, index int, emit func(Output) error) error {
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	seed := req.Seed + int64(index)
	s := newSketch(ctx, req.Prompt, seed, req.Width, req.Height)
	if err := scenes[s.look.scene](s); err != nil {
		return err
	}
	return emit(Output{Index: index, Seed: seed, Body: newPNGReader(s, req.Prompt, seed)})
}

// scene draws a whole picture. It fails only when the context ends.
type scene func(*sketch) error

// scenes are all that the demo can draw.
var scenes = map[string]scene{
	"ridges":     drawRidges,
	"dunes":      drawDunes,
	"moonrise":   drawMoonrise,
	"currents":   drawCurrents,
	"koi":        drawKoi,
	"lighthouse": drawLighthouse,
	"redsun":     drawRedSun,
	"aurora":     drawAurora,
	"pines":      drawPines,
	"planet":     drawPlanet,
	"city":       drawCity,
	"marble":     drawMarble,
}

// sceneOrder are the scenes that stand in where no word names one.
var sceneOrder = []string{
	"ridges", "currents", "moonrise", "dunes", "redsun", "aurora",
	"marble", "pines", "koi", "lighthouse", "planet", "city",
}
