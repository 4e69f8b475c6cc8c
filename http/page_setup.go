package http

import (
	"errors"
	"net/http"
	"net/url"

	"afterimage/records"
	"afterimage/web"
)

// showSetup shows the form that makes the administrator, to who has the link:
// also from this machine, since a proxy on it looks the same as its owner.
func (s *Server) showSetup(w http.ResponseWriter, r *http.Request) {
	needed, err := s.needsSetup(r)
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	if !needed {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	token := r.URL.Query().Get("token")
	if err := s.DB.CheckSetupToken(r.Context(), token); err != nil {
		s.setupFailed(w, r, err)
		return
	}
	s.renderSetup(w, r, http.StatusOK, token, "", nil)
}

func (s *Server) renderSetup(w http.ResponseWriter, r *http.Request, status int, token, username string, faults []web.FieldError) {
	view := web.SetupView{Layout: s.layout(r, ""), Token: token, Username: username, Errors: faults,
		Providers: s.Settings.Providers, Storage: s.Settings.Storage}
	view.Path = "/setup?token=" + url.QueryEscape(token)
	s.render(w, r, status, "setup", view)
}

// setupFailed answers who has no link, or one that does not work any more.
func (s *Server) setupFailed(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, records.ErrSetupToken) || errors.Is(err, records.ErrSetupDone) {
		status := http.StatusGone
		if r.FormValue("token") == "" {
			status = http.StatusForbidden
		}
		s.render(w, r, status, "setup-expired", web.SetupView{Layout: s.layout(r, ""), Token: r.FormValue("token")})
		return
	}
	s.failPage(w, r, err)
}

// setup makes the administrator and signs them in. Of two at the same moment
// one wins; the other learns that the link was used.
func (s *Server) setup(w http.ResponseWriter, r *http.Request) {
	if err := readForm(r); err != nil {
		s.failPage(w, r, err)
		return
	}
	token, username, password := r.PostForm.Get("token"), r.PostForm.Get("username"), r.PostForm.Get("password")
	// Before the password is hashed, which is dear: anybody can ask.
	if err := s.DB.CheckSetupToken(r.Context(), token); err != nil {
		s.setupFailed(w, r, err)
		return
	}
	var user *records.User
	err := s.hash(r.Context(), func() (err error) {
		user, err = s.DB.Setup(r.Context(), token, username, password)
		return err
	})
	if faults := accountFaults(err, username, password, "password"); faults != nil {
		s.renderSetup(w, r, http.StatusUnprocessableEntity, token, username, faults)
		return
	}
	if err == nil {
		err = s.startSession(w, r, user, true)
	}
	if err != nil {
		s.setupFailed(w, r, err)
		return
	}
	s.Log.Info("the administrator was created", "user", user.ID)
	http.Redirect(w, r, "/create", http.StatusSeeOther)
}
