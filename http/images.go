package http

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"afterimage/records"
)

const (
	defaultLimit = 50
	maxLimit     = 200
	maxWait      = 30 * time.Second
	maxSearch    = 200 // characters
)

// page is a part of a list.
type page[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"next_cursor"` // null on the last page
}

func (s *Server) listImages(w http.ResponseWriter, r *http.Request) {
	user := viewerOf(r).user.ID
	f, err := s.imageFilter(r, user)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	limit := f.Limit
	f.Limit++ // to see whether there are more
	images, err := s.DB.Images(r.Context(), user, f)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var next *string
	if len(images) > limit {
		images = images[:limit]
		cursor := s.placeCursor(user, images[limit-1].Place())
		next = &cursor
		q := r.URL.Query()
		q.Set("cursor", cursor)
		w.Header().Set("Link", "<"+s.BaseURL+r.URL.Path+"?"+q.Encode()+`>; rel="next"`)
	}
	s.writeTagged(w, r, page[imageJSON]{s.imagesJSON(r, images), next})
}

type countsAnswer struct {
	Total  int                    `json:"total"`
	Counts map[records.Status]int `json:"counts"` // every status, also those that none has
}

// countImages counts what a list would have, by status.
func (s *Server) countImages(w http.ResponseWriter, r *http.Request) {
	user := viewerOf(r).user.ID
	f, err := s.imageFilter(r, user)
	var counts map[records.Status]int
	if err == nil {
		counts, err = s.DB.CountImages(r.Context(), user, f)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	answer := countsAnswer{Counts: map[records.Status]int{}}
	for _, status := range records.Statuses {
		answer.Counts[status] = counts[status]
		answer.Total += counts[status]
	}
	s.writeTagged(w, r, answer)
}

// imageFilter reads the query of a list.
func (s *Server) imageFilter(r *http.Request, user string) (f records.ImageFilter, err error) {
	q := r.URL.Query()
	if f.Limit, err = limitOf(r); err != nil {
		return f, err
	}
	for _, name := range q["status"] {
		for name := range strings.SplitSeq(name, ",") {
			status := records.Status(strings.TrimSpace(name))
			if status == "" {
				continue
			}
			if !slices.Contains(records.Statuses, status) {
				return f, invalid("status", "There is no status "+strconv.Quote(name)+".")
			}
			f.Statuses = append(f.Statuses, status)
		}
	}
	f.Search, f.Provider = strings.TrimSpace(q.Get("q")), q.Get("provider")
	for field, value := range map[string]string{"q": f.Search, "provider": f.Provider} {
		if err := checkText(field, value, maxSearch); err != nil {
			return f, err
		}
	}
	if f.From, err = timeOf(q.Get("from"), "from"); err != nil {
		return f, err
	}
	if f.To, err = timeOf(q.Get("to"), "to"); err != nil {
		return f, err
	}
	if f.Favorite, err = boolOf(q.Get("favorite"), "favorite"); err != nil {
		return f, err
	}
	if f.Trashed, err = boolOf(q.Get("trashed"), "trashed"); err != nil {
		return f, err
	}
	if cursor := q.Get("cursor"); cursor != "" {
		f.Before, err = s.readPlace(user, cursor)
	}
	return f, err
}

func limitOf(r *http.Request) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxLimit {
		return 0, invalid("limit", fmt.Sprintf("limit is 1 to %d.", maxLimit))
	}
	return n, nil
}

func timeOf(text, field string) (records.Time, error) {
	if text == "" {
		return records.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		return records.Time{}, invalid(field, field+" is a time such as 2026-01-31T12:00:00Z.")
	}
	return records.At(t), nil
}

func boolOf(text, field string) (bool, error) {
	if text == "" {
		return false, nil
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		return false, invalid(field, field+" is true or false.")
	}
	return b, nil
}

func waitOf(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("wait")
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxWait {
		return 0, invalid("wait", "wait is a duration up to 30s.")
	}
	return d, nil
}

// getImage answers with one image; with wait and If-None-Match only once it
// differs from what the caller has.
func (s *Server) getImage(w http.ResponseWriter, r *http.Request) {
	wait, err := waitOf(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	had := r.Header.Get("If-None-Match")
	if had == "" {
		wait = 0
	}
	user, id := viewerOf(r).user.ID, chi.URLParam(r, "id")
	var image *records.Image
	err = s.hub.waitFor(r.Context(), user, wait, func() (bool, error) {
		if image, err = s.DB.Image(r.Context(), user, id); err != nil {
			return false, err
		}
		var body bytes.Buffer
		err := json.NewEncoder(&body).Encode(s.imageJSON(r, image))
		return !matches(had, etagOf(body.Bytes())), err
	})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeImage(w, r, image)
}

func (s *Server) writeImage(w http.ResponseWriter, r *http.Request, i *records.Image) {
	if !i.Status.Final() {
		wait := pendingRetry
		if next := i.NextAttemptAt; !next.IsZero() {
			wait = max(wait, next.Sub(s.DB.Now().Time))
		}
		w.Header().Set("Retry-After", seconds(wait))
	}
	s.writeTagged(w, r, s.imageJSON(r, i))
}

type marksRequest struct {
	Favorite *bool `json:"favorite"`
	Trashed  *bool `json:"trashed"`
}

func (s *Server) patchImage(w http.ResponseWriter, r *http.Request) {
	var marks marksRequest
	user, id := viewerOf(r).user.ID, chi.URLParam(r, "id")
	err := readJSON(r, &marks)
	if err == nil {
		err = s.DB.MarkImage(r.Context(), user, id, records.Marks(marks))
	}
	s.answerImage(w, r, http.StatusOK, id, err)
}

func (s *Server) retryImage(w http.ResponseWriter, r *http.Request) {
	id := chi.URLParam(r, "id")
	s.answerImage(w, r, http.StatusAccepted, id, s.DB.RetryImage(r.Context(), viewerOf(r).user.ID, id))
}

// answerImage answers with the image as it is after an action.
func (s *Server) answerImage(w http.ResponseWriter, r *http.Request, status int, id string, err error) {
	var i *records.Image
	if err == nil {
		i, err = s.DB.Image(r.Context(), viewerOf(r).user.ID, id)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, status, s.imageJSON(r, i))
}

func (s *Server) deleteImage(w http.ResponseWriter, r *http.Request) {
	if err := s.DB.DeleteImage(r.Context(), viewerOf(r).user.ID, chi.URLParam(r, "id")); err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

type eventJSON struct {
	At        records.Time `json:"at"`
	Kind      string       `json:"kind"`
	Attempt   int          `json:"attempt"`
	StartedAt records.Time `json:"started_at"`
	Reason    *string      `json:"reason"`
	Text      string       `json:"text"`
}

func (s *Server) imageEvents(w http.ResponseWriter, r *http.Request) {
	user, id := viewerOf(r).user.ID, chi.URLParam(r, "id")
	image, err := s.DB.Image(r.Context(), user, id)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	events, err := s.DB.Events(r.Context(), user, id)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	words := s.Site.Words(s.language(r))
	items := make([]eventJSON, len(events))
	for n, e := range events {
		items[n] = eventJSON{At: e.At, Kind: e.Kind, Attempt: e.Attempt, StartedAt: e.StartedAt, Reason: optional(e.Reason),
			Text: words.Happened(s.event(image, e))}
	}
	writeJSON(w, http.StatusOK, list[eventJSON]{items})
}
