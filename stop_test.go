//go:build unix

package main

import (
	"bytes"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTransferLongerThanItsLease is fetched once: its lease is renewed, and
// another instance that looks for lost work does not find it.
func TestTransferLongerThanItsLease(t *testing.T) {
	s := newSeveral(t)
	const lease = 2 * time.Second
	tuning := []string{"IMAGE_ARCHIVE_LOCK_TTL=2s", "IMAGE_ARCHIVE_SWEEP_INTERVAL=300ms", "IMAGE_ARCHIVE_POLL_INTERVAL=1s"}
	s.instance(tuning...)
	s.instance(tuning...)
	s.imports(1)
	transfer := s.source.next(t)
	<-time.After(5 * lease)
	close(transfer.answer)
	s.awaitArchived(1, 10*time.Second)
	if n := s.source.count(); n != 1 {
		t.Errorf("fetched %d times", n)
	}
	if n := value[int](t, s.db, `SELECT count(*) FROM image_events WHERE kind IN ('interrupted', 'attempt_failed')`); n != 0 {
		t.Errorf("%d attempts ended otherwise", n)
	}
}

// slowStore is a way to a store on which uploads wait.
type slowStore struct {
	uploading chan struct{} // one for each upload that began
	goOn      chan struct{} // closed: uploads go on
	env       []string
}

func newSlowStore(t *testing.T, store *gateway) *slowStore {
	t.Helper()
	s := &slowStore{uploading: make(chan struct{}, 100), goOn: make(chan struct{})}
	var endpoint string
	for _, e := range store.env {
		if v, ok := strings.CutPrefix(e, "S3_ENDPOINT="); ok {
			endpoint = v
		}
	}
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorHandler = func(w nethttp.ResponseWriter, _ *nethttp.Request, _ error) { w.WriteHeader(nethttp.StatusBadGateway) }
	server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.Method == nethttp.MethodPut && strings.Contains(r.URL.Path, "/images/") {
			body, err := io.ReadAll(r.Body) // else nobody sees that the uploader has gone
			if err != nil {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			s.uploading <- struct{}{}
			select {
			case <-s.goOn:
			case <-r.Context().Done():
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.env = append(slices.Clone(store.env), "S3_ENDPOINT="+server.URL)
	return s
}

// TestStoppedInTheMiddleOfAnUpload: it is finished within the grace time or
// given back, never both.
func TestStoppedInTheMiddleOfAnUpload(t *testing.T) {
	tests := []struct {
		name     string
		finishes bool
	}{
		{"finished", true},
		{"given back", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newSeveral(t)
			s.source.letGo()
			slow := newSlowStore(t, s.store)
			stops := s.instance(slow.env...)
			s.imports(1)
			<-slow.uploading
			stops.signal(syscall.SIGTERM)
			stops.out.await(t, "msg=stopping", nil)
			if test.finishes {
				close(slow.goOn)
			}
			if code := stops.stop(); code != exitDone {
				t.Errorf("exit code %d:\n%s", code, stops.out)
			}
			want := 1
			if test.finishes {
				want = 0
			}
			if n := value[int](t, s.db, `SELECT count(*) FROM jobs WHERE kind = 'archive' AND state = 'ready' AND attempt = 0 AND crashes = 0`); n != want {
				t.Errorf("%d jobs were given back as they were, want %d", n, want)
			}
			if n := value[int](t, s.db, `SELECT count(*) FROM jobs WHERE state = 'running'`); n != 0 {
				t.Errorf("%d rows are running with nobody behind them", n)
			}
			if n := s.archived(); n != 1-want {
				t.Errorf("%d images are archived, want %d", n, 1-want)
			}
			s.instance()
			s.awaitArchived(1, 10*time.Second)
			if n := value[int](t, s.db, `SELECT count(*) FROM image_events WHERE kind = 'archived'`); n != 1 {
				t.Errorf("archived %d times", n)
			}
			if n := s.source.count(); n != 1+want {
				t.Errorf("fetched %d times", n)
			}
		})
	}
}
