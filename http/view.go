package http

import (
	"net/http"

	"afterimage/fetch"
	"afterimage/records"
	"afterimage/web"
)

// language chooses the words for an answer.
func (s *Server) language(r *http.Request) string {
	cookie, chosen := "", ""
	if c, err := r.Cookie("lang"); err == nil {
		cookie = c.Value
	}
	if v := sessionOf(r); v != nil {
		chosen = v.user.Language
	}
	return s.Site.MatchLanguage(r.Header.Get("Accept-Language"), cookie, chosen, s.DefaultLanguage)
}

// event is a line of what happened, as the pages tell it.
func (s *Server) event(i *records.Image, e records.Event) web.Event {
	v := web.Event{At: e.At.Time, Kind: e.Kind, Attempt: e.Attempt, Reason: web.Reason{Code: e.Reason, Detail: e.Detail}}
	if e.Reason == fetch.TooLarge {
		v.Reason.Limit = s.MaxBytes
	}
	if !e.StartedAt.IsZero() {
		v.Took = e.At.Sub(e.StartedAt.Time)
	}
	if e.Kind == records.EventArchived {
		v.Bytes = i.Bytes
	}
	return v
}
