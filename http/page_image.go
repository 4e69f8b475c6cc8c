package http

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"afterimage/records"
	"afterimage/web"
)

func (s *Server) image(w http.ResponseWriter, r *http.Request) {
	user, id := viewerOf(r).user.ID, chi.URLParam(r, "id")
	seq, err := s.DB.HistoryHead(r.Context(), user) // before the image, as for the page "create"
	var view web.ImageView
	if err == nil {
		view, err = s.readImageView(r.Context(), s.layout(r, "gallery"), user, id)
	}
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	if view.Trashed() {
		view.Nav = "trash"
	}
	view.Notice = message(s.takeNotice(w, r))
	view.LiveURL = s.liveURL(user, seq, id)
	s.render(w, r, http.StatusOK, "image", view)
}

// readImageView reads all that the page of an image shows, and that its event
// stream shows again.
func (s *Server) readImageView(ctx context.Context, l web.Layout, user, id string) (v web.ImageView, err error) {
	i, err := s.DB.Image(ctx, user, id)
	if err != nil {
		return v, err
	}
	events, err := s.DB.Events(ctx, user, id)
	if err != nil {
		return v, err
	}
	v = s.imageView(l, i, events)
	if i.Status == records.Queued && i.GenerationID != nil {
		if v.Ahead, err = s.DB.Ahead(ctx, user, *i.GenerationID); err != nil {
			return v, err
		}
	}
	if !i.TrashedAt.IsZero() {
		return v, nil // the pages before and after are those of the gallery
	}
	newer, older, err := s.DB.Neighbours(ctx, i)
	if newer != "" {
		v.PrevURL = "/i/" + newer
	}
	if older != "" {
		v.NextURL = "/i/" + older
	}
	return v, err
}

func (s *Server) retryForm(w http.ResponseWriter, r *http.Request) {
	id := chi.URLParam(r, "id")
	err := s.DB.RetryImage(r.Context(), viewerOf(r).user.ID, id)
	if errors.Is(err, records.ErrNotPossible) { // most likely it went on by itself meanwhile
		s.redirect(w, r, s.backTo(r, "/i/"+id), noticeNotRetry)
		return
	}
	s.afterForm(w, r, err, "/i/"+id, noticeRetried)
}

func (s *Server) trashForm(w http.ResponseWriter, r *http.Request) {
	s.markForm(w, r, records.Marks{Trashed: new(true)}, noticeTrashed)
}

func (s *Server) restoreForm(w http.ResponseWriter, r *http.Request) {
	s.markForm(w, r, records.Marks{Trashed: new(false)}, noticeRestored)
}

func (s *Server) favoriteForm(w http.ResponseWriter, r *http.Request) {
	if err := readForm(r); err != nil {
		s.failPage(w, r, err)
		return
	}
	s.markForm(w, r, records.Marks{Favorite: new(r.PostForm.Get("favorite") == "1")}, "")
}

func (s *Server) markForm(w http.ResponseWriter, r *http.Request, m records.Marks, notice string) {
	id := chi.URLParam(r, "id")
	err := s.DB.MarkImage(r.Context(), viewerOf(r).user.ID, id, m)
	s.afterForm(w, r, err, "/i/"+id, notice)
}

func (s *Server) deleteForm(w http.ResponseWriter, r *http.Request) {
	err := s.DB.DeleteImage(r.Context(), viewerOf(r).user.ID, chi.URLParam(r, "id"))
	s.afterForm(w, r, err, "/trash", noticeDeleted)
}

// afterForm goes back to where the form was, unless that is the page of an
// image that is no more.
func (s *Server) afterForm(w http.ResponseWriter, r *http.Request, err error, otherwise, notice string) {
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	to := s.backTo(r, otherwise)
	if notice == noticeDeleted && strings.HasPrefix(to, "/i/") {
		to = otherwise
	}
	s.redirect(w, r, to, notice)
}
