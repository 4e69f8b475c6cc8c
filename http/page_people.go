package http

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"

	"afterimage/records"
	"afterimage/web"
)

// administers lets administrators through; to others there is no such page.
func (s *Server) administers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !viewerOf(r).allows(records.ScopeOpsWrite) {
			s.failPage(w, r, records.ErrNotFound)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// fillPeople adds what the settings show of sessions and, to administrators, of
// people.
func (s *Server) fillPeople(r *http.Request, view *web.SettingsView) error {
	v := viewerOf(r)
	sessions, err := s.DB.Sessions(r.Context(), v.user.ID)
	if err != nil {
		return err
	}
	for _, one := range sessions {
		view.Sessions = append(view.Sessions, web.Session{ID: one.ID, Browser: one.UserAgent, CreatedAt: one.CreatedAt.Time,
			Current: one.ID == records.SessionID(v.token)})
	}
	if !v.allows(records.ScopeOpsRead) {
		return nil
	}
	people, err := s.DB.Users(r.Context())
	for _, u := range people {
		view.People = append(view.People, web.Person{ID: u.ID, Name: u.Username, Admin: u.Role == records.Admin,
			Disabled: !u.DisabledAt.IsZero(), Me: u.ID == v.user.ID})
	}
	return err
}

func (s *Server) endSessionForm(w http.ResponseWriter, r *http.Request) {
	if err := s.DB.EndSession(r.Context(), viewerOf(r).user.ID, chi.URLParam(r, "id")); err != nil {
		s.failPage(w, r, err)
		return
	}
	s.redirect(w, r, "/settings", noticeSaved)
}

// inviteForm makes an account, and shows this once the link with which its
// person chooses a password.
func (s *Server) inviteForm(w http.ResponseWriter, r *http.Request) {
	if err := readForm(r); err != nil {
		s.failPage(w, r, err)
		return
	}
	req := userRequest{Username: strings.TrimSpace(r.PostForm.Get("username")), Role: records.Member}
	if r.PostForm.Get("admin") != "" {
		req.Role = records.Admin
	}
	made, err := s.inviteUser(r.Context(), viewerOf(r).user.ID, req, records.Idempotency{})
	if faults := accountFaults(err, req.Username, "", ""); faults != nil {
		s.renderSettings(w, r, http.StatusUnprocessableEntity, web.SettingsView{Errors: faults, Invited: req.Username})
		return
	}
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	s.showLink(w, r, made.Username, made.Reset.URL)
}

func (s *Server) showLink(w http.ResponseWriter, r *http.Request, name, link string) {
	w.Header().Set("Cache-Control", "no-store") // it is shown this once
	s.renderSettings(w, r, http.StatusOK, web.SettingsView{NewLink: &web.NewLink{Name: name, URL: link}})
}

func (s *Server) resetForm(w http.ResponseWriter, r *http.Request) {
	u, err := s.DB.User(r.Context(), chi.URLParam(r, "id"))
	var link *resetJSON
	if err == nil {
		link, err = s.newReset(r.Context(), u.ID)
	}
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	s.showLink(w, r, u.Username, link.URL)
}

func (s *Server) disableForm(disabled bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := s.DB.ChangeUser(r.Context(), chi.URLParam(r, "id"), records.UserChange{Disabled: &disabled})
		s.keys.forget()
		if err != nil {
			s.failPage(w, r, err)
			return
		}
		s.redirect(w, r, "/settings", noticeSaved)
	}
}

// showReset shows the form for a new password to who has a link.
func (s *Server) showReset(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Query().Get("token")
	u, err := s.DB.ResetUser(r.Context(), token)
	if err != nil {
		s.resetFailed(w, r, err)
		return
	}
	s.renderReset(w, r, http.StatusOK, web.ResetView{Token: token, Username: u.Username})
}

func (s *Server) renderReset(w http.ResponseWriter, r *http.Request, status int, view web.ResetView) {
	view.Layout = s.layout(r, "")
	view.User, view.Path = "", "/reset?token="+url.QueryEscape(view.Token)
	w.Header().Set("Referrer-Policy", "no-referrer") // the address is as good as a password
	s.render(w, r, status, "reset", view)
}

func (s *Server) resetFailed(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, records.ErrResetToken) {
		s.renderReset(w, r, http.StatusGone, web.ResetView{})
		return
	}
	s.failPage(w, r, err)
}

// reset sets the new password and signs the person in.
func (s *Server) reset(w http.ResponseWriter, r *http.Request) {
	if err := readForm(r); err != nil {
		s.failPage(w, r, err)
		return
	}
	token, password := r.PostForm.Get("token"), r.PostForm.Get("password")
	// Before the password is hashed, which is dear: anybody can ask.
	u, err := s.DB.ResetUser(r.Context(), token)
	if err == nil {
		err = s.hash(r.Context(), func() error {
			_, err := s.DB.ResetPassword(r.Context(), token, password)
			return err
		})
	}
	if faults := accountFaults(err, "", password, "password"); faults != nil {
		s.renderReset(w, r, http.StatusUnprocessableEntity, web.ResetView{Token: token, Username: u.Username, Errors: faults})
		return
	}
	if err == nil {
		err = s.startSession(w, r, u, false)
	}
	if err != nil {
		s.resetFailed(w, r, err)
		return
	}
	s.redirect(w, r, "/", noticePassword)
}
