package generate

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A1111 makes images on an AUTOMATIC1111 or Forge server, one at a time.
type A1111 struct {
	api    *api
	models []Model
}

var _ Provider = (*A1111)(nil)

// NewA1111 makes the provider "a1111". Key is "user:password" where the server
// runs with --api-auth. Models are names of checkpoints; default: "default",
// which is whatever the server has loaded.
func NewA1111(c ServerConfig) (*A1111, error) {
	login := c.Key
	if login != "" {
		c.Key = base64.StdEncoding.EncodeToString([]byte(login))
	}
	a, err := newAPI(c, "A1111_URL", "A1111_API_AUTH", "http://127.0.0.1:7860", "Basic ")
	if err != nil {
		return nil, err
	}
	if _, password, ok := strings.Cut(login, ":"); ok && password != "" {
		a.secrets = append(a.secrets, password)
	}
	p := &A1111{api: a}
	names := c.Models
	if len(names) == 0 {
		names = []string{a1111Default}
	}
	for _, name := range names {
		p.models = append(p.models, Model{Name: name, MaxSide: 2048, SideStep: 8, MaxN: 10, PerCall: 1, NegativePrompt: true, Seed: true,
			MaxInputs: 1, Mask: true, Options: []Option{{Name: "steps", Min: 1, Max: 150}, {Name: "cfg_scale", Min: 1, Max: 30},
				{Name: "sampler_name"}, {Name: "scheduler"}, {Name: "denoising_strength", Min: 0, Max: 1}}})
	}
	return p, nil
}

const a1111Default = "default"

// Info describes the provider.
func (p *A1111) Info() Info {
	return Info{Name: "a1111", Models: p.models, Origins: []string{p.api.origin}, Slots: 1}
}

// Generate makes one image a call: with several the server may put a grid
// before them, or maps behind, and nothing says which is which. The seed is
// chosen here, since the server tells its own only after the image.
func (p *A1111) Generate(ctx context.Context, req Request, emit func(Output) error) (Task, error) {
	seed := req.Seed
	if !req.HasSeed {
		seed = rand.Int64N(1 << 31)
	}
	fields, path, err := a1111Fields(req, seed)
	if err != nil {
		return "", err
	}
	stopWatching := p.watch(ctx, emit)
	answer, err := p.api.sendJSON(ctx, exchange{method: http.MethodPost, path: path}, fields)
	stopWatching()
	if err != nil {
		if ctx.Err() != nil {
			p.interrupt(context.WithoutCancel(ctx), req.ID)
		}
		return "", err
	}
	defer answer.Body.Close()
	err = readImages(answer.Body, p.api.maxBytes, func(o Output) error {
		o.Seed = seed
		return emit(o)
	})
	if e, ok := errors.AsType[*Error](err); ok && e == err { // ours, not emit's
		return "", p.api.clean(e)
	}
	return "", err
}

func a1111Fields(req Request, seed int64) (map[string]any, string, error) {
	out := map[string]any{"prompt": req.Prompt, "negative_prompt": req.NegativePrompt, "seed": seed,
		"batch_size": 1, "n_iter": 1, "send_images": true, "force_task_id": req.ID}
	if req.Width > 0 && req.Height > 0 {
		out["width"], out["height"] = req.Width, req.Height
	}
	for _, name := range []string{"steps", "cfg_scale", "sampler_name", "scheduler", "denoising_strength", "enable_hr", "hr_scale", "styles"} {
		if v, ok := req.Params[name]; ok && v != nil && v != "" {
			out[name] = v
		}
	}
	if req.Model != "" && req.Model != a1111Default {
		out["override_settings"] = map[string]any{"sd_model_checkpoint": req.Model}
	}
	if len(req.Images) == 0 {
		return out, "/sdapi/v1/txt2img", nil
	}
	images, err := dataURLs(req.Images[:1])
	if err != nil {
		return nil, "", err
	}
	out["init_images"] = images
	if req.Mask != nil {
		mask, err := dataURLs([]Picture{*req.Mask})
		if err != nil {
			return nil, "", err
		}
		// Here white is what changes; our masks are transparent there.
		out["mask"], out["inpainting_mask_invert"] = mask[0], 1
	}
	return out, "/sdapi/v1/img2img", nil
}

// watch asks how far the server is until it is told to stop.
func (p *A1111) watch(ctx context.Context, emit func(Output) error) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			var now struct {
				Progress float64 `json:"progress"`
			}
			err := p.api.ask(ctx, "/sdapi/v1/progress?skip_current_image=true", &now)
			if err == nil && now.Progress > 0 && emit(Output{Progress: min(now.Progress, 1)}) != nil {
				return
			}
		}
	})
	return func() { cancel(); watching.Wait() }
}

// interruptTime bounds the stopping of what runs.
const interruptTime = 5 * time.Second

// interrupt stops what the server is at, unless it says that this is not ours.
func (p *A1111) interrupt(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, interruptTime)
	defer cancel()
	now := struct {
		Active bool `json:"active"`
	}{true} // a server that does not know the question
	err := p.api.json(ctx, exchange{method: http.MethodPost, path: "/internal/progress"}, map[string]any{"id_task": id, "live_preview": false}, &now)
	if err == nil && !now.Active {
		return
	}
	_ = p.api.json(ctx, exchange{method: http.MethodPost, path: "/sdapi/v1/interrupt"}, nil, nil) // it runs on, then
}

// readImages hands over the first of {"images":["base64"…]}.
func readImages(body io.Reader, maxBytes int64, emit func(Output) error) error {
	a := &answerReader{json: newJSONStream(&limitedBody{r: body, left: maxBytes*2*4 + textLimit}), n: 1, emit: emit}
	err := a.json.object(func(key string) error {
		if key != "images" {
			return a.json.skip()
		}
		return a.json.array(func(index int) error {
			if index > 0 {
				return a.json.skip()
			}
			_, err := a.bytes(Output{})
			return err
		})
	})
	if err != nil {
		return answerError(err)
	}
	if a.made == 0 {
		return &Error{Reason: ReasonProviderError, Detail: fmt.Sprintf("the answer holds %d images", a.made)}
	}
	return nil
}
