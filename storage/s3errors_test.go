package storage

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnswersAreSorted(t *testing.T) {
	for _, row := range []struct {
		status                int
		code, reason, setting string
		final                 bool
	}{
		{403, "AccessDenied", ReasonDenied, "S3_ACCESS_KEY_ID", false},
		{403, "InvalidAccessKeyId", ReasonDenied, "S3_ACCESS_KEY_ID", false},
		{403, "SignatureDoesNotMatch", ReasonDenied, "S3_SECRET_ACCESS_KEY", false},
		{404, "NoSuchBucket", ReasonMissing, "S3_BUCKET", false},
		{301, "PermanentRedirect", ReasonDenied, "S3_REGION", false},
		{400, "AuthorizationHeaderMalformed", ReasonDenied, "S3_REGION", false},
		{400, "InvalidRegionName", ReasonDenied, "S3_REGION", false},
		{501, "NotImplemented", ReasonError, "S3_ENDPOINT", false},
		{507, "XMinioStorageFull", ReasonFull, "", false},
		{507, "Whatever", ReasonFull, "", false},
		{403, "QuotaExceeded", ReasonFull, "", false},
		{400, "EntityTooLarge", ReasonError, "", true},
		{413, "Whatever", ReasonError, "", true},
		{400, "KeyTooLongError", ReasonError, "", true},
		{409, "OperationAborted", ReasonError, "", false},
		{400, "IncompleteBody", ReasonError, "", false},
		{408, "RequestTimeout", ReasonUnreachable, "", false},
		{429, "TooManyRequests", ReasonUnreachable, "", false},
		{500, "InternalError", ReasonUnreachable, "", false},
		{503, "SlowDown", ReasonUnreachable, "", false},
	} {
		t.Run(row.code, func(t *testing.T) {
			t.Parallel()
			_, err := answering(t, row.status, row.code).store(t).Put(t.Context(), object("a.png", "x"), strings.NewReader("x"))
			e := wantReason(t, err, row.reason)
			if e.Setting != row.setting || e.Final != row.final || e.Status != row.status || e.Code != row.code {
				t.Errorf("got %+v, want %+v", e, row)
			}
			if text := err.Error(); strings.Contains(text, "very-secret") || strings.Contains(text, "Signature=") || strings.Contains(text, "https://") {
				t.Errorf("tells too much: %s", text)
			}
		})
	}
}

// The SDK's retry quota is one bucket for all requests: after 18 failing puts a
// healthy one got no second try (aws-sdk-go-v2#3413).
func TestFailuresDoNotUseUpARetryQuota(t *testing.T) {
	var failing, once atomic.Bool
	failing.Store(true)
	server := newStub(t, func(s *stub) {
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			if failing.Load() || once.CompareAndSwap(true, false) {
				xmlError(w, http.StatusServiceUnavailable, "SlowDown")
				return true
			}
			return false
		}
	})
	s := server.store(t)
	var wg sync.WaitGroup
	for range 60 {
		wg.Go(func() {
			if _, err := s.Put(t.Context(), object("a.png", "x"), strings.NewReader("x")); err == nil {
				t.Error("stored by a server that refuses everything")
			}
		})
	}
	wg.Wait()
	failing.Store(false)
	once.Store(true)
	put(t, s, "a.png", "x")
}

// A proxy's or a wrong port's web page with status 200 is success to PutObject,
// an object to GetObject, and an empty list to ListObjectsV2.
func TestAWebPageIsNoSuccess(t *testing.T) {
	server := newStub(t, func(s *stub) {
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html><body>Welcome</body></html>")
			return true
		}
	})
	s := server.store(t)
	_, putErr := s.Put(t.Context(), object("a.png", "x"), strings.NewReader("x"))
	_, statErr := s.Stat(t.Context(), "a.png")
	_, _, openErr := s.Open(t.Context(), "a.png", 0, -1)
	_, listErr := s.List(t.Context(), "", "", 1)
	for _, err := range []error{putErr, statErr, openErr, listErr, s.Check(t.Context())} {
		if e := wantReason(t, err, ReasonError); e.Setting != "S3_ENDPOINT" {
			t.Errorf("%v, want S3_ENDPOINT named", err)
		}
	}
}

