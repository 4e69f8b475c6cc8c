package generate

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strings"
)

// replicateModel is a model and the names of its inputs, which differ from one
// to the next.
type replicateModel struct {
	limits Model
	count  string // its name for the number of images; empty: one a call
	image  string // for an image to start from
	many   bool   // that takes a list of them
	aspect bool   // its size is a ratio, not pixels
}

// aspectSizes stand for the ratios that most models take.
var aspectSizes = []string{"1024x1024", "1344x768", "768x1344", "1216x832", "832x1216", "1152x896", "896x1152", "1536x640", "640x1536"}

// aspectRatios are what a size is sent as.
var aspectRatios = map[string]float64{"1:1": 1, "16:9": 16. / 9, "9:16": 9. / 16, "3:2": 1.5, "2:3": 2. / 3,
	"4:3": 4. / 3, "3:4": .75, "5:4": 1.25, "4:5": .8, "21:9": 21. / 9, "9:21": 9. / 21}

var (
	replicateFormat = Option{Name: "output_format", Values: []string{"webp", "jpg", "png"}}
	replicateSteps  = Option{Name: "num_inference_steps", Min: 1, Max: 50}
	replicateGuide  = Option{Name: "guidance", Min: 0, Max: 10}
	replicateSafety = Option{Name: "safety_tolerance", Min: 1, Max: 6}
	inputBytes      = int64(20 << 20)
)

// replicateKnown are the models that are offered where nobody named any, the
// first being the default.
var replicateKnown = []replicateModel{
	{limits: Model{Name: "black-forest-labs/flux-schnell", Sizes: aspectSizes, MaxN: 10, PerCall: 4, MaxPrompt: 5000, Seed: true,
		Options: []Option{replicateFormat, {Name: "num_inference_steps", Min: 1, Max: 4}}}, count: "num_outputs", aspect: true},
	{limits: Model{Name: "black-forest-labs/flux-dev", Sizes: aspectSizes, MaxN: 10, PerCall: 4, MaxPrompt: 5000, Seed: true, MaxInputs: 1, MaxInputBytes: inputBytes,
		Options: []Option{replicateFormat, replicateSteps, replicateGuide}}, count: "num_outputs", image: "image", aspect: true},
	{limits: Model{Name: "black-forest-labs/flux-1.1-pro", Sizes: aspectSizes, MaxN: 10, PerCall: 1, MaxPrompt: 5000, Seed: true, MaxInputs: 1, MaxInputBytes: inputBytes,
		Options: []Option{replicateFormat, replicateSafety}}, image: "image_prompt", aspect: true},
	{limits: Model{Name: "black-forest-labs/flux-kontext-pro", Sizes: aspectSizes, MaxN: 10, PerCall: 1, MaxPrompt: 5000, Seed: true, MaxInputs: 1, MaxInputBytes: inputBytes,
		Options: []Option{{Name: "output_format", Values: []string{"png", "jpg"}}, replicateSafety}}, image: "input_image", aspect: true},
	{limits: Model{Name: "stability-ai/stable-diffusion-3.5-large", Sizes: aspectSizes, MaxN: 10, PerCall: 1, MaxPrompt: 5000, Seed: true, NegativePrompt: true, MaxInputs: 1, MaxInputBytes: inputBytes,
		Options: []Option{replicateFormat, replicateSteps, {Name: "cfg", Min: 1, Max: 10}}}, image: "image", aspect: true},
	{limits: Model{Name: "stability-ai/sdxl", MaxSide: 1536, SideStep: 8, MaxN: 10, PerCall: 4, MaxPrompt: 5000, Seed: true, NegativePrompt: true, MaxInputs: 1, MaxInputBytes: inputBytes,
		Options: []Option{replicateSteps, {Name: "guidance_scale", Min: 1, Max: 50}}}, count: "num_outputs", image: "image"},
	{limits: Model{Name: "bytedance/seedream-4", Sizes: aspectSizes, MaxN: 10, PerCall: 1, MaxPrompt: 5000, MaxInputs: 10, MaxInputBytes: inputBytes,
		Options: []Option{{Name: "size", Values: []string{"2K", "1K", "4K"}}}}, image: "image_input", many: true, aspect: true},
	{limits: Model{Name: "google/imagen-4", Sizes: aspectSizes[:3], MaxN: 10, PerCall: 1, MaxPrompt: 5000,
		Options: []Option{{Name: "output_format", Values: []string{"jpg", "png"}}}}, aspect: true},
}

