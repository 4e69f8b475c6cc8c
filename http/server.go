// Package http owns the routes: who may call them, what they accept, and what
// they answer to people, to programs and to clients of other APIs. It turns
// requests into calls of the other packages and knows no SQL, no provider's
// API and no storage server.
//
// Every route is in routes.go, with the scope it needs. Every error that a
// program sees is a problem with a stable code (problem.go).
package http

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"golang.org/x/sync/semaphore"

	"afterimage/archive"
	"afterimage/fetch"
	"afterimage/generate"
	"afterimage/records"
	"afterimage/storage"
	"afterimage/web"
)

// Config is what a Server needs.
type Config struct {
	DB        *records.DB
	Store     storage.Store
	Spool     *storage.Spool
	Fetch     *fetch.Client
	Providers []generate.Provider
	Site      *web.Site
	Log       *slog.Logger

	BaseURL         string // that people see, without a slash at its end
	PrivateImages   bool   // only its owner may see an image; default: who has the link may
	MaxAttempts     int    // of the archive worker, as it is shown
	MaxBytes        int64  // of one image, as it is shown
	DefaultLanguage string // default en
	// CORSOrigins are the sites whose scripts may use the API with a key, or "*"; default: none.
	CORSOrigins []string

	// Watch shows unfinished pictures of a generation that runs in this process,
	// until stop is called.
	Watch func(generationID string) (sights <-chan generate.Sight, stop func())
	// PublicURL is where anybody can read an object without us; nil: nowhere,
	// so that images pass through here.
	PublicURL func(key string) string
	// Paused says whether the store is paused, why, and since when.
	Paused func() (reason string, since records.Time, paused bool)
	// Export writes images with their sidecars.
	Export func(ctx context.Context, t archive.Target, o archive.Export) (archive.Exported, error)
	// Verify reads the object of an image back and records what it finds.
	Verify func(ctx context.Context, i *records.Image) (archive.Found, error)
	// Metrics are served at /metrics; nil: there are none.
	Metrics      *Metrics
	MetricsToken string // who has it may read them; empty: only this machine
	Watched      Watched
	// Webhooks judges the addresses that people want to be told at.
	Webhooks *fetch.Client
	// TrashRetention is how long an image stays in the trash; 0: for ever.
	TrashRetention time.Duration
	// Settings are what the setup page shows of the settings.
	Settings SettingNotes
}

// SettingNotes are what the settings say of providers and storage.
type SettingNotes struct {
	Warnings           []string // what is wrong with them, a line each, for operators
	Providers, Storage []web.SettingNote
	Effective          []web.Setting // every variable, as operators see it
}

// Server answers requests. Use New.
type Server struct {
	Config
	router      chi.Router
	hub         *hub
	feeds       feeds
	throttle    *throttle
	attempts    *attempts
	bigBodies   *semaphore.Weighted // JSON with images in it, at a time: each is held as a whole
	keys        keys
	rates       rates
	description []byte              // of the API
	hashing     *semaphore.Weighted // password hashes at a time: each takes 19 MiB
	cursorKey   []byte
	providers   map[string]generate.Info
	order       []string // provider names in the order they were given
	secure      bool     // cookies only over https
	csp         string   // of pages
	setupDone   atomic.Bool
}

// New makes a Server. Give its Changed method to records.DB.OnChange.
func New(ctx context.Context, c Config) (*Server, error) {
	base, err := url.Parse(c.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("AFTERIMAGE_BASE_URL: %w", err)
	}
	key, err := c.DB.Secret(ctx, "cursors")
	if err != nil {
		return nil, err
	}
	s := &Server{Config: c, csp: web.CSP(), hub: newHub(), throttle: newThrottle(), attempts: newAttempts(), bigBodies: semaphore.NewWeighted(1), hashing: semaphore.NewWeighted(2),
		cursorKey: key, providers: map[string]generate.Info{}, secure: base.Scheme == "https"}
	if c.PublicURL != nil {
		s.csp = web.CSP(c.PublicURL(""))
	}
	for _, p := range c.Providers {
		info := p.Info()
		s.providers[info.Name] = info
		s.order = append(s.order, info.Name)
	}
	if s.Metrics != nil {
		s.Metrics.watch(c.Watched, s.hub.waiters)
	}
	if s.description, err = openAPI(c.BaseURL); err != nil {
		return nil, err
	}
	if s.router, err = s.routes(); err != nil {
		return nil, err
	}
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.router.ServeHTTP(w, r) }

// Drain ends the answers that wait for something: event streams and held
// requests. Call it when stopping, so that nobody who waits keeps the others
// from finishing in their own time. Calling it again does no harm.
func (s *Server) Drain() { s.hub.close() }

// Changed tells everybody who waits for a person's images that one changed; an
// empty id means that anybody's may have.
func (s *Server) Changed(userID string) { s.hub.tell(userID) }
