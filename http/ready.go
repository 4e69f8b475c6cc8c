package http

import (
	"context"
	"net/http"
	"time"
)

// readyTimeout is how long the database may take to answer a readiness check.
const readyTimeout = 3 * time.Second

// littleSpace in bytes on the spool's disk is worth a warning: images wait
// there while the store is down.
const littleSpace = 1 << 30

// health is an answer in the form of health+json.
type health struct {
	Status string                    `json:"status"` // pass, warn or fail
	Checks map[string][]healthResult `json:"checks,omitempty"`
}

type healthResult struct {
	Status string `json:"status"`
	Value  *int64 `json:"observedValue,omitempty"`
	Unit   string `json:"observedUnit,omitempty"`
	Output string `json:"output,omitempty"` // a reason; anybody may read it
	Time   string `json:"time"`
}

// readyz says whether requests can be served; with ?verbose, what it looked at.
// A paused store or a full disk does not make us unready: pages and stored
// images are served all the same.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	checks := map[string][]healthResult{
		"database": {s.databaseHealth(r.Context())}, "store": {s.storeHealth()}, "disk": {s.diskHealth()},
	}
	h, code := health{Status: "pass"}, http.StatusOK
	now := time.Now().UTC().Format(time.RFC3339)
	for _, results := range checks {
		results[0].Time = now
		switch status := results[0].Status; {
		case status == "fail":
			h.Status, code = status, http.StatusServiceUnavailable
		case status == "warn" && h.Status == "pass":
			h.Status = status
		}
	}
	if r.URL.Query().Has("verbose") {
		h.Checks = checks
	}
	w.Header().Set("Content-Type", "application/health+json")
	writeJSON(w, code, h)
}

func (s *Server) databaseHealth(ctx context.Context) healthResult {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	began := time.Now()
	if err := s.DB.Ping(ctx); err != nil {
		s.Log.Warn("not ready: the database does not answer", "err", err)
		return healthResult{Status: "fail", Output: "the database does not answer"}
	}
	took := time.Since(began).Milliseconds()
	return healthResult{Status: "pass", Value: &took, Unit: "ms"}
}

func (s *Server) storeHealth() healthResult {
	if reason, _, paused := s.Paused(); paused {
		return healthResult{Status: "warn", Output: reason}
	}
	return healthResult{Status: "pass"}
}

func (s *Server) diskHealth() healthResult {
	free, err := s.Spool.Free()
	switch {
	case err != nil:
		return healthResult{Status: "pass", Output: "not known here"}
	case free < littleSpace:
		return healthResult{Status: "warn", Value: &free, Unit: "bytes", Output: "little space is free"}
	}
	return healthResult{Status: "pass", Value: &free, Unit: "bytes"}
}
