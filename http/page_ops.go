package http

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"afterimage/records"
	"afterimage/web"
)

// deskRoutes are for operators.
func (s *Server) deskRoutes(r chi.Router) {
	r.Get("/ops", s.opsPage)
	r.Post("/ops/retry", s.retryReasonForm)
	r.Post("/ops/sources/{id}/retry", s.retrySourceForm)
	r.Get("/ops/system", s.systemPage)
	r.Post("/ops/test/store", s.testStoreForm)
	r.Post("/ops/test/providers/{name}", s.testProviderForm)
}

func (s *Server) opsPage(w http.ResponseWriter, r *http.Request) {
	view, err := s.desk(r.Context(), s.layout(r, "ops"), r.URL.Query().Get("range"))
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	view.Alarms = nil // the page tells more of them
	view.Notice = message(s.takeNotice(w, r))
	if view.Still = r.URL.Query().Get("live") == "0"; !view.Still {
		view.LiveURL = "/ops/live?range=" + view.Range
	}
	s.render(w, r, http.StatusOK, "ops", view)
}

// deskEvery is how often an open page is told how things are.
const deskEvery = 5 * time.Second

// liveDesk tells an open desk how things are.
func (s *Server) liveDesk(w http.ResponseWriter, r *http.Request) {
	l := s.newStream(w, r)
	var told time.Time
	l.tell = func(ctx context.Context) error {
		if time.Since(told) < deskEvery-liveGap {
			return nil
		}
		first := told.IsZero()
		if told = time.Now(); first {
			return nil // the page has just been made
		}
		view, err := s.desk(ctx, s.layout(r, "ops"), r.URL.Query().Get("range"))
		var html bytes.Buffer
		if err == nil {
			err = s.Site.RenderDesk(&html, l.lang, view)
		}
		if err != nil {
			return err
		}
		return l.send([]byte("data: " + lineEnds.Replace(strings.TrimSpace(html.String())) + "\n\n"))
	}
	l.serve()
}

// desk reads all that the page shows.
func (s *Server) desk(ctx context.Context, l web.Layout, span string) (web.OpsView, error) {
	ctx, cancel := context.WithTimeout(ctx, deskTime)
	defer cancel()
	v := web.OpsView{Layout: l, Range: span, Now: time.Now()}
	if _, ok := deskRanges[span]; !ok {
		v.Range = "1h"
	}
	f, err := s.DB.Figures(ctx)
	if err != nil {
		return v, err
	}
	instances, beat, err := s.DB.LiveInstances(ctx)
	if err != nil {
		return v, err
	}
	now := s.sampleOf(f, instances)
	for n := range f.Expiring {
		v.Expiring[n] = int(f.Expiring[n])
	}
	for _, step := range []func() error{
		func() error { return s.deskCharts(ctx, &v, now) },
		func() error { return s.deskFailures(ctx, &v) },
		func() error { return s.deskSources(ctx, &v, now) },
		func() error { return s.deskProblems(ctx, &v, now) },
		func() error { return s.deskFacts(ctx, &v, instances, beat) },
	} {
		if err := step(); err != nil {
			return v, err
		}
	}
	return v, nil
}

// deskFailures groups what failed, and what waits because of a failure, by
// reason alone.
func (s *Server) deskFailures(ctx context.Context, v *web.OpsView) error {
	list, err := s.DB.Failures(ctx, s.DB.Now().Add(-failuresShown))
	if err != nil {
		return err
	}
	said, err := s.DB.JobReasons(ctx)
	if err != nil {
		return err
	}
	for _, f := range list {
		n := slices.IndexFunc(v.Failures, func(row web.FailureRow) bool { return row.Reason == f.Reason })
		if n < 0 {
			n = len(v.Failures)
			v.Failures = append(v.Failures, web.FailureRow{Reason: f.Reason, Detail: lastSaid(said, f.Reason)})
		}
		row := &v.Failures[n]
		row.N += f.N
		row.Retryable += f.Retryable
		if f.Status == records.RetryWait || f.Status == records.Archiving {
			row.Waiting += f.N
		}
	}
	slices.SortStableFunc(v.Failures, func(a, b web.FailureRow) int { return cmp.Compare(b.N, a.N) })
	for n := range v.Failures {
		v.Failures[n].Share = max(1, v.Failures[n].N*100/v.Failures[0].N)
	}
	return nil
}

