package http

import (
	"net/http"
	"net/url"
	"strings"
)

// safePath is where to go next, if it is a path on this site: what comes with
// a request could lead a person to a look-alike.
func safePath(to string) string {
	u, err := url.Parse(to)
	switch {
	case err != nil, u.Scheme != "", u.Host != "", u.User != nil,
		!strings.HasPrefix(to, "/"), strings.HasPrefix(to, "//"),
		strings.ContainsFunc(to, func(c rune) bool { return c == '\\' || c < ' ' || c == 0x7f }): // browsers read \ as /, and drop tabs and line ends
		return "/"
	}
	return to
}

// backTo is the page that a form was sent from, if the browser says so and it
// is ours.
func (s *Server) backTo(r *http.Request, otherwise string) string {
	from, err := url.Parse(r.Referer())
	if err != nil || from.Host == "" || from.Host != r.Host && from.Scheme+"://"+from.Host != s.BaseURL {
		return otherwise
	}
	return safePath(from.RequestURI())
}

// signInPath is the sign-in page that leads to a page afterwards.
func signInPath(to string, ended bool) string {
	q := url.Values{}
	if to = safePath(to); to != "/" {
		q.Set("to", to)
	}
	if ended {
		q.Set("ended", "1")
	}
	if len(q) == 0 {
		return "/sign-in"
	}
	return "/sign-in?" + q.Encode()
}

const yearSeconds = 365 * 24 * 60 * 60

// cookie is one that holds no secret. A maxAge of 0 ends with the browser, -1
// at once.
func (s *Server) cookie(name, value string, maxAge int) *http.Cookie {
	return &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode}
}
