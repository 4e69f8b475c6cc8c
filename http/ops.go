package http

import (
	"context"
	"net/http"
	"time"

	"afterimage/records"
)

// queueJSON is the answer of GET /api/v1/archive.
type queueJSON struct {
	Queue []records.QueueCount `json:"queue"`
	Store storeJSON            `json:"store"`
}

type storeJSON struct {
	Where  string       `json:"where"`
	Paused bool         `json:"paused"`
	Reason *string      `json:"reason"`
	Since  records.Time `json:"since"` // null unless it is paused
}

func (s *Server) queue(w http.ResponseWriter, r *http.Request) {
	counts, err := s.DB.QueueCounts(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if counts == nil {
		counts = []records.QueueCount{}
	}
	writeJSON(w, http.StatusOK, queueJSON{counts, s.storeJSON()})
}

func (s *Server) storeJSON() storeJSON {
	j := storeJSON{Where: s.Store.String()}
	if reason, since, paused := s.Paused(); paused {
		j.Paused, j.Reason, j.Since = true, &reason, since
	}
	return j
}

// livez says that the process answers.
func (s *Server) livez(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "pass"})
}

// readyTimeout is how long the database may take to answer a readiness check.
const readyTimeout = 3 * time.Second

// readyz says whether requests can be served. A paused store does not make us
// unready: images are secured on our disk meanwhile.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	status, code := "pass", http.StatusOK
	if _, _, paused := s.Paused(); paused {
		status = "warn"
	}
	if err := s.DB.Ping(ctx); err != nil {
		s.Log.Warn("not ready: the database does not answer", "err", err)
		status, code = "fail", http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/health+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	w.Write([]byte(`{"status":"` + status + `"}` + "\n"))
}