// lastSaid is what a job said that failed for a reason: "source_error: status 502".
func lastSaid(said []records.JobReason, reason string) string {
	for _, j := range said {
		if j.Kind == records.KindArchive && j.Reason == reason {
			_, rest, _ := strings.Cut(j.Last, ": ")
			return rest
		}
	}
	return ""
}

// dyingShown is how many of the sources that die next are named.
const dyingShown = 10

func (s *Server) deskSources(ctx context.Context, v *web.OpsView, now records.Sample) error {
	list, err := s.DB.NextToDie(ctx, dyingShown)
	for _, i := range list {
		v.Dying = append(v.Dying, web.DyingSource{ID: i.ID, Status: string(i.Status), ExpiresAt: i.ExpiresAt.Time, CanRetry: i.Status == records.RetryWait})
	}
	if err != nil {
		return err
	}
	f, err := s.forecast(ctx, now)
	v.Forecast = web.Forecast(f)
	return err
}

// late is how long an image may wait before operators are told.
const late = 5 * time.Minute

// deskProblems are what an operator should see to.
func (s *Server) deskProblems(ctx context.Context, v *web.OpsView, now records.Sample) error {
	reason, since, stopped := s.Paused()
	if stopped {
		v.Wrong = append(v.Wrong, web.Problem{Name: "store", Reason: reason, Since: since.Time, N: int(now.Archiving + now.Retrying)})
	}
	alarms, err := s.DB.Alarms(ctx)
	if err != nil {
		return err
	}
	for _, a := range alarms {
		v.Wrong = append(v.Wrong, web.Problem{Name: a.Name, Detail: a.Detail, Since: a.RaisedAt.Time, N: a.N})
	}
	damaged, err := s.DB.CountDamaged(ctx)
	if err != nil {
		return err
	}
	if damaged > 0 {
		v.Wrong = append(v.Wrong, web.Problem{Name: "damaged", N: damaged})
	}
	kinds, err := s.DB.KindCounts(ctx)
	if err != nil {
		return err
	}
	for _, k := range kinds {
		if !k.PausedAt.IsZero() {
			stopped = stopped || k.Kind == records.KindArchive
			v.Wrong = append(v.Wrong, web.Problem{Name: "paused", Kind: k.Kind, By: k.PausedBy, Since: k.PausedAt.Time})
		}
		// Images and generations that failed are told below, by reason.
		if n := k.States[records.JobDiscarded]; n > 0 && k.Kind != records.KindArchive && k.Kind != records.KindGenerate {
			v.Wrong = append(v.Wrong, web.Problem{Name: "jobs", Kind: k.Kind, N: n})
		}
	}
	if wait := time.Duration(now.Oldest) * time.Millisecond; wait > late && !stopped {
		v.Wrong = append(v.Wrong, web.Problem{Name: "late", Wait: wait})
	}
	return nil
}

func (s *Server) deskFacts(ctx context.Context, v *web.OpsView, instances int, beat records.Time) error {
	reason, _, paused := s.Paused()
	began := time.Now()
	if err := s.DB.Ping(ctx); err != nil {
		return err
	}
	took := time.Since(began)
	files, size, err := s.Spool.Usage()
	if err != nil {
		return err
	}
	store := s.Store.String()
	if paused {
		store += ": " + reason
	}
	v.Facts = []web.Fact{{Name: "store", Bad: paused, Detail: store},
		{Name: "worker", Bad: instances == 0, N: instances, Time: s.DB.Now().Sub(beat.Time)},
		{Name: "database", Time: took},
		{Name: "spool", Plain: true, N: int(files), Bytes: size}}
	if s.Metrics != nil {
		v.Facts = append(v.Facts, web.Fact{Name: "version", Plain: true, Detail: s.Metrics.version, Time: time.Since(s.Metrics.started)})
	}
	return nil
}

func (s *Server) retryReasonForm(w http.ResponseWriter, r *http.Request) {
	err := readForm(r)
	reason := r.PostForm.Get("reason")
	if err == nil && !reasonForm.MatchString(reason) {
		err = badRequest(codeBadRequest, "There is no such reason.")
	}
	if err == nil {
		_, err = s.retryReason(r, reason)
	}
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	s.redirect(w, r, "/ops", noticeRevived)
}

func (s *Server) retrySourceForm(w http.ResponseWriter, r *http.Request) {
	if err := s.DB.RetrySource(r.Context(), chi.URLParam(r, "id")); err != nil {
		s.failPage(w, r, err)
		return
	}
	s.redirect(w, r, "/ops", noticeRetried)
}
