package generate_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"afterimage/generate"
)

// vendor is a provider's server inside a bubble: it answers without a network.
type vendor struct {
	mu     sync.Mutex
	asked  []string // "POST /path", in order
	at     []time.Time
	answer func(v *vendor, r *http.Request) (status int, body string)
}

// RoundTrip implements http.RoundTripper.
func (v *vendor) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	v.mu.Lock()
	v.asked, v.at = append(v.asked, r.Method+" "+r.URL.Path), append(v.at, time.Now())
	v.mu.Unlock()
	status, body := v.answer(v, r)
	if status == 0 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// times is how often something was asked whose "METHOD /path" contains a text.
func (v *vendor) times(part string) (n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, a := range v.asked {
		if strings.Contains(a, part) {
			n++
		}
	}
	return n
}

func (v *vendor) config() generate.ServerConfig {
	return generate.ServerConfig{Key: "key", Client: &http.Client{Transport: v}}
}

// dash is DashScope's server with one task that takes a while.
func dash(takes time.Duration) *vendor {
	begun := time.Now()
	return &vendor{answer: func(v *vendor, r *http.Request) (int, string) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/cancel"):
			return 200, `{}`
		case r.Method == http.MethodPost:
			begun = time.Now()
			return 200, `{"output":{"task_status":"PENDING","task_id":"t-1"},"request_id":"r"}`
		case time.Since(begun) < takes:
			return 200, `{"output":{"task_status":"RUNNING","task_id":"t-1"}}`
		}
		return 200, fmt.Sprintf(`{"output":{"task_status":"SUCCEEDED","task_id":"t-1","results":[{"url":"https://oss.example/0.png?Expires=%d&Signature=%s"},
			{"code":"DataInspectionFailed","message":"Output data may contain inappropriate content."},{"url":"https://oss.example/2.png?Expires=%[1]d"}]}}`,
			time.Now().Add(24*time.Hour).Unix(), secret)
	}}
}

// tasks runs a test in a bubble with a provider that has tasks.
func tasks(t *testing.T, takes time.Duration, test func(t *testing.T, w *world, v *vendor)) {
	bubble(t, func() *played { return nil }, func(t *testing.T, w *world) {
		v := dash(takes)
		p, err := generate.NewDashScope(v.config())
		if err != nil {
			t.Fatal(err)
		}
		w.more = append(w.more, p)
		test(t, w, v)
		if n := v.times("image-synthesis"); n > 1 {
			t.Errorf("it was bought %d times: %v", n, v.asked)
		}
		if w.log.count(secret) > 0 {
			t.Errorf("the log holds a signature:\n%s", w.log)
		}
	})
}
