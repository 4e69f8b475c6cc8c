package http

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"afterimage/notify"
	"afterimage/records"
	"afterimage/web"
)

// fillLater adds to the settings page what a person is told of later: webhooks,
// the digest, and the usage.
func (s *Server) fillLater(r *http.Request, view *web.SettingsView) error {
	ctx, user := r.Context(), viewerOf(r).user.ID
	hooks, err := s.DB.Webhooks(ctx, user)
	if err != nil {
		return err
	}
	for n := range hooks {
		view.Webhooks = append(view.Webhooks, hookView(&hooks[n]))
	}
	wish, err := s.DB.DigestWish(ctx, user)
	if err != nil {
		return err
	}
	view.DigestHour, view.TimeZone = hourOf(wish), wish.Zone
	usage, err := s.DB.UsageOf(ctx, user, usageDays)
	for _, u := range usage {
		view.Usage = append(view.Usage, web.UsageDay(u))
	}
	return err
}

func hourOf(w records.DigestWish) int {
	if w.Hour == nil {
		return -1
	}
	return *w.Hour
}

func hookView(h *records.Webhook) web.Webhook {
	return web.Webhook{ID: h.ID, URL: h.URL, Events: strings.Fields(h.Events), DeliveredAt: h.DeliveredAt.Time,
		FailingSince: h.FailingSince.Time, DisabledAt: h.DisabledAt.Time, Reason: h.Reason}
}

// deadHook tells a person of a webhook that was switched off, until it is on
// again or deleted; nil if there is none.
func (s *Server) deadHook(r *http.Request) *web.Message {
	hooks, err := s.DB.Webhooks(r.Context(), viewerOf(r).user.ID)
	if err != nil {
		return nil // the page matters more
	}
	for _, h := range hooks {
		if !h.DisabledAt.IsZero() {
			return &web.Message{Key: "notice.hook.dead", Bad: true}
		}
	}
	return nil
}

// webhookForm answers with the secret itself: it is shown this once.
func (s *Server) webhookForm(w http.ResponseWriter, r *http.Request) {
	err := readForm(r)
	form := web.WebhookForm{URL: strings.TrimSpace(r.PostForm.Get("url")), Events: r.PostForm["events"]}
	var h *records.Webhook
	if err == nil {
		h, err = s.newWebhook(r.Context(), viewerOf(r).user.ID, form.URL, form.Events)
	}
	if faults := hookFaults(err); faults != nil {
		s.renderSettings(w, r, http.StatusUnprocessableEntity, web.SettingsView{Errors: faults, WebhookForm: form})
		return
	}
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	s.showSecret(w, r, h.Secret)
}

func (s *Server) showSecret(w http.ResponseWriter, r *http.Request, secret string) {
	w.Header().Set("Cache-Control", "no-store") // it is shown this once
	s.renderSettings(w, r, http.StatusOK, web.SettingsView{NewSecret: secret})
}

func hookFaults(err error) []web.FieldError {
	p, isProblem := errors.AsType[*problem](err)
	switch {
	case errors.Is(err, records.ErrBadHookEvent):
		return fault("events", "err.events.empty", nil)
	case errors.Is(err, records.ErrTooManyWebhooks):
		return fault("url", "err.hooks.many", web.Args{"max": records.MaxWebhooks})
	case isProblem && p.Field == "url":
		return fault("url", "err.url", web.Args{"why": p.Detail})
	}
	return nil
}

// hookAction does something to a webhook and goes back to where it was asked.
func (s *Server) hookAction(w http.ResponseWriter, r *http.Request, to, notice string, do func(user, id string) error) {
	if err := do(viewerOf(r).user.ID, chi.URLParam(r, "id")); err != nil {
		s.failPage(w, r, err)
		return
	}
	s.redirect(w, r, to, notice)
}

func (s *Server) testWebhookForm(w http.ResponseWriter, r *http.Request) {
	s.hookAction(w, r, "/settings/webhooks/"+chi.URLParam(r, "id"), noticeHookTest, func(user, id string) error {
		_, err := s.DB.TestWebhook(r.Context(), user, id)
		return err
	})
}

