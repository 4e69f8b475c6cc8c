package generate

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

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
		_, err := p.Generate(ctx, Request{Prompt: "x"}, func(Output) error { return nil })
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
	_, err = p.Generate(t.Context(), Request{Prompt: "x"}, func(Output) error { return nil })
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Reason != ReasonProviderError || !e.Retryable || !strings.Contains(e.Detail, "OPENAI_BASE_URL") {
		t.Errorf("got %#v", err)
	}
	t.Run("with no time left", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), -time.Second)
		defer cancel()
		_, err := p.Generate(ctx, Request{Prompt: "x"}, func(Output) error { return nil })
		if e, ok := errors.AsType[*Error](err); !ok || e.Reason != ReasonTimeout || !e.Retryable {
			t.Errorf("got %#v", err)
		}
	})
}

func TestOpenAIReturnsTheErrorOfEmit(t *testing.T) {
	full := errors.New("disk full")
	p := openAIServer(t, answering(200, `{"data":[{"b64_json":"aGk="},{"b64_json":"aGk="}]}`))
	calls := 0
	_, err := p.Generate(t.Context(), Request{Prompt: "x", N: 2}, func(Output) error { calls++; return full })
	if err != full || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}
