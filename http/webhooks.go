package http

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"

	"afterimage/fetch"
	"afterimage/records"
)

// webhookJSON is a webhook as its owner's programs see it. The secret is in
// the answers that make one, and in no other.
type webhookJSON struct {
	ID           string       `json:"id"`
	URL          string       `json:"url"`
	Events       []string     `json:"events"`
	Secret       string       `json:"secret,omitempty"`
	CreatedAt    records.Time `json:"created_at"`
	DeliveredAt  records.Time `json:"delivered_at"`
	FailingSince records.Time `json:"failing_since"`
	DisabledAt   records.Time `json:"disabled_at"`
	Reason       *string      `json:"reason"`
}

func asWebhook(h *records.Webhook) webhookJSON {
	return webhookJSON{ID: h.ID, URL: h.URL, Events: strings.Fields(h.Events), CreatedAt: h.CreatedAt, DeliveredAt: h.DeliveredAt,
		FailingSince: h.FailingSince, DisabledAt: h.DisabledAt, Reason: optional(h.Reason)}
}

const maxWebhookURL = 2000 // bytes

// newWebhook checks an address and records it. It is the one way to a webhook,
// for the API and for the page.
func (s *Server) newWebhook(ctx context.Context, userID, address string, events []string) (*records.Webhook, error) {
	address = strings.TrimSpace(address)
	if err := checkText("url", address, maxWebhookURL); err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, invalid("url", "A webhook's url begins with https:// or http://.")
	}
	if err := s.Webhooks.Check(fetch.Source{URL: address}); err != nil {
		e, ok := errors.AsType[*fetch.Error](err)
		if !ok {
			return nil, err
		}
		return nil, invalid("url", "This address is not allowed: "+e.Detail+".")
	}
	return s.DB.CreateWebhook(ctx, userID, address, events)
}

func (s *Server) createWebhook(w http.ResponseWriter, r *http.Request) {
	var req webhookRequest
	err := readJSON(r, &req)
	var h *records.Webhook
	if err == nil {
		h, err = s.newWebhook(r.Context(), viewerOf(r).user.ID, req.URL, req.Events)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	answer := asWebhook(h)
	answer.Secret = h.Secret
	w.Header().Set("Location", "/api/v1/webhooks/"+h.ID)
	writeJSON(w, http.StatusCreated, answer)
}

// webhookRequest is the body of POST /api/v1/webhooks.
type webhookRequest struct {
	URL    string   `json:"url"`
	Events []string `json:"events"`
}

type testAnswer struct {
	Delivery string `json:"delivery"` // its id
}

func (s *Server) listWebhooks(w http.ResponseWriter, r *http.Request) {
	hooks, err := s.DB.Webhooks(r.Context(), viewerOf(r).user.ID)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	items := make([]webhookJSON, len(hooks))
	for n := range hooks {
		items[n] = asWebhook(&hooks[n])
	}
	writeJSON(w, http.StatusOK, list[webhookJSON]{items})
}

func (s *Server) getWebhook(w http.ResponseWriter, r *http.Request) {
	s.answerWebhook(w, r, nil)
}

// answerWebhook answers with the webhook as it is after an action.
func (s *Server) answerWebhook(w http.ResponseWriter, r *http.Request, err error) {
	var h *records.Webhook
	if err == nil {
		h, err = s.DB.Webhook(r.Context(), viewerOf(r).user.ID, chi.URLParam(r, "id"))
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, asWebhook(h))
}

func (s *Server) rotateWebhook(w http.ResponseWriter, r *http.Request) {
	id, user := chi.URLParam(r, "id"), viewerOf(r).user.ID
	secret, err := s.DB.RotateWebhook(r.Context(), user, id)
	var h *records.Webhook
	if err == nil {
		h, err = s.DB.Webhook(r.Context(), user, id)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	answer := asWebhook(h)
	answer.Secret = secret
	writeJSON(w, http.StatusOK, answer)
}

func (s *Server) enableWebhook(w http.ResponseWriter, r *http.Request) {
	s.answerWebhook(w, r, s.DB.EnableWebhook(r.Context(), viewerOf(r).user.ID, chi.URLParam(r, "id")))
}

func (s *Server) testWebhook(w http.ResponseWriter, r *http.Request) {
	id, err := s.DB.TestWebhook(r.Context(), viewerOf(r).user.ID, chi.URLParam(r, "id"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusAccepted, testAnswer{id})
}

func (s *Server) deleteWebhook(w http.ResponseWriter, r *http.Request) {
	if err := s.DB.DeleteWebhook(r.Context(), viewerOf(r).user.ID, chi.URLParam(r, "id")); err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

type deliveryJSON struct {
	ID         string       `json:"id"`
	Event      string       `json:"event"`
	Ref        string       `json:"ref"`
	State      string       `json:"state"`
	Attempt    int          `json:"attempt"`
	Status     *int         `json:"status"` // HTTP, of the last attempt
	Error      *string      `json:"error"`
	CreatedAt  records.Time `json:"created_at"`
	FinishedAt records.Time `json:"finished_at"`
}

// listDeliveries is the log of a webhook, newest first.
func (s *Server) listDeliveries(w http.ResponseWriter, r *http.Request) {
	limit, err := limitOf(r)
	before, user := "", viewerOf(r).user.ID
	if cursor := r.URL.Query().Get("cursor"); err == nil && cursor != "" {
		var b []byte
		b, err = s.unseal("delivery", user, cursor)
		before = string(b)
	}
	var list []records.Delivery
	if err == nil {
		list, err = s.DB.Deliveries(r.Context(), user, chi.URLParam(r, "id"), before, limit+1)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var next *string
	if len(list) > limit {
		list = list[:limit]
		next = optional(s.seal("delivery", user, []byte(list[limit-1].ID)))
	}
	items := make([]deliveryJSON, len(list))
	for n, d := range list {
		items[n] = deliveryJSON{ID: d.ID, Event: d.Event, Ref: d.Ref, State: d.State, Attempt: d.Attempt, Status: optional(d.Status),
			Error: optional(d.Error), CreatedAt: d.CreatedAt, FinishedAt: d.FinishedAt}
	}
	writeJSON(w, http.StatusOK, page[deliveryJSON]{items, next})
}
