package http

import (
	"context"
	"net/http"
	"regexp"
	"time"

	"afterimage/records"
)

// queueJSON is the answer of GET /api/v1/archive.
type queueJSON struct {
	Queue []records.QueueCount `json:"queue"`
	Store storeJSON            `json:"store"`
	// OldestPending is when the oldest image was made that is not archived yet.
	OldestPending records.Time      `json:"oldest_pending_at"`
	Expiring      expiringJSON      `json:"sources_expiring"`
	NextExpiry    records.Time      `json:"next_expiry_at"`
	Failures      []records.Failure `json:"failures"` // of the last 24 hours, and what waits because of one
	Forecast      forecastJSON      `json:"forecast"`
}

type storeJSON struct {
	Where  string       `json:"where"`
	Paused bool         `json:"paused"`
	Reason *string      `json:"reason"`
	Since  records.Time `json:"since"` // null unless it is paused
}

// expiringJSON counts sources that die within a time, before we have their bytes.
type expiringJSON struct {
	FiveMinutes    int64 `json:"5m"`
	QuarterHour    int64 `json:"15m"`
	Hour           int64 `json:"1h"`
	BeforeItClears int   `json:"before_the_queue_clears"`
}

type forecastJSON struct {
	Waiting   int64   `json:"waiting"`
	PerMinute float64 `json:"archived_per_minute"` // by this process, over the last ten minutes
	Clears    *int64  `json:"clears_in_seconds"`   // null: nothing waits, or nothing is archived
}

// failuresShown is how far back failures are grouped.
const failuresShown = 24 * time.Hour

func (s *Server) queue(w http.ResponseWriter, r *http.Request) {
	a, err := s.readQueue(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, a)
}

func (s *Server) readQueue(ctx context.Context) (a queueJSON, err error) {
	f, err := s.DB.Figures(ctx)
	if err != nil {
		return a, err
	}
	if a.Failures, err = s.DB.Failures(ctx, s.DB.Now().Add(-failuresShown)); err != nil {
		return a, err
	}
	instances, _, err := s.DB.LiveInstances(ctx)
	if err != nil {
		return a, err
	}
	clears, err := s.forecast(ctx, s.sampleOf(f, instances))
	a.Queue, a.Failures = append([]records.QueueCount{}, f.Queue...), append([]records.Failure{}, a.Failures...) // lists, not null
	a.Store, a.OldestPending, a.NextExpiry = s.storeJSON(), f.OldestPending, f.NextExpiry
	a.Expiring = expiringJSON{f.Expiring[0], f.Expiring[1], f.Expiring[2], clears.DieFirst}
	a.Forecast = forecastJSON{Waiting: clears.Waiting, PerMinute: clears.PerMinute}
	if clears.Clears > 0 {
		seconds := int64(clears.Clears.Seconds())
		a.Forecast.Clears = &seconds
	}
	return a, err
}

// retryArchive archives everybody's images again that failed for a reason.
func (s *Server) retryArchive(w http.ResponseWriter, r *http.Request) {
	var req retryRequest
	err := readJSON(r, &req)
	if err == nil && !reasonForm.MatchString(req.Reason) {
		err = invalid("reason", "Name a reason as the images have it, such as source_error.")
	}
	n := 0
	if err == nil {
		n, err = s.retryReason(r, req.Reason)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, retryAnswer{n})
}

// retryRequest is the body of POST /api/v1/archive/retry.
type retryRequest struct {
	Reason string `json:"reason"`
}

type retryAnswer struct {
	Retried int `json:"retried"`
}

func (s *Server) retryReason(r *http.Request, reason string) (int, error) {
	n, err := s.DB.RetryFailed(r.Context(), reason)
	s.Log.Info("images that failed are archived again", "reason", reason, "n", n, "by", viewerOf(r).user.Username)
	return n, err
}

// reasonForm is what a reason looks like; one that no image has is no mistake.
var reasonForm = regexp.MustCompile(`^[a-z][a-z_]{0,39}$`)

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
