package http

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"afterimage/generate"
	"afterimage/records"
	"afterimage/storage"
	"afterimage/web"
)

// testTime is how long a test of a provider or of the store may take.
const testTime = 20 * time.Second

func (s *Server) systemPage(w http.ResponseWriter, r *http.Request) { s.renderSystem(w, r, "", nil) }

// renderSystem shows what the settings say; tested is what was just tested,
// "store" or a provider, with its result.
func (s *Server) renderSystem(w http.ResponseWriter, r *http.Request, tested string, result *web.TestResult) {
	view := web.SystemView{Layout: s.layout(r, "ops"), Tested: tested, Result: result, Settings: s.Settings.Effective}
	view.Store = web.TestedSetting{Address: s.Store.String()}
	if len(s.Settings.Storage) > 0 {
		view.Store.SettingNote = s.Settings.Storage[0]
	}
	if reason, since, paused := s.Paused(); paused {
		view.StorePaused, view.StoreSince = reason, since.Time
	}
	for _, note := range s.Settings.Providers {
		_, can := s.checker(note.Name)
		view.Providers = append(view.Providers, web.TestedSetting{SettingNote: note, CanTest: can})
	}
	s.render(w, r, http.StatusOK, "system", view)
}

// checker is a provider that can prove its settings without making an image.
type checker interface {
	Check(ctx context.Context) (found string, err error)
}

func (s *Server) checker(name string) (checker, bool) {
	for _, p := range s.Providers {
		if p.Info().Name == name {
			c, ok := p.(checker)
			return c, ok
		}
	}
	return nil, false
}

// testStoreForm writes a small object, reads it back and deletes it.
func (s *Server) testStoreForm(w http.ResponseWriter, r *http.Request) {
	s.test(w, r, "store", func(ctx context.Context) (string, error) { return "", s.Store.Check(ctx) })
}

func (s *Server) testProviderForm(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, "name")
	c, ok := s.checker(name)
	if !ok {
		s.failPage(w, r, records.ErrNotFound)
		return
	}
	s.test(w, r, name, c.Check)
}

func (s *Server) test(w http.ResponseWriter, r *http.Request, name string, check func(context.Context) (string, error)) {
	ctx, cancel := context.WithTimeout(r.Context(), testTime)
	defer cancel()
	began := time.Now()
	found, err := check(ctx)
	result := &web.TestResult{Took: time.Since(began), Found: found}
	if err != nil {
		result.Failed = failedTest(err)
		s.Log.Warn("a test of the settings failed", "of", name, "err", result.Failed)
	}
	s.renderSystem(w, r, name, result)
}

// failedTest is what an operator may read of a failure: our own words about
// it. What others say could hold anything.
func failedTest(err error) string {
	if e, ok := errors.AsType[*storage.Error](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[*generate.Error](err); ok {
		return e.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer within " + testTime.String()
	}
	return "the test did not come to an end"
}
