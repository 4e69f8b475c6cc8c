package http

import (
	"context"
	"errors"
	"net/http"
	"time"
	"unicode/utf8"

	"afterimage/records"
	"afterimage/web"
)

func (s *Server) showSignIn(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	needed, err := s.needsSetup(r)
	var v *viewer
	if err == nil {
		v, err = s.session(r)
	}
	switch {
	case err != nil:
		s.failPage(w, r, err)
	case needed:
		http.Redirect(w, r, "/setup", http.StatusSeeOther)
	case v != nil:
		http.Redirect(w, r, safePath(q.Get("to")), http.StatusSeeOther)
	default:
		view := web.SignInView{Layout: s.layout(r, ""), To: safePath(q.Get("to")), Ended: q.Get("ended") == "1"}
		view.Notice = message(s.takeNotice(w, r))
		s.render(w, r, http.StatusOK, "sign-in", view)
	}
}

// signIn makes a new session, never going on with an old one, whose token
// somebody else may have planted.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	if err := readForm(r); err != nil {
		s.failPage(w, r, err)
		return
	}
	f := r.PostForm
	user, err := s.authenticate(r, f.Get("username"), f.Get("password"))
	if status, faults := s.passwordFaults(w, r, err, "", "err.credentials"); faults != nil {
		view := web.SignInView{Layout: s.layout(r, ""), Username: f.Get("username"), To: safePath(f.Get("to")), Errors: faults}
		s.render(w, r, status, "sign-in", view)
		return
	}
	if err == nil {
		err = s.startSession(w, r, user, f.Get("keep") != "")
	}
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	http.Redirect(w, r, safePath(f.Get("to")), http.StatusSeeOther)
}

// authenticate checks a password, no faster than the throttle allows.
func (s *Server) authenticate(r *http.Request, username, password string) (user *records.User, err error) {
	keys := throttleKeys(r, username)
	if wait := s.throttle.wait(keys); wait > 0 {
		return nil, newProblem(http.StatusTooManyRequests, codeThrottled, "Too many tries.").after(wait)
	}
	err = s.hash(r.Context(), func() error {
		user, err = s.DB.Authenticate(r.Context(), username, password)
		return err
	})
	if err == nil {
		s.throttle.right(keys)
	}
	return user, err
}

// passwordFaults is what a form says about a password that authenticate did
// not take; nil if the form is not to blame.
func (s *Server) passwordFaults(w http.ResponseWriter, r *http.Request, err error, field, wrong string) (int, []web.FieldError) {
	if errors.Is(err, records.ErrWrongPassword) {
		return http.StatusUnprocessableEntity, fault(field, wrong, nil)
	}
	if p, ok := errors.AsType[*problem](err); ok && p.Code == codeThrottled {
		w.Header().Set("Retry-After", seconds(p.retryAfter))
		wait := s.Site.Words(s.language(r)).Countdown(p.retryAfter + time.Second/2) // rounded up
		return http.StatusTooManyRequests, fault(field, "err.throttled", web.Args{"time": wait})
	}
	return 0, nil
}

// hashWait is how long a password may wait for its turn to be hashed.
const hashWait = 10 * time.Second

// hash runs what hashes a password, a few at a time.
func (s *Server) hash(ctx context.Context, fn func() error) error {
	waiting, cancel := context.WithTimeout(ctx, hashWait)
	defer cancel()
	if err := s.hashing.Acquire(waiting, 1); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return newProblem(http.StatusServiceUnavailable, codeBusy, "Too many passwords are being checked. Try again.").after(hashWait)
	}
	defer s.hashing.Release(1)
	return fn()
}

// accountFaults is what a form says about a name or a password that is not
// good enough; nil if the form is not to blame.
func accountFaults(err error, username, password, passwordField string) []web.FieldError {
	switch {
	case errors.Is(err, records.ErrBadUsername) && username == "":
		return fault("username", "err.username.empty", nil)
	case errors.Is(err, records.ErrBadUsername):
		return fault("username", "err.username.bad", nil)
	case errors.Is(err, records.ErrUsernameTaken):
		return fault("username", "err.username.taken", nil)
	case errors.Is(err, records.ErrBadPassword) && password == "":
		return fault(passwordField, "err.password.empty", nil)
	case errors.Is(err, records.ErrBadPassword) && utf8.RuneCountInString(password) > records.MaxPassword:
		return fault(passwordField, "err.password.long", web.Args{"max": records.MaxPassword})
	case errors.Is(err, records.ErrBadPassword):
		return fault(passwordField, "err.password.short", web.Args{"min": records.MinPassword})
	}
	return nil
}

// startSession signs a person in. Keep false ends it with the browser.
func (s *Server) startSession(w http.ResponseWriter, r *http.Request, user *records.User, keep bool) error {
	if old, err := r.Cookie(s.cookieName()); err == nil {
		if err := s.DB.DeleteSession(r.Context(), old.Value); err != nil {
			return err
		}
	}
	token, expires, err := s.DB.CreateSession(r.Context(), user.ID, r.UserAgent())
	if err != nil {
		return err
	}
	maxAge := 0
	if keep {
		maxAge = int(expires.Sub(s.DB.Now().Time) / time.Second)
	}
	http.SetCookie(w, s.sessionCookie(token, maxAge))
	return nil
}

func (s *Server) signOut(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(s.cookieName()); err == nil {
		if err := s.DB.DeleteSession(r.Context(), c.Value); err != nil {
			s.failPage(w, r, err)
			return
		}
	}
	http.SetCookie(w, s.sessionCookie("", -1))
	s.redirect(w, r, "/sign-in", noticeSignedOut)
}