func replicateModels(names []string) (models []Model) {
	if len(names) == 0 {
		for _, m := range replicateKnown {
			models = append(models, m.limits)
		}
	}
	for _, name := range names {
		m := replicateModelOf(name).limits
		m.Name = name
		models = append(models, m)
	}
	return models
}

// replicateModelOf finds what is known of a model, which may name a version.
// Of others nothing is, so they get the prompt and what somebody set by name.
func replicateModelOf(name string) replicateModel {
	name, _, _ = strings.Cut(name, ":")
	for _, m := range replicateKnown {
		if m.limits.Name == name {
			return m
		}
	}
	return replicateModel{limits: Model{Name: name, Sizes: aspectSizes, MaxN: 10, PerCall: 1, Seed: true, MaxInputs: 1, MaxInputBytes: inputBytes}, image: "image", aspect: true}
}

// notInputs are params that mean something to us alone.
var notInputs = []string{"size", "seed", "revised_prompt", "n", "response_format", "user"}

func (p *Replicate) input(ctx context.Context, req Request) (map[string]any, error) {
	m := replicateModelOf(req.Model)
	input := maps.Clone(req.Params)
	if input == nil {
		input = map[string]any{}
	}
	for _, name := range notInputs {
		delete(input, name)
	}
	input["prompt"] = req.Prompt
	if req.NegativePrompt != "" && m.limits.NegativePrompt {
		input["negative_prompt"] = req.NegativePrompt
	}
	if req.HasSeed && m.limits.Seed {
		input["seed"] = req.Seed
	}
	if m.count != "" {
		input[m.count] = max(req.N, 1)
	}
	switch {
	case req.Width <= 0 || req.Height <= 0:
	case m.aspect:
		input["aspect_ratio"] = nearestRatio(float64(req.Width) / float64(req.Height))
	default:
		input["width"], input["height"] = req.Width, req.Height
	}
	return input, p.addImages(ctx, req, m, input)
}

// nearestRatio finds the ratio that a size comes nearest to.
func nearestRatio(want float64) (name string) {
	best := math.Inf(1)
	for ratio, value := range aspectRatios {
		if off := math.Abs(math.Log(value / want)); off < best || off == best && ratio < name {
			name, best = ratio, off
		}
	}
	return name
}

// addImages uploads the images to start from, which costs nothing, so that
// they may be large.
func (p *Replicate) addImages(ctx context.Context, req Request, m replicateModel, input map[string]any) error {
	var links []string
	for _, i := range req.Images {
		link, err := p.upload(ctx, i)
		if err != nil {
			return err
		}
		links = append(links, link)
	}
	switch {
	case len(links) == 0 || m.image == "":
	case m.many:
		input[m.image] = links
	default:
		input[m.image] = links[0]
	}
	if req.Mask == nil {
		return nil
	}
	link, err := p.upload(ctx, *req.Mask)
	input["mask"] = link
	return err
}

func (p *Replicate) upload(ctx context.Context, i Picture) (string, error) {
	form := newForm()
	form.file("content", i)
	body, length, contentType, err := form.done()
	if err != nil {
		return "", fmt.Errorf("make a form: %w", err)
	}
	var file struct {
		URLs struct {
			Get string `json:"get"`
		} `json:"urls"`
	}
	err = p.api.json(ctx, exchange{method: http.MethodPost, path: "/files", body: body, length: length,
		header: map[string]string{"Content-Type": contentType}}, nil, &file)
	if e, ok := err.(*Error); ok && e.Reason == ReasonUnknownOutcome {
		e.Reason, e.Retryable = ReasonProviderError, true // nothing was bought
	}
	if err == nil && file.URLs.Get == "" {
		err = &Error{Reason: ReasonProviderError, Detail: "the uploaded image has no address"}
	}
	return file.URLs.Get, err
}
