package storage

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// A machine whose clock is an hour wrong is refused with RequestTimeTooSkewed;
// the second attempt is signed with the server's time (aws-sdk-go-v2#2668,
// #3187). Where that does not help, the error says how wrong the clock is.
func TestAWrongClock(t *testing.T) {
	for _, row := range []struct {
		name string
		off  time.Duration // of the server's clock
	}{
		{"behind the server's", time.Hour},
		{"ahead of the server's", -time.Hour},
	} {
		t.Run(row.name, func(t *testing.T) {
			stubborn := false
			server := newStub(t, func(s *stub) {
				s.before = func(w http.ResponseWriter, r *http.Request) bool {
					now := time.Now().Add(row.off)
					w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
					signed, _ := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
					if d := signed.Sub(now).Abs(); d < 5*time.Minute && !stubborn {
						return false
					}
					_, _ = io.Copy(io.Discard, r.Body)
					xmlError(w, http.StatusForbidden, "RequestTimeTooSkewed")
					return true
				}
			})
			s := server.store(t)
			put(t, s, "a.png", "picture")
			if n := len(server.seen(http.MethodPut)); n != 2 {
				t.Errorf("%d attempts, want 2", n)
			}
			put(t, s, "a.png", "picture")
			if n := len(server.seen(http.MethodPut)); n != 3 {
				t.Errorf("the next put took %d attempts, want 1", n-2)
			}
			stubborn = true
			_, err := s.Put(t.Context(), object("a.png", "picture"), strings.NewReader("picture"))
			if wantReason(t, err, ReasonDenied); !strings.Contains(err.Error(), row.name) {
				t.Errorf("it does not say how wrong the clock is: %v", err)
			}
		})
	}
}

// DeleteObjects wants an MD5 or a checksum, and servers disagree on which
// (activepieces#14110); deletes here are one plain request for each object.
func TestADeleteIsOnePlainRequest(t *testing.T) {
	server := newStub(t, func(*stub) {})
	s := server.store(t)
	put(t, s, "a/b.png", "picture")
	noError(t, s.Delete(t.Context(), "a/b.png"))
	sent := server.seen(http.MethodDelete)
	if len(sent) != 1 || sent[0].URL.Path != "/bucket/a/b.png" || sent[0].ContentLength > 0 || len(server.seen(http.MethodPost)) != 0 {
		t.Errorf("%d deletes, %d posts", len(sent), len(server.seen(http.MethodPost)))
	}
}

// Large bodies are sent with Expect: 100-continue, which some servers never
// answer (aws-sdk-go-v2#1451).
func TestAServerThatNeverSaysContinueCostsASecond(t *testing.T) {
	const size = 3 << 20
	asked := make(chan string, 1)
	server := newStub(t, func(s *stub) {
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			asked <- r.Header.Get("Expect")
			conn, rw, err := http.NewResponseController(w).Hijack() // from here on nobody says continue
			if err != nil {
				t.Error(err)
				return true
			}
			defer conn.Close()
			if _, err := io.CopyN(io.Discard, rw, size); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nETag: \"etag\"\r\nContent-Length: 0\r\n\r\n")
			return true
		}
	})
	s := server.store(t)
	s.proof.state.Store(proofHash)
	data := strings.Repeat("x", size)
	began := time.Now()
	_, err := s.Put(t.Context(), object("a.bin", data), strings.NewReader(data))
	noError(t, err)
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("took %v", took)
	}
	if got := <-asked; got != "100-continue" {
		t.Errorf("Expect is %q: this test shows nothing", got)
	}
}

// No timeout at all holds a slot for ever, and a plain one kills an upload that
// goes on: 8 MiB have 94 s, which is enough at 150 KiB/s.
func TestAnUploadHasTheTimeThatItsSizeNeeds(t *testing.T) {
	const size = 8 << 20
	for _, row := range []struct {
		name  string
		speed int64 // bytes/s that the server takes
		took  time.Duration
		ok    bool
	}{
		{"a slow reader that goes on gets it all", 150 << 10, 55 * time.Second, true},
		{"a slower one ends with the deadline", 64 << 10, 94 * time.Second, false},
		{"a black hole ends with the deadline", 0, 94 * time.Second, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := NewS3(t.Context(), S3Config{Bucket: "bucket", Endpoint: "https://s3.example", AccessKeyID: "KEYID", SecretAccessKey: "very-secret"})
				noError(t, err)
				s.client = s3.New(s.client.Options(), func(o *s3.Options) { o.HTTPClient = takingBodiesAt(row.speed) })
				s.proof.state.Store(proofHash)
				data := strings.Repeat("x", size)
				began := time.Now()
				_, err = s.Put(t.Context(), object("a.bin", data), strings.NewReader(data))
				if took := time.Since(began).Truncate(time.Second); took != row.took {
					t.Errorf("ended after %v, want %v", took, row.took)
				}
				if row.ok {
					noError(t, err)
				} else {
					wantReason(t, err, ReasonUnreachable)
				}
			})
		})
	}
}

type httpFunc func(*http.Request) (*http.Response, error)

func (f httpFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }

// takingBodiesAt is a server, in a bubble, that reads so many bytes a second.
func takingBodiesAt(speed int64) httpFunc {
	return func(r *http.Request) (*http.Response, error) {
		for second := time.NewTicker(time.Second); ; {
			select {
			case <-r.Context().Done():
				return nil, context.Cause(r.Context())
			case <-second.C:
			}
			if _, err := io.CopyN(io.Discard, r.Body, speed); err == io.EOF {
				return &http.Response{StatusCode: 200, Header: http.Header{"Etag": {`"etag"`}}, Body: http.NoBody, Request: r}, nil
			}
		}
	}
}
