package http

import (
	"net/http"
	"slices"
	"strings"
)

const (
	corsMethods = "GET, HEAD, POST, PATCH, DELETE"
	corsHeaders = "Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, X-Request-Id"
	// corsExposed are the headers that a script may read beside the simple ones.
	corsExposed = "ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id"
)

// cors lets scripts of the sites that the settings name use the API. Without
// credentials: they send a key, and no cookie of ours counts for them.
func (s *Server) cors(next http.Handler) http.Handler {
	if len(s.CORSOrigins) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isAPI(r) {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Add("Vary", "Origin")
		origin := strings.ToLower(r.Header.Get("Origin"))
		if origin == "" || !slices.Contains(s.CORSOrigins, origin) && !slices.Contains(s.CORSOrigins, "*") {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		h.Set("Access-Control-Expose-Headers", corsExposed)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", corsMethods)
			h.Set("Access-Control-Allow-Headers", corsHeaders)
			h.Set("Access-Control-Max-Age", "7200")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}
