package http

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"afterimage/records"
	"afterimage/web"
)

// keyTTLs are how long a key may live, by what the form sends; 0 is for ever.
var keyTTLs = map[string]time.Duration{"": 0, "30d": 30 * 24 * time.Hour, "1y": 365 * 24 * time.Hour}

var themes = []string{"", "light", "dark"}

func (s *Server) settings(w http.ResponseWriter, r *http.Request) {
	s.renderSettings(w, r, http.StatusOK, web.SettingsView{})
}

// renderSettings shows the page; view has what a form left to say.
func (s *Server) renderSettings(w http.ResponseWriter, r *http.Request, status int, view web.SettingsView) {
	v := viewerOf(r)
	keys, err := s.DB.Keys(r.Context(), v.user.ID)
	if err == nil {
		err = s.fillLater(r, &view)
	}
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	view.Layout, view.Language, view.Now = s.layout(r, "settings"), v.user.Language, time.Now()
	view.Notice = message(s.takeNotice(w, r))
	for _, k := range keys {
		view.Keys = append(view.Keys, web.APIKey{ID: k.ID, Name: k.Name, Prefix: k.Prefix, Scopes: strings.Fields(k.Scopes),
			CreatedAt: k.CreatedAt.Time, LastUsedAt: k.LastUsedAt.Time, ExpiresAt: k.ExpiresAt.Time})
	}
	if err := s.fillPeople(r, &view); err != nil {
		s.failPage(w, r, err)
		return
	}
	s.render(w, r, status, "settings", view)
}

func (s *Server) saveProfile(w http.ResponseWriter, r *http.Request) {
	err := readForm(r)
	language, theme := r.PostForm.Get("language"), r.PostForm.Get("theme")
	if err == nil && (language != "" && !slices.Contains(s.Site.Languages(), language) || !slices.Contains(themes, theme)) {
		err = badRequest(codeBadRequest, "There is no such language or theme.")
	}
	if err == nil {
		err = s.DB.SetProfile(r.Context(), viewerOf(r).user.ID, language, theme)
	}
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	s.keys.forget()                             // they speak the person's language
	http.SetCookie(w, s.cookie("lang", "", -1)) // chosen before signing in; it would outvote the browser
	s.redirect(w, r, "/settings", noticeSaved)
}

// savePassword asks for the current one, since a page may have been left open.
func (s *Server) savePassword(w http.ResponseWriter, r *http.Request) {
	if err := readForm(r); err != nil {
		s.failPage(w, r, err)
		return
	}
	v, next := viewerOf(r), r.PostForm.Get("new_password")
	_, err := s.authenticate(r, v.user.Username, r.PostForm.Get("current_password"))
	if status, faults := s.passwordFaults(w, r, err, "current_password", "err.password.wrong"); faults != nil {
		s.renderSettings(w, r, status, web.SettingsView{Errors: faults})
		return
	}
	if err == nil {
		err = s.hash(r.Context(), func() error { return s.DB.SetPassword(r.Context(), v.user.ID, next, v.token) })
	}
	if faults := accountFaults(err, "", next, "new_password"); faults != nil {
		s.renderSettings(w, r, http.StatusUnprocessableEntity, web.SettingsView{Errors: faults})
		return
	}
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	s.redirect(w, r, "/settings", noticePassword)
}

// createKey answers with the key itself: it is shown this once and never kept.
func (s *Server) createKey(w http.ResponseWriter, r *http.Request) {
	if err := readForm(r); err != nil {
		s.failPage(w, r, err)
		return
	}
	form := web.KeyForm{Name: strings.TrimSpace(r.PostForm.Get("name")), Scopes: r.PostForm["scopes"], Expires: r.PostForm.Get("expires")}
	ttl, ok := keyTTLs[form.Expires]
	if !ok {
		s.failPage(w, r, badRequest(codeBadRequest, "There is no such expiry."))
		return
	}
	key, secret, err := s.DB.CreateKey(r.Context(), viewerOf(r).user.ID, form.Name, form.Scopes, ttl)
	if faults := keyFaults(err, form); faults != nil {
		s.renderSettings(w, r, http.StatusUnprocessableEntity, web.SettingsView{Errors: faults, KeyForm: form})
		return
	}
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store") // it is shown this once
	s.renderSettings(w, r, http.StatusOK, web.SettingsView{NewKey: &web.NewKey{Name: key.Name, Secret: secret, BaseURL: s.BaseURL}})
}

func keyFaults(err error, f web.KeyForm) []web.FieldError {
	switch {
	case errors.Is(err, records.ErrBadKeyName) && f.Name == "":
		return fault("name", "err.name.empty", nil)
	case errors.Is(err, records.ErrBadKeyName):
		return fault("name", "err.name.long", web.Args{"max": maxKeyName})
	case errors.Is(err, records.ErrBadScope):
		return fault("scopes", "err.scopes.empty", nil)
	}
	return nil
}

// maxKeyName is what records accepts, in characters.
const maxKeyName = 60

func (s *Server) revokeKey(w http.ResponseWriter, r *http.Request) {
	if err := s.DB.RevokeKey(r.Context(), viewerOf(r).user.ID, chi.URLParam(r, "id")); err != nil {
		s.failPage(w, r, err)
		return
	}
	s.keys.forget()
	s.redirect(w, r, "/settings", noticeRevoked)
}