// The SDK has no timeout of its own: a server that takes the connection and says
// nothing held a slot for ever.
func TestABlackHoleEndsWithTheDeadline(t *testing.T) {
	server := newStub(t, func(s *stub) {
		s.before = func(_ http.ResponseWriter, r *http.Request) bool {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			panic(http.ErrAbortHandler) // returning would answer 200, sometimes in time
		}
	})
	s := server.store(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, putErr := s.Put(ctx, object("a.png", "x"), strings.NewReader("x"))
	_, _, openErr := s.Open(ctx, "a.png", 0, -1)
	for _, err := range []error{putErr, openErr} {
		wantReason(t, err, ReasonUnreachable)
	}
}

func TestTheDeadlineOfAPutGrowsWithItsSize(t *testing.T) {
	for _, row := range []struct {
		name string
		size int64
		want time.Duration
	}{
		{"nothing", 0, 30 * time.Second},
		{"1 MiB", 1 << 20, 38 * time.Second},
		{"the largest image", 64 << 20, 542 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := putTime(row.size); got != row.want {
				t.Errorf("%v, want %v", got, row.want)
			}
		})
	}
}

// A plain read timeout kills a transfer that goes on. Only silence ends one: 29 s
// between two pieces are fine for hours, 30 s are not; and a reader of ours that
// takes a day between two reads is no fault of the store.
func TestOnlySilenceEndsARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := func() (*watchedBody, *io.PipeWriter) {
			pr, pw := io.Pipe()
			ctx, w := watch(t.Context())
			context.AfterFunc(ctx, func() { pw.CloseWithError(ctx.Err()) }) // as the transport does
			w.pause()
			return &watchedBody{body: pr, watchdog: w, op: "open object", key: "a.png"}, pw
		}
		piece := make([]byte, 1)

		body, server := begin()
		for range 500 {
			go func() { time.Sleep(29 * time.Second); _, _ = server.Write([]byte("x")) }()
			if _, err := body.Read(piece); err != nil {
				t.Fatalf("a progressing read ended: %v", err)
			}
			time.Sleep(24 * time.Hour)
		}
		noError(t, body.Close())

		body, _ = begin()
		start := time.Now()
		_, err := body.Read(piece)
		if wantReason(t, err, ReasonUnreachable); !errors.Is(err, errSlow) || time.Since(start) != stallTime {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		noError(t, body.Close())
	})
}

// A client that goes away must stop the transfer from the store, not drain it.
func TestClosingAReadStopsTheTransfer(t *testing.T) {
	stopped := make(chan struct{})
	server := newStub(t, func(s *stub) {
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("ETag", `"etag"`)
			w.Header().Set("Content-Length", "1000000000")
			_, _ = w.Write([]byte("x"))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			close(stopped)
			return true
		}
	})
	body, _, err := server.store(t).Open(t.Context(), "a.png", 0, -1)
	noError(t, err)
	_, err = body.Read(make([]byte, 1))
	noError(t, err)
	noError(t, body.Close())
	<-stopped
}

// Half an object must not be read as a whole one.
func TestATruncatedReadIsAnError(t *testing.T) {
	server := newStub(t, func(s *stub) {
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("ETag", `"etag"`)
			w.Header().Set("Content-Length", "10")
			_, _ = w.Write([]byte("half"))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	body, _, err := server.store(t).Open(t.Context(), "a.png", 0, -1)
	noError(t, err)
	defer body.Close()
	_, err = io.ReadAll(body)
	wantReason(t, err, ReasonUnreachable)
}
