package http

import (
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"afterimage/records"
)

// needPerson lets through who is signed in. A key must not give itself more
// than it has: it makes no keys and changes no password.
func (s *Server) needPerson(next http.Handler) http.Handler {
	return s.need("")(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if viewerOf(r).key != nil {
			s.fail(w, r, newProblem(http.StatusForbidden, codeScope, "This needs a person who is signed in, not a key."))
			return
		}
		next.ServeHTTP(w, r)
	}))
}

type meJSON struct {
	userJSON
	Usage usedJSON `json:"usage"`
}

type usedJSON struct {
	ImagesPerDay *int64       `json:"images_per_day"` // null: no bound
	ImagesToday  int64        `json:"images_today"`
	ResetsAt     records.Time `json:"resets_at"`
	Bytes        *int64       `json:"bytes"` // null: no bound
	BytesStored  int64        `json:"bytes_stored"`
}

func (s *Server) getMe(w http.ResponseWriter, r *http.Request) {
	u := viewerOf(r).user
	used, err := s.DB.Used(r.Context(), u.ID)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, meJSON{userJSONOf(u), usedJSON{optional(used.ImagesPerDay), used.ImagesToday, used.ResetsAt,
		optional(used.Bytes), used.BytesStored}})
}

type passwordRequest struct {
	Current string `json:"current_password"`
	New     string `json:"new_password"`
}

// changePassword asks for the current one, as the form does, and ends the
// person's other sessions.
func (s *Server) changePassword(w http.ResponseWriter, r *http.Request) {
	var req passwordRequest
	v, err := viewerOf(r), readJSON(r, &req)
	if err == nil {
		_, err = s.authenticate(r, v.user.Username, req.Current)
	}
	if errors.Is(err, records.ErrWrongPassword) {
		err = invalid("current_password", "The current password is wrong.")
	}
	if err == nil {
		err = s.hash(r.Context(), func() error { return s.DB.SetPassword(r.Context(), v.user.ID, req.New, v.token) })
	}
	if errors.Is(err, records.ErrBadPassword) {
		err = invalid("new_password", sentence(records.ErrBadPassword))
	}
	s.answerNothing(w, r, err)
}

// answerNothing says that it is done.
func (s *Server) answerNothing(w http.ResponseWriter, r *http.Request, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

type sessionJSON struct {
	ID        string       `json:"id"`
	UserAgent string       `json:"user_agent"`
	CreatedAt records.Time `json:"created_at"`
	ExpiresAt records.Time `json:"expires_at"`
	Current   bool         `json:"current"`
}

type list[T any] struct {
	Items []T `json:"items"`
}

func (s *Server) listSessions(w http.ResponseWriter, r *http.Request) {
	v := viewerOf(r)
	sessions, err := s.DB.Sessions(r.Context(), v.user.ID)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	answer := list[sessionJSON]{Items: []sessionJSON{}}
	for _, one := range sessions {
		answer.Items = append(answer.Items, sessionJSON{one.ID, one.UserAgent, one.CreatedAt, one.ExpiresAt, one.ID == records.SessionID(v.token)})
	}
	writeJSON(w, http.StatusOK, answer)
}

func (s *Server) endSession(w http.ResponseWriter, r *http.Request) {
	s.answerNothing(w, r, s.DB.EndSession(r.Context(), viewerOf(r).user.ID, chi.URLParam(r, "id")))
}

type keyJSON struct {
	ID         string       `json:"id"`
	Name       string       `json:"name"`
	Prefix     string       `json:"prefix"`
	Scopes     []string     `json:"scopes"`
	CreatedAt  records.Time `json:"created_at"`
	ExpiresAt  records.Time `json:"expires_at"`
	LastUsedAt records.Time `json:"last_used_at"`
	Secret     *string      `json:"secret,omitempty"` // only once, when it is made
}

func keyJSONOf(k *records.APIKey) keyJSON {
	return keyJSON{ID: k.ID, Name: k.Name, Prefix: k.Prefix, Scopes: strings.Fields(k.Scopes), CreatedAt: k.CreatedAt,
		ExpiresAt: k.ExpiresAt, LastUsedAt: k.LastUsedAt}
}

func (s *Server) listKeys(w http.ResponseWriter, r *http.Request) {
	keys, err := s.DB.Keys(r.Context(), viewerOf(r).user.ID)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	answer := list[keyJSON]{Items: []keyJSON{}}
	for n := range keys {
		answer.Items = append(answer.Items, keyJSONOf(&keys[n]))
	}
	writeJSON(w, http.StatusOK, answer)
}

type keyRequest struct {
	Name      string     `json:"name"`
	Scopes    []string   `json:"scopes"`
	ExpiresAt *time.Time `json:"expires_at"` // default: never
}

func (s *Server) makeKey(w http.ResponseWriter, r *http.Request) {
	var req keyRequest
	err := readJSON(r, &req)
	var once records.Idempotency
	if err == nil {
		once, err = idempotency(r, "key", req)
	}
	var ttl time.Duration
	if err == nil && req.ExpiresAt != nil {
		if ttl = req.ExpiresAt.Sub(s.DB.Now().Time); ttl <= 0 {
			err = invalid("expires_at", "expires_at has passed.")
		}
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	k, secret, err := s.DB.CreateKeyOnce(r.Context(), viewerOf(r).user.ID, req.Name, slices.Compact(slices.Sorted(slices.Values(req.Scopes))), ttl, once)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	answer := keyJSONOf(k)
	answer.Secret = optional(secret)
	writeJSON(w, http.StatusCreated, answer)
}

func (s *Server) endKey(w http.ResponseWriter, r *http.Request) {
	err := s.DB.RevokeKey(r.Context(), viewerOf(r).user.ID, chi.URLParam(r, "id"))
	s.keys.forget()
	s.answerNothing(w, r, err)
}

// nobodyKnows is a password for an account that gets its own by a link.
func nobodyKnows() string { return rand.Text() }
