package http

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"afterimage/archive"
	"afterimage/records"
	"afterimage/storage"
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

// verifyForm reads the stored object back and says whether it is what was stored.
func (s *Server) verifyForm(w http.ResponseWriter, r *http.Request) {
	id := chi.URLParam(r, "id")
	i, err := s.imageOf(r, id)
	var found archive.Found
	if err == nil {
		found, err = s.Verify(r.Context(), i)
	}
	if _, ok := errors.AsType[*storage.Error](err); ok {
		s.Log.Error("an image could not be verified", "image", id, "err", err)
		err = newProblem(http.StatusServiceUnavailable, codeStore, "Storage does not answer right now.").after(10 * time.Second)
	}
	said := noticeVerified
	if found.What == archive.Missing || found.What == archive.Wrong {
		said = noticeDamaged
	}
	s.afterForm(w, r, err, "/i/"+id, said)
}

func (s *Server) trashForm(w http.ResponseWriter, r *http.Request) {
	id := chi.URLParam(r, "id")
	if err := s.DB.MarkImage(r.Context(), viewerOf(r).user.ID, id, records.Marks{Trashed: new(true)}); err != nil {
		s.failPage(w, r, err)
		return
	}
	s.redirectSaying(w, r, s.backTo(r, "/i/"+id), notice{key: noticeTrashed, undo: []string{id}})
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

// cancelForm calls the request off that an image belongs to.
func (s *Server) cancelForm(w http.ResponseWriter, r *http.Request) {
	id := chi.URLParam(r, "id")
	i, err := s.imageOf(r, id)
	if err == nil && i.GenerationID == nil {
		err = records.ErrNotPossible
	}
	if err == nil {
		err = s.DB.CancelGeneration(r.Context(), viewerOf(r).user.ID, *i.GenerationID)
	}
	if errors.Is(err, records.ErrNotPossible) { // most likely it was just made
		s.redirect(w, r, s.backTo(r, "/i/"+id), noticeNotCancel)
		return
	}
	s.afterForm(w, r, err, "/i/"+id, noticeCanceled)
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
