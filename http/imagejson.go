package http

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"time"

	"afterimage/fetch"
	"afterimage/records"
	"afterimage/web"
)

// imageJSON is an image as programs see it. It never has the provider's
// address, the bucket's, or anything signed.
type imageJSON struct {
	ID              string          `json:"id"`
	GenerationID    *string         `json:"generation_id"`
	Status          string          `json:"status"`
	StatusText      string          `json:"status_text"`
	URL             string          `json:"url"`
	ThumbURL        string          `json:"thumb_url"`
	Prompt          string          `json:"prompt"`
	NegativePrompt  string          `json:"negative_prompt"`
	Provider        string          `json:"provider"`
	Model           string          `json:"model"`
	Params          records.Params  `json:"params"`
	MIME            *string         `json:"mime"`
	Bytes           *int64          `json:"bytes"`
	Width           *int            `json:"width"`
	Height          *int            `json:"height"`
	SHA256          *string         `json:"sha256"`
	CreatedAt       records.Time    `json:"created_at"`
	ArchivedAt      records.Time    `json:"archived_at"`
	UpdatedAt       records.Time    `json:"updated_at"`
	Favorite        bool            `json:"favorite"`
	TrashedAt       records.Time    `json:"trashed_at"`
	SourceExpiresAt records.Time    `json:"source_expires_at"`
	Archive         archiveJSON     `json:"archive"`
	Generation      *generationPart `json:"generation"`
}

type archiveJSON struct {
	Attempt       int          `json:"attempt"`
	MaxAttempts   int          `json:"max_attempts"`
	NextAttemptAt records.Time `json:"next_attempt_at"`
	Secured       bool         `json:"secured"`
	Reason        *string      `json:"reason"`
	ReasonText    *string      `json:"reason_text"`
	Retryable     bool         `json:"retryable"`
}

type generationPart struct {
	Reason          *string `json:"reason"`
	ReasonText      *string `json:"reason_text"`
	ProviderMessage *string `json:"provider_message"`
}

// deletedJSON is all that is left of a deleted image, in a history.
type deletedJSON struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

func (s *Server) imageJSON(r *http.Request, i *records.Image) imageJSON {
	return s.imageIn(s.language(r), i)
}

// imageIn is an image in the words of a language.
func (s *Server) imageIn(lang string, i *records.Image) imageJSON {
	words := s.Site.Words(lang)
	j := imageJSON{
		ID: i.ID, GenerationID: i.GenerationID, Status: string(i.Status), StatusText: words.Status(string(i.Status)),
		URL: s.BaseURL + "/img/" + i.ID, ThumbURL: s.BaseURL + "/thumb/" + i.ID,
		Prompt: i.Prompt, NegativePrompt: i.NegativePrompt, Provider: i.Provider, Model: i.Model, Params: i.Params,
		MIME: optional(i.MIME), Bytes: optional(i.Bytes), Width: optional(i.Width), Height: optional(i.Height), SHA256: optional(i.SHA256),
		CreatedAt: i.CreatedAt, ArchivedAt: i.ArchivedAt, UpdatedAt: i.UpdatedAt, Favorite: i.Favorite, TrashedAt: i.TrashedAt,
		SourceExpiresAt: i.SourceExpiresAt,
		Archive: archiveJSON{Attempt: i.Attempt, MaxAttempts: s.MaxAttempts, NextAttemptAt: s.nextAttempt(i),
			Secured: i.Secured(), Retryable: i.Retryable()},
	}
	reason, text := optional(i.Reason), optional(words.Reason(s.reason(i)))
	if !generationFailed(i.Status) {
		j.Archive.Reason, j.Archive.ReasonText = reason, text
	}
	if i.GenerationID != nil {
		j.Generation = &generationPart{ProviderMessage: optional(i.ProviderMessage)}
		if generationFailed(i.Status) {
			j.Generation.Reason, j.Generation.ReasonText = reason, text
		}
	}
	return j
}

func generationFailed(status records.Status) bool {
	return status == records.GenerateFailed || status == records.Unknown || status == records.Canceled
}

// nextAttempt is when the next attempt comes. While the store is paused that
// is the next probe, which goes on without a change of the image.
func (s *Server) nextAttempt(i *records.Image) records.Time {
	if now := s.DB.Now(); i.Status == records.Archiving && !i.NextAttemptAt.IsZero() && i.NextAttemptAt.Before(now.Time) {
		return now.Add(probeGuess)
	}
	return i.NextAttemptAt
}

// probeGuess is how far the next probe of a paused store is away at most.
const probeGuess = 5 * time.Second

// reason is what the pages' words need to know of a reason.
func (s *Server) reason(i *records.Image) web.Reason {
	r := web.Reason{Code: i.Reason}
	if i.Reason == fetch.TooLarge {
		r.Limit = s.MaxBytes
	}
	return r
}

type generationJSON struct {
	ID              string       `json:"id"`
	Status          string       `json:"status"`
	Provider        string       `json:"provider"`
	Model           string       `json:"model"`
	Reason          *string      `json:"reason"`
	ReasonText      *string      `json:"reason_text"`
	ProviderMessage *string      `json:"provider_message"`
	CreatedAt       records.Time `json:"created_at"`
	FinishedAt      records.Time `json:"finished_at"`
	Images          []imageJSON  `json:"images"`
}

func (s *Server) generationJSON(r *http.Request, g *records.Generation, images []records.Image) generationJSON {
	return s.generationIn(s.language(r), g, images)
}

func (s *Server) generationIn(lang string, g *records.Generation, images []records.Image) generationJSON {
	words := s.Site.Words(lang)
	return generationJSON{ID: g.ID, Status: string(g.Status), Provider: g.Provider, Model: g.Model,
		Reason: optional(g.Reason), ReasonText: optional(words.Reason(web.Reason{Code: g.Reason})),
		ProviderMessage: optional(g.ProviderMessage), CreatedAt: g.CreatedAt, FinishedAt: g.FinishedAt,
		Images: s.imagesIn(lang, images)}
}

func (s *Server) imagesJSON(r *http.Request, images []records.Image) []imageJSON {
	return s.imagesIn(s.language(r), images)
}

func (s *Server) imagesIn(lang string, images []records.Image) []imageJSON {
	list := make([]imageJSON, len(images))
	for n := range images {
		list[n] = s.imageIn(lang, &images[n])
	}
	return list
}

// optional is null for what is not known.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// writeTagged answers 200 with an ETag, or 304 to whoever has the answer
// already.
func (s *Server) writeTagged(w http.ResponseWriter, r *http.Request, v any) {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(v); err != nil {
		s.fail(w, r, err)
		return
	}
	tag := etagOf(body.Bytes())
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Authorization, Cookie, Accept-Language")
	if matches(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "application/json")
	w.Write(body.Bytes())
}

func etagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}
