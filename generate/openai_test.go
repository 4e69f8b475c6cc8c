package generate

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
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
	p, err := NewOpenAI(OpenAIConfig{BaseURL: server.URL, APIKey: "sk-secret-1234", Client: server.Client()})
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
	Reason             string
}

func collect(t *testing.T, p Provider, req Request) ([]got, error) {
	t.Helper()
	var out []got
	err := p.Generate(t.Context(), req, func(o Output) error {
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
		{"dall-e-3", []string{"quality", "response_format", "style"}},
		{"dall-e-2", []string{"response_format"}},
		{"flux-schnell", []string{"background", "moderation", "negative_prompt", "output_compression", "output_format", "quality", "response_format", "seed", "steps", "style"}},
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

func TestOpenAIReadsAnswers(t *testing.T) {
	const png = "\x89PNG\r\n\x1a\n\xfb\xff\xbf???>>>" // its base64 needs + and /
	std := base64.StdEncoding.EncodeToString([]byte(png))
	for _, test := range []struct {
		name, body string
		want       []got
	}{
		{"gpt-image, with everything around it",
			`{"created":1713833628,"background":"opaque","output_format":"png","quality":"high","size":"1024x1024",
			  "data":[{"b64_json":"` + std + `"}],
			  "usage":{"total_tokens":100,"input_tokens_details":{"text_tokens":10}}}`,
			[]got{{Body: png}}},
		{"dall-e-3 link with its revised prompt",
			`{"created":1,"data":[{"revised_prompt":"A \"tall\" lighthouse","url":"https://blob.example/a%2Fb.png?se=2026&sig=x%2By%3D"}]}`,
			[]got{{URL: "https://blob.example/a%2Fb.png?se=2026&sig=x%2By%3D", Revised: `A "tall" lighthouse`}}},
		{"link with escaped ampersands", `{"data":[{"url":"https:\/\/h\/i?a=1\u0026b=2"}]}`, []got{{URL: "https://h/i?a=1&b=2"}}},
		{"both, one of them null", `{"data":[{"url":null,"b64_json":"aGk="},{"b64_json":null,"url":"https://h/2"}]}`,
			[]got{{Body: "hi"}, {Index: 1, URL: "https://h/2"}}},
		{"both: the bytes are in hand", `{"data":[{"url":"https://h/1","b64_json":"aGk="}]}`, []got{{Body: "hi"}}},
		{"empty bytes and a link", `{"data":[{"b64_json":"","url":"https://h/1"}]}`, []got{{URL: "https://h/1"}}},
		{"escapes in base64", `{"data":[{"b64_json":"` + strings.NewReplacer("/", `\/`, "+", `\u002b`, "=", `\u003D`).Replace(std) + `"}]}`, []got{{Body: png}}},
		{"URL alphabet, no padding", `{"data":[{"b64_json":"` + base64.RawURLEncoding.EncodeToString([]byte(png)) + `"}]}`, []got{{Body: png}}},
		{"lines of base64", `{"data":[{"b64_json":"aG\nk=\r\n"}]}`, []got{{Body: "hi"}}},
		{"data URL as bytes", `{"data":[{"b64_json":"data:image/png;base64,` + std + `"}]}`, []got{{Body: png}}},
		{"data URL as link", `{"data":[{"url":"data:image/png;base64,` + std + `"}]}`, []got{{Body: png}}},
		{"one image failed alone", `{"data":[{"url":"https://h/1","size":"2048x2048"},{"error":{"code":"OutputImageSensitiveContentDetected","message":"no"}},{"url":"https://h/3"}]}`,
			[]got{{URL: "https://h/1"}, {Index: 1, Reason: ReasonRefused}, {Index: 2, URL: "https://h/3"}}},
		{"an item with nothing in it", `{"data":[{}]}`, []got{{Reason: ReasonProviderError}}},
		{"a seed", `{"data":[{"seed":42,"url":"https://h/1"}]}`, []got{{URL: "https://h/1", Seed: 42}}},
		{"more than asked for", `{"data":[{"url":"https://h/1"},{"url":"https://h/2"}],"x":[[],{"y":[1,{"z":"]}"}]}]}`, []got{{URL: "https://h/1"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := openAIServer(t, answering(200, test.body))
			n := len(test.want)
			out, err := collect(t, p, Request{Prompt: "x", N: n})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(out, test.want) {
				t.Errorf("got %+v, want %+v", out, test.want)
			}
		})
	}
	t.Run("a link without its host", func(t *testing.T) {
		p := openAIServer(t, answering(200, `{"data":[{"url":"/generated/1.png"}]}`))
		out, err := collect(t, p, Request{Prompt: "x"})
		if err != nil || out[0].URL != p.origin+"/generated/1.png" {
			t.Errorf("got %+v, %v", out, err)
		}
	})
}

func TestOpenAISortsErrors(t *testing.T) {
	for _, test := range []struct {
		name      string
		status    int
		header    string
		body      string
		reason    string
		retryable bool
		after     time.Duration
	}{
		{"moderation", 400, "", `{"error":{"message":"Your request was rejected by the safety system.","type":"image_generation_user_error","param":null,"code":"moderation_blocked"}}`, ReasonRefused, false, 0},
		{"policy", 400, "", `{"error":{"message":"m","type":"invalid_request_error","param":null,"code":"content_policy_violation"}}`, ReasonRefused, false, 0},
		{"azure filter", 400, "", `{"error":{"code":"content_filter","message":"m","inner_error":{"content_filter_results":{"hate":{"filtered":true}}}}}`, ReasonRefused, false, 0},
		{"bad size", 400, "", `{"error":{"message":"Invalid value: '5x5'","type":"invalid_request_error","param":"size","code":"invalid_value"}}`, ReasonInvalidRequest, false, 0},
		{"validation", 422, "", `{"detail":"n must be 1"}`, ReasonInvalidRequest, false, 0},
		{"bad key", 401, "", `{"error":{"message":"Incorrect API key provided: sk-secret-1234","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, ReasonAuth, false, 0},
		{"not verified", 403, "", `{"error":{"message":"Your organization must be verified","type":"invalid_request_error","param":null,"code":null}}`, ReasonAuth, false, 0},
		{"payment", 402, "", `{"error":"Insufficient credits"}`, ReasonQuota, false, 0},
		{"no model", 404, "", `{"error":{"message":"The model 'x' does not exist","type":"invalid_request_error","param":null,"code":"model_not_found"}}`, ReasonModelMissing, false, 0},
		{"bad model", 400, "", `{"error":{"message":"Invalid value: 'x'","type":"invalid_request_error","param":"model","code":"invalid_value"}}`, ReasonModelMissing, false, 0},
		{"wrong address", 404, "", `<html>not found</html>`, ReasonProviderError, false, 0},
		{"rate limit, milliseconds", 429, "Retry-After-Ms: 1500", `{"error":{"message":"m","type":"requests","param":null,"code":"rate_limit_exceeded"}}`, ReasonThrottled, true, 1500 * time.Millisecond},
		{"rate limit, seconds", 429, "Retry-After: 2.5", `{}`, ReasonThrottled, true, 2500 * time.Millisecond},
		{"rate limit, in words", 429, "", `{"error":{"message":"Rate limit reached. Please try again in 1m12s.","code":"rate_limit_exceeded"}}`, ReasonThrottled, true, 72 * time.Second},
		{"rate limit, throttle text", 429, "", `{"detail":"Request was throttled. Your rate limit resets in ~30s."}`, ReasonThrottled, true, 30 * time.Second},
		{"rate limit, absurd wait", 429, "Retry-After: 1e300", ``, ReasonThrottled, true, 24 * time.Hour},
		{"rate limit, no number", 429, "Retry-After: NaN", ``, ReasonThrottled, true, 0},
		{"rate limit, do not retry", 429, "X-Should-Retry: false", ``, ReasonThrottled, false, 0},
		{"out of quota", 429, "", `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, ReasonQuota, false, 0},
		{"slow upload", 408, "", ``, ReasonTimeout, true, 0},
		{"said that it failed", 500, "", `{"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}`, ReasonProviderError, false, 0},
		{"overloaded, please retry", 503, "X-Should-Retry: true", `{"error":{"message":"overloaded","type":"server_error"}}`, ReasonProviderError, true, 0},
		{"something in between failed", 500, "", `<html>`, ReasonUnknownOutcome, false, 0},
		{"bad gateway", 502, "", `{"error":{"message":"m"}}`, ReasonUnknownOutcome, false, 0},
		{"gateway timeout", 504, "", ``, ReasonUnknownOutcome, false, 0},
		{"cloudflare timeout", 524, "", `error code: 524`, ReasonUnknownOutcome, false, 0},
		{"error in a 200", 200, "", `{"error":{"message":"no","code":"moderation_blocked"}}`, ReasonRefused, false, 0},
		{"page in a 200", 200, "", `<!doctype html>`, ReasonProviderError, false, 0},
		{"other JSON in a 200", 200, "", `{"ok":true}`, ReasonProviderError, false, 0},
		{"too few images", 200, "", `{"data":[]}`, ReasonProviderError, false, 0},
		{"no data", 200, "", `{"data":null}`, ReasonProviderError, false, 0},
		{"broken base64", 200, "", `{"data":[{"b64_json":"!!!!"}]}`, ReasonProviderError, false, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := openAIServer(t, func(w http.ResponseWriter, r *http.Request) {
				if name, value, ok := strings.Cut(test.header, ": "); ok {
					w.Header().Set(name, value)
				}
				answering(test.status, test.body)(w, r)
			})
			_, err := collect(t, p, Request{Prompt: "x"})
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if e.Reason != test.reason || e.Retryable != test.retryable || e.RetryAfter != test.after {
				t.Errorf("got %s, retryable %t, after %v (%v); want %s, %t, %v", e.Reason, e.Retryable, e.RetryAfter, e, test.reason, test.retryable, test.after)
			}
			if strings.Contains(e.Message+e.Detail+e.Error(), "sk-secret") {
				t.Errorf("the key shows: %#v", e)
			}
		})
	}
}

// hijack takes over the connection of a call.
func hijack(t *testing.T, w http.ResponseWriter) net.Conn {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
	}
	return conn
}

func TestOpenAIDoesNotKnowTheOutcomeOfACallThatBroke(t *testing.T) {
	for name, answer := range map[string]string{
		"before the answer":      "",
		"in the headers":         "HTTP/1.1 200 OK\r\nContent-",
		"before the images":      "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"created\":1,",
		"in the bytes":           "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"data\":[{\"b64_json\":\"aGVsbG8",
		"in a link":              "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"data\":[{\"url\":\"https://h/",
		"between bytes and data": "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"data\":[{\"b64_json\"",
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			p := openAIServer(t, func(w http.ResponseWriter, r *http.Request) {
				calls++
				_, _ = io.Copy(io.Discard, r.Body)
				conn := hijack(t, w)
				_, _ = io.WriteString(conn, answer)
				_ = conn.Close()
			})
			out, err := collect(t, p, Request{Prompt: "x"})
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Reason != ReasonUnknownOutcome || e.Retryable || len(out) > 0 {
				t.Errorf("got %+v, %#v", out, err)
			}
			if calls != 1 {
				t.Errorf("asked %d times: each may cost", calls)
			}
		})
	}
	t.Run("because the time was up", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := openAIServer(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			cancel()
			<-r.Context().Done()
		})
		err := p.Generate(ctx, Request{Prompt: "x"}, func(Output) error { return nil })
		if e, ok := errors.AsType[*Error](err); !ok || e.Reason != ReasonUnknownOutcome {
			t.Errorf("got %v", err)
		}
	})
}

