package http

import (
	"net/http"
	"regexp"

	"github.com/go-chi/chi/v5"

	"afterimage/records"
)

// jobKindsJSON is the answer of GET /api/v1/jobs: the queue by kind, what did
// not succeed by reason, and what is wrong.
type jobKindsJSON struct {
	Kinds   []records.KindCount `json:"kinds"`
	Reasons []records.JobReason `json:"reasons"`
	Alarms  []records.Alarm     `json:"alarms"`
}

func (s *Server) readKinds(r *http.Request) (a jobKindsJSON, err error) {
	if a.Kinds, err = s.DB.KindCounts(r.Context()); err != nil {
		return a, err
	}
	if a.Reasons, err = s.DB.JobReasons(r.Context()); err != nil {
		return a, err
	}
	a.Alarms, err = s.DB.Alarms(r.Context())
	return a, err
}

func (s *Server) jobKinds(w http.ResponseWriter, r *http.Request) {
	a, err := s.readKinds(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	a.Reasons, a.Alarms = append([]records.JobReason{}, a.Reasons...), append([]records.Alarm{}, a.Alarms...) // lists, not null
	writeJSON(w, http.StatusOK, a)
}

// jobJSON is a job as operators see it: what it is about, not what is in that.
type jobJSON struct {
	ID        string       `json:"id"`
	Kind      string       `json:"kind"`
	Ref       *string      `json:"ref"`
	UserID    *string      `json:"user_id"`
	State     string       `json:"state"`
	Attempt   int          `json:"attempt"`
	Crashes   int          `json:"crashes"`
	RunAt     records.Time `json:"run_at"`
	CreatedAt records.Time `json:"created_at"`
	LastError *string      `json:"last_error"`
}

// listJobs lists jobs, oldest first: ?kind=&state=&reason=&cursor=&limit=.
func (s *Server) listJobs(w http.ResponseWriter, r *http.Request) {
	q, user := r.URL.Query(), viewerOf(r).user.ID
	limit, err := limitOf(r)
	f := records.JobFilter{Kind: q.Get("kind"), State: q.Get("state"), Limit: limit + 1}
	for name, text := range map[string]string{"kind": f.Kind, "state": f.State, "reason": q.Get("reason")} {
		if err == nil {
			err = checkText(name, text, maxImportName*10)
		}
	}
	if q.Has("reason") {
		reason := q.Get("reason")
		f.Reason = &reason
	}
	if cursor := q.Get("cursor"); err == nil && cursor != "" {
		var b []byte
		b, err = s.unseal("job", user, cursor)
		f.After = string(b)
	}
	var list []records.Job
	if err == nil {
		list, err = s.DB.ListJobs(r.Context(), f)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var next *string
	if len(list) > limit {
		list = list[:limit]
		next = optional(s.seal("job", user, []byte(list[limit-1].ID)))
	}
	items := make([]jobJSON, len(list))
	for n, j := range list {
		items[n] = jobJSON{ID: j.ID, Kind: j.Kind, Ref: j.Ref, UserID: optional(j.UserID), State: j.State, Attempt: j.Attempt,
			Crashes: j.Crashes, RunAt: j.RunAt, CreatedAt: j.CreatedAt, LastError: optional(j.LastError)}
	}
	writeJSON(w, http.StatusOK, page[jobJSON]{items, next})
}

type reviveRequest struct {
	ID     string  `json:"id"`
	Kind   string  `json:"kind"`
	Reason *string `json:"reason"`
}

type reviveAnswer struct {
	Revived int `json:"revived"`
}

// reviveJobs gives jobs that were given up all their attempts again: one, or
// all of a kind, or those of it with a reason.
func (s *Server) reviveJobs(w http.ResponseWriter, r *http.Request) {
	var req reviveRequest
	err := readJSON(r, &req)
	switch {
	case err != nil:
	case (req.ID == "") == (req.Kind == ""):
		err = invalid("kind", "Name either the id of a job or a kind.")
	case checkText("kind", req.ID+req.Kind, maxImportName) != nil:
		err = invalid("kind", "There is no such job.")
	case req.Kind == records.KindGenerate:
		err = invalid("kind", "A generation that was given up is not made again, since it may have been paid for. Ask for it anew.")
	}
	n := 0
	if err == nil {
		n, err = s.DB.Revive(r.Context(), req.ID, records.JobFilter{Kind: req.Kind, Reason: req.Reason})
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.Log.Info("jobs were revived", "kind", req.Kind, "job", req.ID, "n", n, "by", viewerOf(r).user.Username)
	writeJSON(w, http.StatusOK, reviveAnswer{n})
}

var kindForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// setPaused pauses or resumes a kind of job. The watch goes on: it is what
// tells that something is wrong.
func (s *Server) setPaused(r *http.Request, paused bool) error {
	kind, by := chi.URLParam(r, "kind"), viewerOf(r).user.Username
	if !kindForm.MatchString(kind) || kind == records.KindWatch && paused {
		return newProblem(http.StatusNotFound, codeNotFound, "There is no such kind of job, or it cannot be paused.")
	}
	s.Log.Info("a kind of job was paused or resumed", "kind", kind, "paused", paused, "by", by)
	if paused {
		return s.DB.PauseKind(r.Context(), kind, by)
	}
	return s.DB.ResumeKind(r.Context(), kind)
}

func (s *Server) pauseKind(w http.ResponseWriter, r *http.Request)  { s.answerPaused(w, r, true) }
func (s *Server) resumeKind(w http.ResponseWriter, r *http.Request) { s.answerPaused(w, r, false) }

func (s *Server) answerPaused(w http.ResponseWriter, r *http.Request, paused bool) {
	if err := s.setPaused(r, paused); err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
