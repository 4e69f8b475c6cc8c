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

	// params are the settings passed on. Servers answer 400 to one they do
	// not know, so nothing else is.
	params []string

	// loose families are other servers' models: they get a seed and a
	// negative prompt as well, which OpenAI's own refuse.
	loose bool
}

var gptImageParams = []string{"quality", "output_format", "output_compression", "background", "moderation"}

// families, the most special first. None of the gpt-image models takes
// response_format: it always answers b64_json and refuses the field.
var families = []family{
	{prefixes: []string{"gpt-image-2"}, params: gptImageParams,
		limits: Model{MaxSide: 3840, MaxN: 10, MaxPrompt: 32000}},
	{prefixes: []string{"gpt-image", "chatgpt-image"}, params: gptImageParams,
		limits: Model{Sizes: []string{"1024x1024", "1536x1024", "1024x1536"}, MaxSide: 1536, MaxN: 10, MaxPrompt: 32000}},
	{prefixes: []string{"dall-e-3"}, params: []string{"quality", "style", "response_format"},
		limits: Model{Sizes: []string{"1024x1024", "1792x1024", "1024x1792"}, MaxSide: 1792, MaxN: 1, MaxPrompt: 4000}},
	{prefixes: []string{"dall-e-2"}, params: []string{"response_format"},
		limits: Model{Sizes: []string{"1024x1024", "512x512", "256x256"}, MaxSide: 1024, MaxN: 10, MaxPrompt: 1000}},
	{loose: true,
		params: append([]string{"style", "response_format", "steps", "num_inference_steps", "guidance_scale", "cfg_scale", "watermark"}, gptImageParams...),
		limits: Model{MaxSide: 4096, MaxN: 10, MaxPrompt: 32000}},
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
	if req.User != "" {
		out["user"] = req.User
	}
	for _, name := range f.params {
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
