package storage

import (
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestCheckFindsWhatWouldBiteLater(t *testing.T) {
	for _, row := range []struct {
		name    string
		before  func(*stub, http.ResponseWriter, *http.Request) bool
		reason  string
		setting string
	}{
		{
			"AWS answers 403 for a missing object to a key that may not list",
			func(s *stub, w http.ResponseWriter, r *http.Request) bool {
				if _, there := s.held(r.URL.Path); there || r.Method == http.MethodPut || r.Method == http.MethodDelete {
					return false
				}
				xmlError(w, http.StatusForbidden, "AccessDenied")
				return true
			},
			ReasonDenied, "S3_ACCESS_KEY_ID",
		},
		{
			"a cache in between gives another object's bytes",
			func(_ *stub, w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodGet {
					return false
				}
				w.Header().Set("ETag", `"etag"`)
				_, _ = w.Write([]byte("other bytes"))
				return true
			},
			ReasonError, "",
		},
		{
			"deletes are accepted and not done",
			func(_ *stub, w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodDelete {
					return false
				}
				w.WriteHeader(http.StatusNoContent)
				return true
			},
			ReasonError, "",
		},
		{
			"HEAD does not find what GET has",
			func(_ *stub, w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodHead {
					w.WriteHeader(http.StatusNotFound)
				}
				return r.Method == http.MethodHead || r.Method == http.MethodDelete
			},
			ReasonError, "",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := newStub(t, func(s *stub) {
				s.before = func(w http.ResponseWriter, r *http.Request) bool { return row.before(s, w, r) }
			})
			err := server.store(t).Check(t.Context())
			if e := wantReason(t, err, row.reason); e.Setting != row.setting {
				t.Errorf("names %q: %v", e.Setting, err)
			}
		})
	}
}

// 640 TLS puts in bursts of 32 took 388 connections with the stock client, which
// keeps 10 of them (opentofu#4086, dstore#22).
func TestConnectionsAreReused(t *testing.T) {
	const burst = 32
	var opened atomic.Int32
	var together atomic.Pointer[sync.WaitGroup]
	server := newStub(t, func(s *stub) {
		s.before = func(_ http.ResponseWriter, r *http.Request) bool {
			if wg := together.Load(); wg != nil && r.Method == http.MethodPut {
				wg.Done()
				wg.Wait()
			}
			return false
		}
		s.connState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				opened.Add(1)
			}
		}
	})
	s := server.store(t)
	put(t, s, "a.png", "x")
	for range 5 {
		var here sync.WaitGroup
		here.Add(burst)
		together.Store(&here)
		var wg sync.WaitGroup
		for range burst {
			wg.Go(func() {
				if _, err := s.Put(t.Context(), object("a.png", "x"), strings.NewReader("x")); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	if n := opened.Load(); n > 2*burst {
		t.Errorf("%d connections for bursts of %d", n, burst)
	}
}
