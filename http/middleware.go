package http

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

type requestIDKey struct{}

// requestID is what the log and the answer name a request by.
func requestID(r *http.Request) string {
	id, _ := r.Context().Value(requestIDKey{}).(string)
	return id
}

var requestIDForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// nameRequest takes the caller's request id if it has the form of one.
func nameRequest(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("X-Request-Id")
		if !requestIDForm.MatchString(id) {
			id = rand.Text()[:12]
		}
		w.Header().Set("X-Request-Id", id)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id)))
	})
}

// route is the pattern that a request matched, which unlike its path is no
// secret and does not differ for each image.
func route(r *http.Request) string {
	if c := chi.RouteContext(r.Context()); c != nil {
		return c.RoutePattern()
	}
	return ""
}

// logRequests writes a line a request.
func (s *Server) logRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		defer func() {
			level := slog.LevelInfo
			if r.URL.Path == "/livez" || r.URL.Path == "/readyz" {
				level = slog.LevelDebug
			}
			s.Metrics.request(r, ww.Status(), time.Since(began))
			s.Log.Log(r.Context(), level, "request", "request", requestID(r), "method", r.Method, "route", route(r),
				"status", ww.Status(), "bytes", ww.BytesWritten(), "took", time.Since(began))
		}()
		next.ServeHTTP(ww, r)
	})
}

// recoverPanics turns a panic into an answer of 500, where one is still
// possible.
func (s *Server) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			s.Log.Error("a handler panicked", "request", requestID(r), "route", route(r), "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			if ww, ok := w.(middleware.WrapResponseWriter); ok && ww.Status() != 0 {
				panic(http.ErrAbortHandler) // half an answer is out: let it be seen as broken
			}
			s.oops(w, r, fmt.Errorf("panic: %v", v))
		}()
		next.ServeHTTP(w, r)
	})
}

// oops answers a failure as whoever asks expects it: a page or a problem.
func (s *Server) oops(w http.ResponseWriter, r *http.Request, err error) {
	if isAPI(r) {
		s.fail(w, r, err)
		return
	}
	s.failPage(w, r, err)
}

// secureHeaders are on every answer; a route may be stricter, never looser.
func (s *Server) secureHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", s.csp)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		next.ServeHTTP(w, r)
	})
}

// maxBody bounds a request's body in bytes, where it has no images (upload.go).
const maxBody = 1 << 20

func limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, bodyLimit(r))
		next.ServeHTTP(w, r)
	})
}

// answerTime is how long whoever asks may take to take an answer, and hold our
// side of it. What has no end, or may be large, sets its own: see stream and
// patient.
const answerTime = 2 * time.Minute

// imageTime is answerTime for the bytes of an image.
const imageTime = time.Hour

// hurry drops clients that do not take their answer.
func hurry(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit := answerTime
		if strings.HasPrefix(r.URL.Path, "/img/") || strings.HasPrefix(r.URL.Path, "/v1/") {
			limit = imageTime
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit)) // tests have writers without
		next.ServeHTTP(w, r)
	})
}
