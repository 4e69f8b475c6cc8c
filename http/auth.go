package http

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"afterimage/records"
)

// viewer is who makes a request.
type viewer struct {
	user  *records.User
	key   *records.APIKey // nil: signed in by cookie
	token string          // of the session
}

// allows reports whether the viewer has a scope; everybody has the empty one. A person has all scopes of
// their role, a key only its own, and neither gives a member those for
// operators.
func (v *viewer) allows(scope string) bool {
	if strings.HasPrefix(scope, "ops:") && v.user.Role != records.Admin {
		return false
	}
	return v.key == nil || scope == "" || v.key.Allows(scope)
}

type viewerKey struct{}

// viewerOf returns who makes the request; only for routes behind need or
// signedIn.
func viewerOf(r *http.Request) *viewer { return r.Context().Value(viewerKey{}).(*viewer) }

// sessionOf returns who makes the request and was let through; nil on open
// routes.
func sessionOf(r *http.Request) *viewer {
	v, _ := r.Context().Value(viewerKey{}).(*viewer)
	return v
}

func withViewer(r *http.Request, v *viewer) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), viewerKey{}, v))
}

// identify finds out who makes a request; nil if nobody says who they are. An
// Authorization header that does not work is an error, even beside a cookie
// that would.
func (s *Server) identify(r *http.Request) (*viewer, error) {
	if auth := r.Header.Get("Authorization"); auth != "" {
		return s.identifyKey(r.Context(), auth)
	}
	return s.session(r)
}

// session finds out who is signed in; nil if nobody is.
func (s *Server) session(r *http.Request) (*viewer, error) {
	cookie, err := r.Cookie(s.cookieName())
	if err != nil {
		return nil, nil
	}
	user, err := s.DB.SessionUser(r.Context(), cookie.Value)
	if errors.Is(err, records.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &viewer{user: user, token: cookie.Value}, nil
}

func (s *Server) identifyKey(ctx context.Context, auth string) (*viewer, error) {
	scheme, secret, _ := strings.Cut(auth, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return nil, unauthorized("Use Authorization: Bearer with an API key.")
	}
	v, err := s.lookUpKey(ctx, strings.TrimSpace(secret))
	if errors.Is(err, records.ErrNotFound) {
		return nil, unauthorized("The API key does not exist, was revoked or has expired.")
	}
	return v, err
}

func unauthorized(detail string) *problem {
	return newProblem(http.StatusUnauthorized, codeUnauthorized, detail)
}

// need lets through who has a scope.
func (s *Server) need(scope string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		limited := s.limitRate(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			v, err := s.identify(r)
			if err == nil && v == nil {
				err = unauthorized("Sign in, or send an API key: Authorization: Bearer afi_…")
			}
			if err == nil && !v.allows(scope) {
				err = newProblem(http.StatusForbidden, codeScope, "This needs the scope "+scope+".")
			}
			if err != nil {
				if asProblem(err).Status == http.StatusUnauthorized {
					w.Header().Set("WWW-Authenticate", `Bearer realm="Afterimage"`)
				}
				s.fail(w, r, err)
				return
			}
			limited.ServeHTTP(w, withViewer(r, v))
		})
	}
}

// onlyIDs answers for an address that cannot exist before a database is asked
// about it, one of which does not even take every text.
func (s *Server) onlyIDs(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := chi.URLParam(r, "id"); id != "" && !records.IsID(id) {
			s.oops(w, r, records.ErrNotFound)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// cookieName has the prefix with which browsers refuse a cookie that was not
// set over https by this very host, where that is possible.
func (s *Server) cookieName() string {
	if s.secure {
		return "__Host-afterimage"
	}
	return "afterimage"
}

func (s *Server) sessionCookie(token string, maxAge int) *http.Cookie {
	return s.cookie(s.cookieName(), token, maxAge)
}

// crossOrigin refuses what another site makes a browser send with its cookies.
func (s *Server) crossOrigin() (func(http.Handler) http.Handler, error) {
	guard := http.NewCrossOriginProtection()
	// A proxy may pass another Host on than the one that people see.
	if err := guard.AddTrustedOrigin(s.BaseURL); err != nil {
		return nil, err
	}
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.oops(w, r, newProblem(http.StatusForbidden, codeCrossOrigin, "This request comes from another site."))
	}))
	return func(next http.Handler) http.Handler {
		guarded := guard.Handler(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// A key is nothing that a browser sends by itself, and beside one no
			// cookie counts.
			if isAPI(r) && r.Header.Get("Authorization") != "" {
				next.ServeHTTP(w, r)
				return
			}
			guarded.ServeHTTP(w, r)
		})
	}, nil
}

// isAPI reports whether a program asks, which wants a problem and not a page.
func isAPI(r *http.Request) bool {
	return slices.ContainsFunc([]string{"/api/", "/v1/", "/img/", "/thumb/"}, func(p string) bool { return strings.HasPrefix(r.URL.Path, p) })
}
