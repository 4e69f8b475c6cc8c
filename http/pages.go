package http

import (
	"bytes"
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"afterimage/records"
	"afterimage/web"
)

// compressLevel is gzip's: a page of 60 images in about a millisecond.
const compressLevel = 5

// compress makes pages and JSON smaller. It never touches images, which are
// compressed already, nor the event stream, which must not wait in a buffer.
var compress = middleware.Compress(compressLevel, "text/html", "application/json", "application/problem+json")

// pageRoutes are for people. Everything works with links and forms alone.
func (s *Server) pageRoutes(r chi.Router) {
	r.Group(func(r chi.Router) {
		r.Use(compress)
		r.Get("/setup", s.showSetup)
		r.Post("/setup", s.setup)
		r.Get("/sign-in", s.showSignIn)
		r.Post("/sign-in", s.signIn)
		r.Post("/sign-out", s.signOut)
		r.Get("/reset", s.showReset)
		r.Post("/reset", s.reset)
		r.Get("/lang/{lang}", s.setLanguage)
	})
	r.Group(func(r chi.Router) {
		r.Use(compress, s.signedIn, s.onlyIDs)
		s.personRoutes(r)
	})
	// A script asks here, which wants no sign-in page.
	r.With(s.need(records.ScopeImagesRead)).Get("/live", s.live)
	r.With(s.need(records.ScopeOpsWrite)).Get("/ops/live", s.liveDesk)
}

func (s *Server) personRoutes(r chi.Router) {
	r.Get("/", s.gallery)
	r.Get("/create", s.showCreate)
	r.Post("/create", s.create)
	r.Get("/trash", s.trash)
	r.Get("/i/{id}", s.image)
	r.Get("/wall/{how}", s.setWall)
	r.Post("/bulk", s.bulkForm)
	r.Post("/trash/empty", s.emptyTrash)
	r.Get("/import", s.showImport)
	r.Post("/import", s.importForm)
	r.Get("/import/{id}", s.importPage)
	r.Post("/i/{id}/retry", s.retryForm)
	r.Post("/i/{id}/cancel", s.cancelForm)
	r.Post("/i/{id}/verify", s.verifyForm)
	r.Post("/i/{id}/trash", s.trashForm)
	r.Post("/i/{id}/restore", s.restoreForm)
	r.Post("/i/{id}/delete", s.deleteForm)
	r.Post("/i/{id}/favorite", s.favoriteForm)
	r.Get("/settings", s.settings)
	r.Post("/settings/profile", s.saveProfile)
	r.Post("/settings/password", s.savePassword)
	r.Post("/settings/keys", s.createKey)
	r.Post("/settings/keys/{id}/revoke", s.revokeKey)
	r.Post("/settings/webhooks", s.webhookForm)
	r.Get("/settings/webhooks/{id}", s.webhookPage)
	r.Post("/settings/webhooks/{id}/test", s.testWebhookForm)
	r.Post("/settings/webhooks/{id}/rotate", s.rotateWebhookForm)
	r.Post("/settings/webhooks/{id}/enable", s.enableWebhookForm)
	r.Post("/settings/webhooks/{id}/delete", s.deleteWebhookForm)
	r.Post("/settings/digest", s.digestForm)
	r.Get("/digest", s.digestPage)
	r.Get("/digest/{day}", s.digestPage)
	r.Group(func(r chi.Router) {
		r.Use(s.onlyOperators)
		s.deskRoutes(r)
		r.Get("/ops/jobs", s.jobsPage)
		r.Post("/ops/jobs/{kind}/pause", s.pauseForm)
		r.Post("/ops/jobs/{kind}/resume", s.resumeForm)
		r.Post("/ops/jobs/{kind}/revive", s.reviveForm)
	})
	r.Post("/settings/sessions/{id}/end", s.endSessionForm)
	r.Group(func(r chi.Router) {
		r.Use(s.administers)
		r.Post("/settings/people", s.inviteForm)
		r.Post("/settings/people/{id}/disable", s.disableForm(true))
		r.Post("/settings/people/{id}/enable", s.disableForm(false))
		r.Post("/settings/people/{id}/reset", s.resetForm)
	})
}

// signedIn lets through who has a session, and sends everybody else to where
// they get one. An API key is no session: its scopes say nothing about pages.
func (s *Server) signedIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := s.session(r)
		if err != nil {
			s.failPage(w, r, err)
			return
		}
		if v != nil {
			next.ServeHTTP(w, withViewer(r, v))
			return
		}
		to, err := s.entrance(r)
		if err != nil {
			s.failPage(w, r, err)
			return
		}
		http.Redirect(w, r, to, http.StatusSeeOther)
	})
}

