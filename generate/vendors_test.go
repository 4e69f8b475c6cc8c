package generate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// standIn is a provider's server that gives the answers a test lists, in
// order, the last one again and again.
type standIn struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string // "POST /v1/predictions", in order
	sent  map[string][]byte
	heads map[string]http.Header
}

// reply is one answer: a status, headers as "Name: value", and a body. A
// status of 0 breaks the connection off.
type reply struct {
	status int
	header string
	body   string
}

// newStandIn answers each "METHOD /path" by its list. Whatever else is asked
// fails the test.
func newStandIn(t *testing.T, answers map[string][]reply) *standIn {
	t.Helper()
	s := &standIn{sent: map[string][]byte{}, heads: map[string]http.Header{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route := r.Method + " " + r.URL.Path
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.asked, s.sent[route], s.heads[route] = append(s.asked, route), body, r.Header
		list := answers[route]
		if len(list) > 1 {
			answers[route] = list[1:]
		}
		s.mu.Unlock()
		if len(list) == 0 {
			t.Errorf("asked %s", route)
			w.WriteHeader(http.StatusNotImplemented)
			return
		}
		list[0].write(w, s.URL)
	}))
	t.Cleanup(s.Close)
	return s
}

func (a reply) write(w http.ResponseWriter, base string) {
	if a.status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	if name, value, ok := strings.Cut(a.header, ": "); ok {
		w.Header().Set(name, value)
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, strings.ReplaceAll(a.body, "{base}", base))
}

func (s *standIn) times(route string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.asked {
		if a == route {
			n++
		}
	}
	return n
}

// json is what was sent last to a route.
func (s *standIn) json(t *testing.T, route string) map[string]any {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var v map[string]any
	if err := json.Unmarshal(s.sent[route], &v); err != nil {
		t.Fatalf("%s got %q: %v", route, s.sent[route], err)
	}
	return v
}

const testKey = "key-5ecret"

func (s *standIn) config() ServerConfig { return ServerConfig{BaseURL: s.URL, Key: testKey} }

// through makes a request and asks about its task until that is done, as the
// job does but without a pause.
func through(t *testing.T, p Provider, req Request) ([]got, Task, error) {
	t.Helper()
	var out []got
	emit := func(o Output) error {
		g := got{Index: o.Index, URL: o.URL, Revised: o.RevisedPrompt, Seed: o.Seed, Partial: o.Partial, PartialIndex: o.PartialIndex, Progress: o.Progress}
		if o.Err != nil {
			g.Reason, g.Message = o.Err.Reason, o.Err.Message
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
	}
	task, err := p.Generate(t.Context(), req, emit)
	if err != nil || task == "" {
		return out, task, err
	}
	for range 20 {
		done, err := p.(Tasker).Poll(t.Context(), task, emit)
		if e, ok := errors.AsType[*Error](err); ok && e.Retryable && !done {
			continue
		}
		if done || err != nil {
			return out, task, err
		}
	}
	t.Fatal("the task never ends")
	return nil, "", nil
}

// failure is a row of a vendor's errors, as its API gives them.
type failure struct {
	name      string
	answer    reply
	reason    string
	retryable bool
	after     time.Duration
	message   string // part of what the person is told
}

// checkFailures has each failure given to the call that buys.
func checkFailures(t *testing.T, route string, list []failure, make func(ServerConfig) Provider) {
	t.Helper()
	for _, f := range list {
		t.Run(f.name, func(t *testing.T) {
			s := newStandIn(t, map[string][]reply{route: {f.answer}, "GET /sdapi/v1/progress": {{200, "", `{}`}}})
			_, err := make(s.config()).Generate(t.Context(), Request{ID: "r1", Prompt: "x", N: 1}, func(Output) error { return nil })
			wantError(t, err, f)
			if n := s.times(route); n != 1 {
				t.Errorf("it was asked %d times: each may cost", n)
			}
		})
	}
}

func wantError(t *testing.T, err error, f failure) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("got %v, want %s", err, f.reason)
	}
	if e.Reason != f.reason || e.Retryable != f.retryable || e.RetryAfter != f.after || !strings.Contains(e.Message, f.message) {
		t.Errorf("got %s, retryable %t, after %v, %q (%v); want %s, %t, %v, %q", e.Reason, e.Retryable, e.RetryAfter, e.Message, e, f.reason, f.retryable, f.after, f.message)
	}
	if strings.Contains(e.Error()+e.Message+e.Detail, testKey) {
		t.Errorf("the key shows: %#v", e)
	}
}

