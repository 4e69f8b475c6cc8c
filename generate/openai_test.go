package generate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// openAIServer answers every call with handle and gives the provider for it.
func openAIServer(t *testing.T, handle http.HandlerFunc) *OpenAI {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	p, err := NewOpenAI(OpenAIConfig{BaseURL: server.URL, Key: "sk-secret-1234", Client: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// answering sends one body with a status.
func answering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// got is an output with its body read.
type got struct {
	Index              int
	URL, Body, Revised string
	Seed               int64
	Reason, Message    string
	Partial            bool
	PartialIndex       int
	Progress           float64
}

func collect(t *testing.T, p Provider, req Request) ([]got, error) {
	t.Helper()
	var out []got
	_, err := p.Generate(t.Context(), req, func(o Output) error {
		g := got{Index: o.Index, URL: o.URL, Revised: o.RevisedPrompt, Seed: o.Seed}
		if o.Err != nil {
			g.Reason = o.Err.Reason
		}
		if o.Body != nil {
			data, err := io.ReadAll(o.Body)
			if err != nil {
				return err
			}
			g.Body = string(data)
		}
		out = append(out, g)
		return nil
	})
	return out, err
}

func TestOpenAISendsWhatTheModelTakes(t *testing.T) {
	everything := map[string]any{"quality": "high", "style": "vivid", "response_format": "url", "background": "opaque",
		"output_format": "webp", "output_compression": 80, "moderation": "low", "steps": 20, "unknown": true}
	for _, test := range []struct {
		model  string
		fields []string // beside model, prompt, n, size and user
	}{
		{"gpt-image-1", []string{"background", "moderation", "output_compression", "output_format", "quality"}},
		{"gpt-image-2-2026-04-21", []string{"background", "moderation", "output_compression", "output_format", "quality"}},
		{"chatgpt-image-latest", []string{"background", "moderation", "output_compression", "output_format", "quality"}},
		{"gateway/gpt-image-1-mini", []string{"background", "moderation", "output_compression", "output_format", "quality"}},
		{"dall-e-3", []string{"quality", "style"}},
		{"dall-e-2", nil},
		{"flux-schnell", []string{"background", "moderation", "negative_prompt", "output_compression", "output_format", "quality", "seed", "steps", "style"}},
	} {
		t.Run(test.model, func(t *testing.T) {
			var sent map[string]any
			p := openAIServer(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != "POST" || r.URL.Path != "/v1/images/generations" {
					t.Errorf("asked %s %s", r.Method, r.URL)
				}
				if auth := r.Header.Get("Authorization"); auth != "Bearer sk-secret-1234" {
					t.Errorf("Authorization %q", auth)
				}
				if key := r.Header.Get("Idempotency-Key"); key != "" {
					t.Errorf("Idempotency-Key %q lets net/http send it twice", key)
				}
				if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
					t.Error(err)
				}
				answering(200, `{"created":1,"data":[{"b64_json":"aGk="}]}`)(w, r)
			})
			_, err := collect(t, p, Request{Model: test.model, Prompt: "灯塔", NegativePrompt: "rain", N: 1,
				Width: 1024, Height: 1536, Seed: 0, HasSeed: true, User: "u1", Params: everything})
			if err != nil {
				t.Fatal(err)
			}
			want := append([]string{"model", "n", "prompt", "size", "user"}, test.fields...)
			slices.Sort(want)
			if keys := slices.Sorted(maps.Keys(sent)); !slices.Equal(keys, want) {
				t.Errorf("sent %v, want %v", keys, want)
			}
			if sent["size"] != "1024x1536" || sent["prompt"] != "灯塔" || sent["n"] != 1.0 || sent["model"] != test.model {
				t.Errorf("sent %v", sent)
			}
		})
	}
}

func TestOpenAIGivesTheKeyToNobodyElse(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a redirect was followed, Authorization %q", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	p := openAIServer(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/?token=abc", http.StatusTemporaryRedirect)
	})
	_, err := collect(t, p, Request{Prompt: "x"})
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Reason != ReasonProviderError || !strings.Contains(e.Detail, "OPENAI_BASE_URL") || strings.Contains(e.Error(), "abc") {
		t.Errorf("got %v", err)
	}
}

func TestOpenAIBaseURL(t *testing.T) {
	for _, test := range []struct{ base, endpoint, origin string }{
		{"", "https://api.openai.com/v1/images/generations", "https://api.openai.com"},
		{"https://api.openai.com", "https://api.openai.com/v1/images/generations", "https://api.openai.com"},
		{"https://api.openai.com/", "https://api.openai.com/v1/images/generations", "https://api.openai.com"},
		{"https://api.openai.com/v1/", "https://api.openai.com/v1/images/generations", "https://api.openai.com"},
		{"https://API.example:443/v1", "https://API.example:443/v1/images/generations", "https://api.example"},
		{"http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/images/generations", "http://127.0.0.1:8080"},
		{"http://[::1]:80/v1", "http://[::1]:80/v1/images/generations", "http://[::1]"},
		{"https://ark.example/api/v3", "https://ark.example/api/v3/images/generations", "https://ark.example"},
		{"https://g.example/v1beta/openai/", "https://g.example/v1beta/openai/images/generations", "https://g.example"},
		{"https://gw.example/openai", "https://gw.example/openai/v1/images/generations", "https://gw.example"},
		{"https://gw.example/v1/images/generations", "https://gw.example/v1/images/generations", "https://gw.example"},
	} {
		t.Run(test.base, func(t *testing.T) {
			p, err := NewOpenAI(OpenAIConfig{BaseURL: test.base})
			if err != nil {
				t.Fatal(err)
			}
			info := p.Info()
			if p.api.base+"/images/generations" != test.endpoint || !slices.Equal(info.Origins, []string{test.origin}) || info.TTL != time.Hour || info.Repeatable {
				t.Errorf("got %s, %+v", p.api.base, info)
			}
		})
	}
	for _, bad := range []string{"ftp://x", "api.openai.com", "https://", "https://user:pw@host", "https://h/v1?key=1", "https://h\n"} {
		t.Run(fmt.Sprintf("refuses %q", bad), func(t *testing.T) {
			if _, err := NewOpenAI(OpenAIConfig{BaseURL: bad}); err == nil || !strings.Contains(err.Error(), "OPENAI_BASE_URL") || strings.Contains(err.Error(), "pw") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOpenAIModels(t *testing.T) {
	p, err := NewOpenAI(OpenAIConfig{Models: []string{"dall-e-3", "flux"}})
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := p.Info().Model(""); !ok || m.Name != "dall-e-3" || m.PerCall != 1 || m.MaxPrompt != 4000 {
		t.Errorf("got %+v", m)
	}
	if m, ok := p.Info().Model("flux"); !ok || len(m.Sizes) != 0 || m.MaxN != 10 {
		t.Errorf("got %+v", m)
	}
	if _, ok := p.Info().Model("other"); ok {
		t.Error("a model nobody offers was found")
	}
}
