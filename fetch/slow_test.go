package fetch

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// network answers requests inside a bubble, where time is not real.
type network func(*http.Request) (*http.Response, error)

func (n network) RoundTrip(r *http.Request) (*http.Response, error) { return n(r) }

// drip is a body that gives n bytes, each after a pause. It ends when the request does.
type drip struct {
	r     *http.Request
	n     int
	size  int
	pause time.Duration
	first []byte
}

func (d *drip) Read(b []byte) (int, error) {
	if d.n == 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(d.pause):
	case <-d.r.Context().Done():
		return 0, d.r.Context().Err()
	}
	d.n--
	n := min(len(b), max(d.size, 1))
	d.first = d.first[copy(b[:n], d.first):]
	return n, nil
}

func (d *drip) Close() error { return nil }

func TestSlowSources(t *testing.T) {
	hang := func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	body := func(n, size int, pause time.Duration) network {
		return func(r *http.Request) (*http.Response, error) {
			first := bytes.Clone(pngSignature)
			return &http.Response{StatusCode: 200, ContentLength: -1, Body: &drip{r: r, n: n, size: size, pause: pause, first: first}}, nil
		}
	}
	for _, tt := range []struct {
		name   string
		net    network
		reason string
		within time.Duration // that it ends in, to the second
		words  string
	}{
		{"no answer", hang, Slow, 50 * time.Second, "no answer"},
		{"silence after the headers", body(1, 1, time.Hour), Slow, 20 * time.Second, "silence"},
		{"a byte a second", body(1000, 1, time.Second), Slow, 30 * time.Second, "less than 4096 bytes a second, 30 bytes so far"},
		{"just under the least speed", body(1000, 4000, time.Second), Slow, 30 * time.Second, "less than"},
		{"just over the least speed", body(100, 4200, time.Second), "", 100 * time.Second, ""},
		{"pauses that are not too long", body(10, 1<<20, 15*time.Second), "", 150 * time.Second, ""},
		{"five minutes are enough", body(1000, 10000, time.Second), Slow, 300 * time.Second, "not done for 5m0s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := client(t, Config{Transport: tt.net})
				begin := time.Now()
				_, err := c.Get(t.Context(), Source{URL: "https://slow.example/a.png"}, io.Discard)
				e := wantError(t, err, tt.reason, false)
				if e != nil && !strings.Contains(e.Error(), tt.words) {
					t.Errorf("got %v, want %q", e, tt.words)
				}
				if took := time.Since(begin).Round(time.Second); took != tt.within {
					t.Errorf("ended after %v, want %v", took, tt.within)
				}
			})
		})
	}
}

// The store may take its time with each piece: that is not the source's fault.
func TestASlowWriterIsNotASlowSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		image := append(pngFile(8, 6), make([]byte, 1<<20)...)
		c := client(t, Config{Transport: network(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, ContentLength: int64(len(image)), Body: io.NopCloser(bytes.NewReader(image))}, nil
		})})
		_, err := c.Get(t.Context(), Source{URL: "https://h.example"}, writer(func(b []byte) (int, error) {
			time.Sleep(10 * time.Second) // of the bubble
			return len(b), nil
		}))
		wantError(t, err, "", false)
	})
}

// Waiting for our own slot must not use up the time that the source has.
func TestTheClockStartsWithTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client(t, Config{PerHost: 1, Timeout: 15 * time.Second, Transport: network(func(r *http.Request) (*http.Response, error) {
			time.Sleep(10 * time.Second) // of the bubble
			return &http.Response{StatusCode: 200, ContentLength: -1, Body: io.NopCloser(bytes.NewReader(pngFile(8, 6)))}, nil
		})})
		done := make(chan error)
		for range 4 {
			go func() {
				_, err := c.Get(t.Context(), Source{URL: "https://h.example"}, io.Discard)
				done <- err
			}()
		}
		for range 4 {
			wantError(t, <-done, "", false)
		}
	})
}