// entrance is where somebody without a session has to go first.
func (s *Server) entrance(r *http.Request) (string, error) {
	needed, err := s.needsSetup(r)
	if err != nil || needed {
		return "/setup", err
	}
	_, cookieErr := r.Cookie(s.cookieName())
	ended := cookieErr == nil || r.Method == http.MethodPost
	return signInPath(pagePath(r), ended), nil
}

// needsSetup reports whether there is no administrator yet. Once there is one
// it does not ask the database again.
func (s *Server) needsSetup(r *http.Request) (bool, error) {
	if s.setupDone.Load() {
		return false, nil
	}
	needed, err := s.DB.NeedsSetup(r.Context())
	if err == nil && !needed {
		s.setupDone.Store(true)
	}
	return needed, err
}

// pagePath is the page that a request belongs to: itself, or for a form that
// was sent the page where the form is.
func pagePath(r *http.Request) string {
	switch p := r.URL.Path; {
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return r.URL.RequestURI()
	case strings.HasPrefix(p, "/settings/"):
		return "/settings"
	case strings.HasPrefix(p, "/ops/jobs/"):
		return "/ops/jobs"
	case strings.HasPrefix(p, "/ops/test/"):
		return "/ops/system"
	case strings.HasPrefix(p, "/ops/"):
		return "/ops"
	case strings.HasPrefix(p, "/i/"):
		return path.Dir(p)
	default:
		return p
	}
}

// layout is what every page carries.
func (s *Server) layout(r *http.Request, nav string) web.Layout {
	l := web.Layout{Nav: nav, Path: pagePath(r), Zone: zoneOf(r)}
	if v := sessionOf(r); v != nil {
		l.User, l.Theme, l.IsAdmin = v.user.Username, v.user.Theme, v.allows(records.ScopeOpsRead)
		if l.IsAdmin {
			l.Alarms = s.alarms(r.Context())
		}
	}
	return l
}

// render answers with a page.
func (s *Server) render(w http.ResponseWriter, r *http.Request, status int, page string, view any) {
	var body bytes.Buffer
	err := s.Site.Render(&body, s.language(r), page, view)
	if err != nil && page != "error" {
		s.failPage(w, r, err)
		return
	}
	if err != nil {
		s.Log.Error("the error page cannot be shown", "request", requestID(r), "err", err)
		body.WriteString(http.StatusText(status))
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "private, no-cache") // no-store would keep pages out of the back/forward cache
	}
	h.Set("Vary", "Cookie, Accept-Language")
	w.WriteHeader(status)
	w.Write(body.Bytes())
}

// failPage answers with the error page. What is our fault is logged under the
// id that the page shows.
func (s *Server) failPage(w http.ResponseWriter, r *http.Request, err error) {
	p := asProblem(err)
	r = s.recognize(r, p.Status)
	view := web.ErrorView{Layout: s.layout(r, ""), Code: p.Status, RetryAfter: p.retryAfter}
	if p.Status >= http.StatusInternalServerError {
		view.ErrorID = requestID(r)
	}
	if p.Code == codeInternal && p.Status >= http.StatusInternalServerError {
		s.Log.Error("a page failed", "request", view.ErrorID, "method", r.Method, "route", route(r), "err", err)
	}
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", seconds(p.retryAfter))
	}
	s.render(w, r, p.Status, "error", view)
}

// recognize finds out who is signed in where no route did, so that an error
// page has its navigation. It does not try when something is broken.
func (s *Server) recognize(r *http.Request, status int) *http.Request {
	if sessionOf(r) != nil || status >= http.StatusInternalServerError {
		return r
	}
	if v, err := s.session(r); err == nil && v != nil {
		return withViewer(r, v)
	}
	return r
}

// readForm reads what a form sent. Browsers send a line's end as CR LF, which
// no program does: without this the same prompt would be two.
func readForm(r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return newProblem(http.StatusRequestEntityTooLarge, codeTooLarge, "The form is larger than we accept.")
		}
		return badRequest(codeBadRequest, "This is not a form.")
	}
	for _, values := range r.PostForm {
		for n := range values {
			values[n] = strings.ReplaceAll(values[n], "\r\n", "\n")
		}
	}
	return nil
}

// fault is one field that is wrong.
func fault(field, key string, args web.Args) []web.FieldError {
	return []web.FieldError{{Field: field, Key: key, Args: args}}
}

// setLanguage keeps the language for those who are not signed in. It is a GET
// that changes nothing but a preference of the browser it comes from.
func (s *Server) setLanguage(w http.ResponseWriter, r *http.Request) {
	lang := chi.URLParam(r, "lang")
	if !slices.Contains(s.Site.Languages(), lang) {
		s.failPage(w, r, newProblem(http.StatusNotFound, codeNotFound, "There is no such language."))
		return
	}
	http.SetCookie(w, s.cookie("lang", lang, yearSeconds))
	http.Redirect(w, r, safePath(r.URL.Query().Get("to")), http.StatusSeeOther)
}
