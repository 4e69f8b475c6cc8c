package generate

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// The bodies are those that modules/api/api.py of AUTOMATIC1111's
// stable-diffusion-webui makes (TextToImageResponse, ProgressResponse and the
// error of api_middleware); FastAPI makes those of status 422.
const a1111Route = "POST /sdapi/v1/txt2img"

func a1111Of(c ServerConfig) Provider {
	c.Key = "me:" + testKey
	p, err := NewA1111(c)
	if err != nil {
		panic(err)
	}
	return p
}

func TestA1111(t *testing.T) {
	for name, image := range map[string]string{"base64": "aGk=", "a data URL": "data:image/png;base64,aGk="} {
		t.Run(name, func(t *testing.T) {
			s := newStandIn(t, map[string][]reply{a1111Route: {{200, "", `{"images":["` + image + `","Z3JpZA=="],"parameters":{"prompt":"x"},"info":"{\"seed\": 7, \"all_seeds\": [7], \"infotexts\": [\"x\"]}"}`}}})
			out, _, err := through(t, a1111Of(s.config()), Request{ID: "r1", Prompt: "x", NegativePrompt: "y", N: 1, Width: 512, Height: 768, Seed: 7, HasSeed: true,
				Params: map[string]any{"steps": 20.0, "quality": "high"}})
			wantOutputs(t, out, err, got{Body: "hi", Seed: 7})
			body := s.json(t, a1111Route)
			if body["seed"] != 7.0 || body["steps"] != 20.0 || body["force_task_id"] != "r1" || body["batch_size"] != 1.0 || body["n_iter"] != 1.0 || body["quality"] != nil || body["override_settings"] != nil {
				t.Errorf("sent %v", body)
			}
			if auth := s.heads[a1111Route].Get("Authorization"); auth != "Basic bWU6a2V5LTVlY3JldA==" {
				t.Errorf("Authorization %q", auth)
			}
		})
	}
}

func TestA1111Checkpoints(t *testing.T) {
	s := newStandIn(t, map[string][]reply{a1111Route: {{200, "", `{"images":["aGk="],"info":"{}"}`}}})
	c := s.config()
	c.Models = []string{"sd_xl_base_1.0"}
	if _, _, err := through(t, a1111Of(c), Request{Model: "sd_xl_base_1.0", Prompt: "x", N: 1}); err != nil {
		t.Fatal(err)
	}
	if o := s.json(t, a1111Route)["override_settings"].(map[string]any); o["sd_model_checkpoint"] != "sd_xl_base_1.0" {
		t.Errorf("sent %v", o)
	}
}

func TestA1111StartsFromAnImage(t *testing.T) {
	const route = "POST /sdapi/v1/img2img"
	s := newStandIn(t, map[string][]reply{route: {{200, "", `{"images":["aGk="]}`}}})
	mask := aPicture("mask")
	if _, _, err := through(t, a1111Of(s.config()), Request{Prompt: "x", N: 1, Images: []Picture{aPicture("hi")}, Mask: &mask}); err != nil {
		t.Fatal(err)
	}
	body := s.json(t, route)
	if body["init_images"].([]any)[0] != "data:image/png;base64,aGk=" || !strings.HasPrefix(body["mask"].(string), "data:image/png;base64,") || body["inpainting_mask_invert"] != 1.0 {
		t.Errorf("sent %v", body)
	}
}

func TestA1111SortsErrors(t *testing.T) {
	checkFailures(t, a1111Route, append([]failure{
		{"bad field", reply{422, "", `{"detail":[{"loc":["body","width"],"msg":"value is not a valid integer","type":"type_error.integer"}]}`}, ReasonInvalidRequest, false, 0, "width: value is not a valid integer"},
		{"no such sampler", reply{404, "", `{"detail":"Sampler not found"}`}, ReasonProviderError, false, 0, "Sampler not found"},
		{"out of memory", reply{500, "", `{"error":"OutOfMemoryError","detail":"","body":"","errors":"CUDA out of memory. Tried to allocate 20.00 MiB"}`}, ReasonProviderError, false, 0, "CUDA out of memory"},
		{"wrong password", reply{401, "", `{"detail":"Incorrect username or password"}`}, ReasonAuth, false, 0, ""},
		{"no image", reply{200, "", `{"images":[],"parameters":{},"info":"{}"}`}, ReasonProviderError, false, 0, ""},
		{"a page", reply{200, "", `<html>`}, ReasonProviderError, false, 0, ""},
		{"an image cut short", reply{200, "Content-Length: 500", `{"images":["aGk`}, ReasonUnknownOutcome, false, 0, ""},
	}, broken...), a1111Of)
}

// Calling off stops the server's work, unless it is at somebody else's.
func TestA1111IsInterrupted(t *testing.T) {
	for name, test := range map[string]struct {
		progress string
		want     int32
	}{
		"its own work":                         {`{"active":true,"queued":false,"completed":false,"progress":0.3}`, 1},
		"not another's":                        {`{"active":false,"queued":true,"completed":false}`, 0},
		"where it does not know whose work is": {"", 1},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			var interrupted atomic.Int32
			mux := http.NewServeMux()
			mux.HandleFunc("POST /sdapi/v1/txt2img", func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				cancel()
				<-r.Context().Done()
			})
			mux.HandleFunc("POST /internal/progress", func(w http.ResponseWriter, r *http.Request) {
				if test.progress == "" {
					w.WriteHeader(http.StatusNotFound)
				}
				_, _ = io.WriteString(w, test.progress)
			})
			mux.HandleFunc("POST /sdapi/v1/interrupt", func(w http.ResponseWriter, r *http.Request) {
				interrupted.Add(1)
				_, _ = io.WriteString(w, "{}")
			})
			s := httptest.NewServer(mux)
			defer s.Close()
			_, err := a1111Of(ServerConfig{BaseURL: s.URL}).Generate(ctx, Request{ID: "r1", Prompt: "x"}, func(Output) error { return nil })
			wantError(t, err, failure{reason: ReasonUnknownOutcome})
			if n := interrupted.Load(); n != test.want {
				t.Errorf("interrupted %d times, want %d", n, test.want)
			}
		})
	}
}
