package http_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"afterimage/records"
)

// imagesAnswer is what an OpenAI client reads of an answer.
type imagesAnswer struct {
	Created int64
	Size    string
	Data    []struct {
		URL        string
		B64JSON    []byte `json:"b64_json"`
		Afterimage struct{ ID, Status, SHA256, URL string }
	}
}

// openAIError is what an OpenAI client reads of an error.
type openAIError struct {
	Error struct {
		Message, Type string
		Param, Code   *string
	}
}

// failure reads an error in OpenAI's shape, after checking its form.
func (a answer) failure() (code, param string) {
	a.t.Helper()
	var e openAIError
	var raw struct{ Error map[string]any }
	a.into(&e)
	a.into(&raw)
	if a.Header.Get("Content-Type") != "application/json" || e.Error.Message == "" || e.Error.Type == "" || len(raw.Error) != 4 || a.Header.Get("X-Request-Id") == "" {
		a.t.Fatalf("%s is no error of OpenAI's: %v %s", a.Request.URL.Path, a.Header, firstBytes(a.body))
	}
	return deref(e.Error.Code), deref(e.Error.Param)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func TestOpenAIClientsGetTheirImages(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.works(append(w.generating(), w.archiving()...)...)
		ann := w.person("ann")
		p := w.program(w.key(ann, records.ScopeImagesWrite))
		ask := func(body string, headers ...string) (got imagesAnswer) {
			w.t.Helper()
			p.call("POST", "/v1/images/generations", body, headers...).wants(200).into(&got)
			return got
		}
		w.run("as permanent addresses that work at once", func(t *testing.T) {
			got := ask(`{"prompt":"a fox","n":2,"size":"64x64","unknown":{"field":[1]},"user":"u-1","quality":"high"}`)
			if len(got.Data) != 2 || got.Created == 0 || got.Size != "64x64" {
				t.Fatalf("the answer is %+v", got)
			}
			for _, d := range got.Data {
				picture := p.get(strings.TrimPrefix(d.URL, w.url)).wants(200)
				if d.B64JSON != nil || d.URL != d.Afterimage.URL || !strings.HasPrefix(picture.body, "\x89PNG") || d.Afterimage.SHA256 == "" {
					t.Errorf("an image is %+v", d)
				}
				if i := w.image(ann, d.Afterimage.ID); i.Params["user"] != "u-1" || i.Params["quality"] != "high" || i.Params["unknown"] != nil {
					t.Errorf("its params are %v", i.Params)
				}
			}
		})
		w.run("as bytes", func(t *testing.T) {
			got := ask(`{"prompt":"a fox","model":"demo","size":"auto","seed":7,"response_format":"b64_json"}`)
			d := got.Data[0]
			if !bytes.HasPrefix(d.B64JSON, []byte("\x89PNG")) || d.URL != "" || got.Size != "1024x1024" {
				t.Fatalf("the answer is %d bytes, %q, %s", len(d.B64JSON), d.URL, got.Size)
			}
			if picture := p.get("/img/" + d.Afterimage.ID).wants(200); picture.body != string(d.B64JSON) {
				t.Error("the permanent address has other bytes")
			}
		})
		w.run("as events", func(t *testing.T) {
			a := p.call("POST", "/v1/images/generations", `{"prompt":"a fox","size":"64x64","stream":true,"partial_images":2}`).wants(200)
			event, last, _ := strings.Cut(strings.TrimPrefix(a.body, "event: image_generation.completed\ndata: "), "\n\n")
			var e struct {
				Type    string
				B64JSON []byte `json:"b64_json"`
				Size    string
			}
			if err := json.Unmarshal([]byte(event), &e); err != nil {
				t.Fatalf("%v: %s", err, firstBytes(a.body))
			}
			if e.Type != "image_generation.completed" || e.Size != "64x64" || !bytes.HasPrefix(e.B64JSON, []byte("\x89PNG")) || last != "data: [DONE]\n\n" {
				t.Errorf("the stream is %s %s %q", e.Type, e.Size, last)
			}
			if a.Header.Get("Content-Type") != "text/event-stream" {
				t.Errorf("the type is %s", a.Header.Get("Content-Type"))
			}
		})
		w.run("once for one idempotency key", func(t *testing.T) {
			key := "Idempotency-Key: one"
			first, again := ask(`{"prompt":"a hen","size":"64x64"}`, key), ask(`{"size":"64x64","prompt":"a hen"}`, key)
			if first.Data[0].Afterimage.ID != again.Data[0].Afterimage.ID {
				t.Error("a repeat made another image")
			}
			a := p.call("POST", "/v1/images/generations", `{"prompt":"a wolf","size":"64x64"}`, key).wants(409)
			if code, _ := a.failure(); code != "idempotency_key_reused" || a.Header.Get("X-Should-Retry") != "false" {
				t.Errorf("another body is %s, retry %s", code, a.Header.Get("X-Should-Retry"))
			}
		})
	})
}