// broken are the failures that every provider has in common: whatever cuts a
// call off after it was sent leaves it open what was made.
var broken = []failure{
	{"a connection that breaks off", reply{status: 0}, ReasonUnknownOutcome, false, 0, ""},
	{"a bad gateway", reply{502, "", "<html>502</html>"}, ReasonUnknownOutcome, false, 0, ""},
	{"a gateway that waited too long", reply{504, "", "upstream request timeout"}, ReasonUnknownOutcome, false, 0, ""},
	{"an answer that is no JSON", reply{500, "", "<html>oops</html>"}, ReasonUnknownOutcome, false, 0, ""},
	{"throttled, with Retry-After", reply{429, "Retry-After: 7", `{}`}, ReasonThrottled, true, 7 * time.Second, ""},
}

// aPicture is an image to start from.
func aPicture(text string) Picture {
	return Picture{Name: "image-1.png", MIME: "image/png", Size: int64(len(text)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

// TestKeysGoToTheProviderAlone: a redirect is no answer, and nobody else gets
// the key.
func TestKeysGoToTheProviderAlone(t *testing.T) {
	other := newStandIn(t, map[string][]reply{})
	for _, v := range []struct {
		route string
		make  func(ServerConfig) (Provider, error)
	}{
		{"POST /v1/images/generations", func(c ServerConfig) (Provider, error) { return NewOpenAI(c) }},
		{"POST /v1/models/black-forest-labs/flux-schnell/predictions", func(c ServerConfig) (Provider, error) { return NewReplicate(c) }},
		{"POST /api/v1/services/aigc/text2image/image-synthesis", func(c ServerConfig) (Provider, error) { return NewDashScope(c) }},
		{"POST /sdapi/v1/txt2img", func(c ServerConfig) (Provider, error) { return NewA1111(c) }},
	} {
		t.Run(v.route, func(t *testing.T) {
			s := newStandIn(t, map[string][]reply{v.route: {{307, "Location: " + other.URL + "/steal", ""}}})
			p, err := v.make(s.config())
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Generate(t.Context(), Request{Prompt: "x"}, func(Output) error { return nil })
			if e, ok := errors.AsType[*Error](err); !ok || e.Reason != ReasonProviderError || e.Retryable {
				t.Errorf("got %v", err)
			}
			if auth := s.heads[v.route].Get("Authorization"); !strings.HasPrefix(auth, "Bearer ") && !strings.HasPrefix(auth, "Basic ") {
				t.Errorf("the provider itself got %q", auth)
			}
			if info := p.Info(); !slices.Equal(info.Origins, []string{s.URL}) {
				t.Errorf("its images may come from %v, want exactly %s", info.Origins, s.URL)
			}
		})
	}
	if len(other.asked) > 0 {
		t.Errorf("a stranger was asked %v", other.asked)
	}
}

// A model of no provider's own list, and one without limits, is described all
// the same, so that a form can be built.
func TestModelsTellWhatAFormNeeds(t *testing.T) {
	replicate, _ := NewReplicate(ServerConfig{Models: []string{"me/mine:abc"}})
	dashscope, _ := NewDashScope(ServerConfig{})
	a1111, _ := NewA1111(ServerConfig{})
	openai, _ := NewOpenAI(ServerConfig{})
	all, _ := NewReplicate(ServerConfig{})
	for _, p := range []Provider{replicate, all, dashscope, a1111, openai, NewDemo()} {
		for _, m := range p.Info().Models {
			if m.Name == "" || m.MaxN < 1 || len(m.Sizes) == 0 && m.MaxSide == 0 {
				t.Errorf("%s: %+v says too little", p.Info().Name, m)
			}
			for _, o := range m.Options {
				if o.Name == "" || o.Max < o.Min {
					t.Errorf("%s %s: %+v", p.Info().Name, m.Name, o)
				}
			}
		}
	}
}

func TestFormsKnowTheirLength(t *testing.T) {
	form := newForm()
	form.field("prompt", "灯塔")
	form.file("image", aPicture("one"))
	form.file("image", aPicture("two"))
	body, length, contentType, err := form.done()
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(body)
	if err != nil || int64(len(data)) != length {
		t.Fatalf("%d bytes, said %d: %v", len(data), length, err)
	}
	r, _ := http.NewRequestWithContext(context.Background(), "POST", "/", bytes.NewReader(data))
	r.Header.Set("Content-Type", contentType)
	if err := r.ParseMultipartForm(1 << 20); err != nil || r.FormValue("prompt") != "灯塔" || len(r.MultipartForm.File["image"]) != 2 {
		t.Fatalf("got %+v: %v", r.MultipartForm, err)
	}
}

func wantOutputs(t *testing.T, out []got, err error, want ...got) {
	t.Helper()
	if err != nil || fmt.Sprintf("%+v", out) != fmt.Sprintf("%+v", want) {
		t.Errorf("got  %+v, %v\nwant %+v", out, err, want)
	}
}
