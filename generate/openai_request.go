package generate

import (
	"fmt"
	"slices"
	"strings"
)

// defaultOpenAIModels are offered where nobody named any.
var defaultOpenAIModels = []string{"gpt-image-1", "gpt-image-1-mini", "gpt-image-1.5", "gpt-image-2", "dall-e-3", "dall-e-2"}

// family is a group of models that take the same fields.
type family struct {
	// prefixes of the model names; none: any other model.
	prefixes []string

	// limits hold for each model; its Name is left empty.
	limits Model

	// extra are settings passed on beside the options. Servers answer 400 to
	// one they do not know, so nothing else is. response_format never is: both
	// forms are understood, and what people get is for us to convert.
	extra []string

	// loose families are other servers' models: they get a seed and a
	// negative prompt as well, which OpenAI's own refuse.
	loose bool
}

// The further settings of the gpt-image models.
var (
	gptImageOptions = []Option{
		{Name: "quality", Values: []string{"auto", "low", "medium", "high"}},
		{Name: "output_format", Values: []string{"png", "jpeg", "webp"}},
		{Name: "output_compression", Min: 0, Max: 100},
		{Name: "background", Values: []string{"auto", "transparent", "opaque"}},
		{Name: "moderation", Values: []string{"auto", "low"}},
		{Name: "input_fidelity", Values: []string{"low", "high"}},
	}
	looseOptions = []Option{
		{Name: "style"}, {Name: "steps", Min: 1, Max: 150}, {Name: "num_inference_steps", Min: 1, Max: 150},
		{Name: "guidance_scale", Min: 0, Max: 30}, {Name: "cfg_scale", Min: 0, Max: 30},
	}
)

// gptImage are the limits of most gpt-image models.
var gptImage = Model{Sizes: []string{"1024x1024", "1536x1024", "1024x1536"}, AutoSize: true, MaxSide: 1536, MaxN: 10, MaxPrompt: 32000,
	MaxInputs: 16, MaxInputBytes: 50 << 20, InputTypes: []string{"image/png", "image/jpeg", "image/webp"}, Mask: true,
	MaxPartials: 3, BytesOnly: true, Options: gptImageOptions}

// gptImage2 are those of gpt-image-2, which makes nearly any size.
var gptImage2 = func() Model {
	m := gptImage
	m.Sizes, m.MaxSide, m.SideStep, m.MaxRatio = nil, 3840, 16, 3
	return m
}()

// families, the most special first. None of the gpt-image models takes
// response_format: it always answers b64_json and refuses the field.
var families = []family{
	{prefixes: []string{"gpt-image-2"}, limits: gptImage2},
	{prefixes: []string{"gpt-image", "chatgpt-image"}, limits: gptImage},
	{prefixes: []string{"dall-e-3"}, limits: Model{Sizes: []string{"1024x1024", "1792x1024", "1024x1792"}, MaxSide: 1792,
		MaxN: 10, PerCall: 1, MaxPrompt: 4000,
		Options: []Option{{Name: "quality", Values: []string{"standard", "hd"}}, {Name: "style", Values: []string{"vivid", "natural"}}}}},
	{prefixes: []string{"dall-e-2"}, limits: Model{Sizes: []string{"1024x1024", "512x512", "256x256"}, MaxSide: 1024, MaxN: 10, MaxPrompt: 1000,
		MaxInputs: 1, MaxInputBytes: 4 << 20, InputTypes: []string{"image/png"}, Mask: true}},
	{loose: true, limits: Model{MaxSide: 4096, MaxN: 10, MaxPrompt: 32000, NegativePrompt: true, Seed: true,
		MaxInputs: 16, MaxInputBytes: 50 << 20, Mask: true, Options: append(slices.Clone(gptImageOptions), looseOptions...)},
		extra: []string{"watermark"}},
}

// familyOf finds a model's family; gateways put their own name before the
// model's ("openai/gpt-image-1").
func familyOf(model string) family {
	name := model[strings.LastIndexByte(model, '/')+1:]
	for _, f := range families {
		if f.loose || slices.ContainsFunc(f.prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			return f
		}
	}
	return family{}
}

func openAIModels(names []string) []Model {
	if len(names) == 0 {
		names = defaultOpenAIModels
	}
	out := make([]Model, len(names))
	for i, name := range names {
		out[i] = familyOf(name).limits
		out[i].Name = name
	}
	return out
}

// fields are the JSON of a request: what its model's family takes, no more.
func (p *OpenAI) fields(req Request) map[string]any {
	model := req.Model
	if model == "" {
		model = p.models[0].Name
	}
	f := familyOf(model)
	out := map[string]any{"model": model, "prompt": req.Prompt, "n": req.N}
	if req.Width > 0 && req.Height > 0 {
		out["size"] = fmt.Sprintf("%dx%d", req.Width, req.Height)
	}
	if req.Partials > 0 && f.limits.MaxPartials > 0 {
		out["stream"], out["partial_images"] = true, min(req.Partials, f.limits.MaxPartials)
	}
	if req.User != "" {
		out["user"] = req.User
	}
	names := slices.Clone(f.extra)
	for _, o := range f.limits.Options {
		names = append(names, o.Name)
	}
	for _, name := range names {
		if v, ok := req.Params[name]; ok && v != nil && v != "" {
			out[name] = v
		}
	}
	if f.loose && req.HasSeed {
		out["seed"] = req.Seed
	}
	if f.loose && req.NegativePrompt != "" {
		out["negative_prompt"] = req.NegativePrompt
	}
	return out
}