func TestModelsForOpenAIClients(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.program(w.key(w.person("ann"), records.ScopeImagesRead))
		for path, want := range map[string]string{
			"/v1/models":             `{"object":"list","data":[{"id":"demo/demo","object":"model","created":0,"owned_by":"demo"}]}`,
			"/v1/models/demo":        `{"id":"demo/demo","object":"model","created":0,"owned_by":"demo"}`,
			"/v1/models/demo%2Fdemo": `{"id":"demo/demo","object":"model","created":0,"owned_by":"demo"}`,
		} {
			if got := strings.TrimSpace(p.get(path).wants(200).body); got != want {
				t.Errorf("%s is %s", path, got)
			}
		}
		if code, param := p.get("/v1/models/none").wants(404).failure(); code != "model_not_found" || param != "model" {
			t.Errorf("an unknown model is %s %s", code, param)
		}
	})
}

func TestBadRequestsOfOpenAIClients(t *testing.T) {
	long := strings.Repeat("x", 5000)
	cases := []struct {
		name, body  string
		status      int
		code, param string
		says        string
	}{
		{"no prompt", `{}`, 400, "invalid_value", "prompt", "empty"},
		{"a prompt over the model's limit", `{"prompt":"` + long + `"}`, 400, "invalid_value", "prompt", "4000"},
		{"a prompt that is a list", `{"prompt":["a"]}`, 400, "invalid_value", "prompt", ""},
		{"an unknown model", `{"prompt":"a","model":"dall-e-9"}`, 404, "model_not_found", "model", "demo/demo"},
		{"an unknown model of a provider", `{"prompt":"a","model":"demo/none"}`, 404, "model_not_found", "model", "demo"},
		{"a size that the model lacks", `{"prompt":"a","size":"9000x9000"}`, 400, "invalid_value", "size", "4096"},
		{"n over the model's", `{"prompt":"a","n":11}`, 400, "invalid_value", "n", "10"},
		{"n = 0", `{"prompt":"a","n":0}`, 400, "invalid_value", "n", ""},
		{"half an image", `{"prompt":"a","n":1.5}`, 400, "invalid_value", "n", ""},
		{"an unknown form", `{"prompt":"a","response_format":"xml"}`, 400, "invalid_value", "response_format", "b64_json"},
		{"stream in words", `{"prompt":"a","stream":"perhaps"}`, 400, "invalid_value", "stream", ""},
		{"four unfinished pictures", `{"prompt":"a","stream":true,"partial_images":4}`, 400, "invalid_value", "partial_images", ""},
		{"no JSON", `prompt=a`, 400, "not_json", "", ""},
		{"a list", `[]`, 400, "not_json", "", ""},
		{"a body of 2 MB", `{"prompt":"` + strings.Repeat("x", 2<<20) + `"}`, 413, "body_too_large", "", ""},
	}
	each(t, func(t *testing.T, w *world) {
		p := w.program(w.key(w.person("ann"), records.ScopeImagesWrite))
		for _, c := range cases {
			w.run(c.name, func(t *testing.T) {
				a := p.call("POST", "/v1/images/generations", c.body).wants(c.status).has(c.says)
				if code, param := a.failure(); code != c.code || param != c.param {
					t.Errorf("the code is %s, the param %s", code, param)
				}
				if a.Header.Get("X-Should-Retry") != "false" {
					t.Error("a client would send it again")
				}
			})
		}
		w.run("an idempotency key of 10 KB", func(t *testing.T) {
			p.call("POST", "/v1/images/generations", `{"prompt":"a"}`, "Idempotency-Key: "+strings.Repeat("k", 10<<10)).wants(400).failure()
		})
		w.run("an address that is none", func(t *testing.T) {
			p.call("POST", "/v1/chat/completions", `{}`).wants(404).failure()
			p.call("POST", "/v1/images/variations", `{}`).wants(404).failure()
			p.get("/v1/images/generations").wants(405).failure()
		})
		w.nothingWasMade()
	})
}
