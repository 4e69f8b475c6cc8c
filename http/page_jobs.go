package http

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"afterimage/records"
	"afterimage/web"
)

// onlyOperators lets through who may look after the queue. To others the page
// does not exist.
func (s *Server) onlyOperators(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !viewerOf(r).allows(records.ScopeOpsWrite) {
			s.failPage(w, r, records.ErrNotFound)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) jobsPage(w http.ResponseWriter, r *http.Request) {
	a, err := s.readKinds(r)
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	view := web.JobsView{Layout: s.layout(r, "jobs")}
	view.Alarms = nil // the page tells more of them
	view.Notice = message(s.takeNotice(w, r))
	for _, alarm := range a.Alarms {
		view.Wrong = append(view.Wrong, web.Alarm{Name: alarm.Name, Detail: alarm.Detail, Since: alarm.RaisedAt.Time})
	}
	for _, k := range a.Kinds {
		view.Kinds = append(view.Kinds, web.JobKind{Kind: k.Kind, Waiting: k.States[records.JobWaiting], Ready: k.States[records.JobReady],
			Running: k.States[records.JobRunning], Held: k.States[records.JobHeld] + k.States[records.JobSuspect],
			Off: k.States[records.JobDiscarded], PausedAt: k.PausedAt.Time, PausedBy: k.PausedBy, CanPause: k.Kind != records.KindWatch})
	}
	for _, j := range a.Reasons {
		view.Reasons = append(view.Reasons, web.JobReason{Kind: j.Kind, State: j.State, Reason: j.Reason, Last: j.Last, N: j.N,
			CanRevive: j.State == records.JobDiscarded && j.Kind != records.KindGenerate})
	}
	s.render(w, r, http.StatusOK, "jobs", view)
}

func (s *Server) pauseForm(w http.ResponseWriter, r *http.Request) {
	s.pausedForm(w, r, true, noticePaused)
}

func (s *Server) resumeForm(w http.ResponseWriter, r *http.Request) {
	s.pausedForm(w, r, false, noticeResumed)
}

func (s *Server) pausedForm(w http.ResponseWriter, r *http.Request, paused bool, notice string) {
	if err := s.setPaused(r, paused); err != nil {
		s.failPage(w, r, err)
		return
	}
	s.redirect(w, r, "/ops/jobs", notice)
}

// reviveForm revives all jobs of a kind that were given up for one reason.
func (s *Server) reviveForm(w http.ResponseWriter, r *http.Request) {
	err := readForm(r)
	if kind, reason := chi.URLParam(r, "kind"), r.PostForm.Get("reason"); err == nil && kindForm.MatchString(kind) {
		_, err = s.DB.Revive(r.Context(), "", records.JobFilter{Kind: kind, Reason: &reason})
	}
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	s.redirect(w, r, "/ops/jobs", noticeRevived)
}