func (s *Server) enableWebhookForm(w http.ResponseWriter, r *http.Request) {
	s.hookAction(w, r, "/settings/webhooks/"+chi.URLParam(r, "id"), noticeHookOn, func(user, id string) error {
		return s.DB.EnableWebhook(r.Context(), user, id)
	})
}

func (s *Server) deleteWebhookForm(w http.ResponseWriter, r *http.Request) {
	s.hookAction(w, r, "/settings#webhooks", noticeHookDeleted, func(user, id string) error {
		return s.DB.DeleteWebhook(r.Context(), user, id)
	})
}

func (s *Server) rotateWebhookForm(w http.ResponseWriter, r *http.Request) {
	secret, err := s.DB.RotateWebhook(r.Context(), viewerOf(r).user.ID, chi.URLParam(r, "id"))
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	s.showSecret(w, r, secret)
}

// shownDeliveries is how much of a webhook's log its page shows.
const shownDeliveries = 50

func (s *Server) webhookPage(w http.ResponseWriter, r *http.Request) {
	user, id := viewerOf(r).user.ID, chi.URLParam(r, "id")
	h, err := s.DB.Webhook(r.Context(), user, id)
	var list []records.Delivery
	if err == nil {
		list, err = s.DB.Deliveries(r.Context(), user, id, "", shownDeliveries)
	}
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	view := web.WebhookView{Layout: s.layout(r, "settings"), Webhook: hookView(h)}
	view.Notice = message(s.takeNotice(w, r))
	for _, d := range list {
		view.Deliveries = append(view.Deliveries, web.Delivery{Event: d.Event, State: d.State, Error: d.Error, Attempt: d.Attempt,
			Status: d.Status, CreatedAt: d.CreatedAt.Time})
	}
	s.render(w, r, http.StatusOK, "webhook", view)
}

// digestForm chooses when the digest comes, and moves what is scheduled.
func (s *Server) digestForm(w http.ResponseWriter, r *http.Request) {
	if err := readForm(r); err != nil {
		s.failPage(w, r, err)
		return
	}
	wish := records.DigestWish{UserID: viewerOf(r).user.ID, Zone: strings.TrimSpace(r.PostForm.Get("time_zone"))}
	if hour := r.PostForm.Get("hour"); hour != "" {
		n, err := strconv.Atoi(hour)
		if err != nil || n < 0 || n > 23 {
			s.failPage(w, r, badRequest(codeBadRequest, "There is no such hour."))
			return
		}
		wish.Hour = &n
	}
	if _, err := time.LoadLocation(wish.Zone); err != nil || wish.Zone == "Local" {
		s.renderSettings(w, r, http.StatusUnprocessableEntity, web.SettingsView{Errors: fault("time_zone", "err.zone", nil)})
		return
	}
	if err := s.DB.SetDigest(r.Context(), wish, notify.Daily(wish).Schedule(s.DB.Now())); err != nil {
		s.failPage(w, r, err)
		return
	}
	s.redirect(w, r, "/settings#digest", noticeSaved)
}

// shownDigests is how many days the page shows.
const shownDigests = 30

func (s *Server) digestPage(w http.ResponseWriter, r *http.Request) {
	ctx, user := r.Context(), viewerOf(r).user.ID
	view := web.DigestView{Layout: s.layout(r, "settings")}
	wish, err := s.DB.DigestWish(ctx, user)
	view.Hour = hourOf(wish)
	var list []records.Digest
	if day := chi.URLParam(r, "day"); err == nil && day != "" {
		view.One = true
		var one *records.Digest
		if one, err = s.DB.Digest(ctx, user, day); err == nil {
			list = []records.Digest{*one}
		}
	} else if err == nil {
		list, err = s.DB.Digests(ctx, user, shownDigests)
	}
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	for n := range list {
		view.Days = append(view.Days, s.digestView(s.language(r), &list[n]))
	}
	s.render(w, r, http.StatusOK, "digest", view)
}