func TestOpenAIKeepsTheImagesBeforeTheBreak(t *testing.T) {
	p := openAIServer(t, func(w http.ResponseWriter, r *http.Request) {
		conn := hijack(t, w)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"data\":[{\"b64_json\":\"aGk=\"},{\"b64_json\":\"aG")
		_ = conn.Close()
	})
	out, err := collect(t, p, Request{Prompt: "x", N: 2})
	if e, ok := errors.AsType[*Error](err); !ok || e.Reason != ReasonUnknownOutcome || len(out) != 1 || out[0].Body != "hi" {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestOpenAIMayAskAgainWhatWasNeverSent(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close() // now nobody listens there
	p, err := NewOpenAI(OpenAIConfig{BaseURL: "http://" + address + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	err = p.Generate(t.Context(), Request{Prompt: "x"}, func(Output) error { return nil })
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Reason != ReasonProviderError || !e.Retryable || !strings.Contains(e.Detail, "OPENAI_BASE_URL") {
		t.Errorf("got %#v", err)
	}
	t.Run("with no time left", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), -time.Second)
		defer cancel()
		err := p.Generate(ctx, Request{Prompt: "x"}, func(Output) error { return nil })
		if e, ok := errors.AsType[*Error](err); !ok || e.Reason != ReasonTimeout || !e.Retryable {
			t.Errorf("got %#v", err)
		}
	})
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

func TestOpenAIReturnsTheErrorOfEmit(t *testing.T) {
	full := errors.New("disk full")
	p := openAIServer(t, answering(200, `{"data":[{"b64_json":"aGk="},{"b64_json":"aGk="}]}`))
	calls := 0
	err := p.Generate(t.Context(), Request{Prompt: "x", N: 2}, func(Output) error { calls++; return full })
	if err != full || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}

// Everything that four images of 8 MB allocate, the server's side of the test
// included, is less than one of them.
func TestOpenAIHoldsNoWholeAnswer(t *testing.T) {
	const images, size = 4, 8 << 20
	chunk := strings.Repeat("QUJD", 16<<10)
	p := openAIServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"data":[`)
		for i := range images {
			_, _ = io.WriteString(w, strings.Repeat(",", min(i, 1))+`{"b64_json":"`)
			for sent := 0; sent < size/3*4; sent += len(chunk) {
				_, _ = io.WriteString(w, chunk)
			}
			_, _ = io.WriteString(w, `"}`)
		}
		_, _ = io.WriteString(w, `]}`)
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var read int64
	err := p.Generate(t.Context(), Request{Prompt: "x", N: images}, func(o Output) error {
		n, err := io.Copy(io.Discard, o.Body)
		read += n
		return err
	})
	runtime.ReadMemStats(&after)
	if err != nil || read < images*(size-1<<16) {
		t.Errorf("read %d bytes, %v", read, err)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > size/2 {
		t.Errorf("%d bytes were allocated", allocated)
	}
}

func TestOpenAIEndsAnAnswerThatNeverEnds(t *testing.T) {
	for name, start := range map[string]string{"bytes": `{"data":[{"b64_json":"`, "a field": `{"x":"`, "a link": `{"data":[{"url":"`} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, err := io.WriteString(w, start)
				for chunk := strings.Repeat("QUJD", 4<<10); err == nil; {
					_, err = io.WriteString(w, chunk)
				}
			}))
			defer server.Close()
			p, err := NewOpenAI(OpenAIConfig{BaseURL: server.URL, MaxBytes: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			_, err = collect(t, p, Request{Prompt: "x"})
			if e, ok := errors.AsType[*Error](err); !ok || e.Reason != ReasonProviderError {
				t.Errorf("got %v", err)
			}
		})
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
			if p.endpoint != test.endpoint || !slices.Equal(info.Origins, []string{test.origin}) || info.TTL != time.Hour || info.Repeatable {
				t.Errorf("got %s, %+v", p.endpoint, info)
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
	if m, ok := p.Info().Model(""); !ok || m.Name != "dall-e-3" || m.MaxN != 1 || m.MaxPrompt != 4000 {
		t.Errorf("got %+v", m)
	}
	if m, ok := p.Info().Model("flux"); !ok || len(m.Sizes) != 0 || m.MaxN != 10 {
		t.Errorf("got %+v", m)
	}
	if _, ok := p.Info().Model("other"); ok {
		t.Error("a model nobody offers was found")
	}
}

// FuzzAnswer: whatever a server sends, reading it ends, and only with errors of ours.
func FuzzAnswer(f *testing.F) {
	f.Add(`{"data":[{"b64_json":"aGk=","revised_prompt":"x"},{"url":"https://h/1"}]}`)
	f.Add(`{"data":[{"error":{"code":1}},{"url":"data:,"}],"error":null}`)
	f.Add(`{"a":[{"b":"\"]}"}],"data":[{"b64_json":"\u0041\/=="}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		seen := map[int]bool{}
		err := readAnswer(strings.NewReader(body), 2, 1<<20, func(o Output) error {
			if seen[o.Index] || o.Index > 1 {
				t.Errorf("image %d twice or not asked for", o.Index)
			}
			seen[o.Index] = true
			if o.Body == nil {
				return nil
			}
			_, err := io.Copy(io.Discard, o.Body)
			return err
		})
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Errorf("got %T %v", err, err)
			}
		}
	})
}
