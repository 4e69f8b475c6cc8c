package http

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"afterimage/archive"
	"afterimage/records"
)

// downloadPage is how many images are read at a time.
const downloadPage = 200

// downloadImages answers with a zip of the images that are named, or selected
// by a filter: each with its sidecar, and a list of all.
func (s *Server) downloadImages(w http.ResponseWriter, r *http.Request) {
	var ids []string
	if text := r.URL.Query().Get("ids"); text != "" {
		ids = strings.Split(text, ",")
	}
	user := viewerOf(r).user.ID
	// It checks what was asked for; beyond a thousand the pages go on by themselves.
	ids, next, err := s.selected(r, ids)
	var f records.ImageFilter
	if err == nil && next != nil {
		f, err = s.imageFilter(r, user)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if next != nil {
		s.sendZip(w, r, archive.Export{UserID: user, Next: s.byFilter(user, f)})
		return
	}
	s.sendZip(w, r, archive.Export{UserID: user, Next: s.byIDs(user, ids)})
}

// byIDs reads images one after another; one that is gone is left out.
func (s *Server) byIDs(user string, ids []string) func(context.Context) ([]records.Image, error) {
	return func(ctx context.Context) (page []records.Image, err error) {
		for len(page) == 0 && len(ids) > 0 && err == nil {
			part := ids[:min(len(ids), downloadPage)]
			ids = ids[len(part):]
			page, err = s.DB.ImagesByID(ctx, user, part)
		}
		return page, err
	}
}

func (s *Server) byFilter(user string, f records.ImageFilter) func(context.Context) ([]records.Image, error) {
	f.Limit = downloadPage
	return func(ctx context.Context) ([]records.Image, error) {
		images, err := s.DB.Images(ctx, user, f)
		if len(images) > 0 {
			f.Before = images[len(images)-1].Place()
		}
		return images, err
	}
}

// exportUser answers with all of a person's images, for an administrator who is
// about to delete the account.
func (s *Server) exportUser(w http.ResponseWriter, r *http.Request) {
	u, err := s.DB.User(r.Context(), chi.URLParam(r, "id"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.Log.Info("a person's images are exported", "user", u.ID, "by", viewerOf(r).user.ID)
	s.sendZip(w, r, archive.Export{UserID: u.ID})
}

// sendZip streams a zip. What goes wrong in the middle breaks the answer off,
// so that nobody takes half a zip for a whole one.
func (s *Server) sendZip(w http.ResponseWriter, r *http.Request, o archive.Export) {
	h := w.Header()
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Disposition", `attachment; filename="afterimage-`+time.Now().UTC().Format(time.DateOnly)+`.zip"`)
	h.Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		return
	}
	zip := archive.NewZip(patient{w, http.NewResponseController(w)})
	o.Failed = func(id string, err error) { s.Log.Error("an image is left out of a download", "image", id, "err", err) }
	_, err := s.Export(r.Context(), zip, o)
	if err == nil {
		err = zip.Close()
	}
	if err != nil {
		s.Log.Warn("a download broke off", "request", requestID(r), "err", err)
		panic(http.ErrAbortHandler)
	}
}

// patient is an answer of any length, of which each part has its own deadline.
type patient struct {
	io.Writer
	c *http.ResponseController
}

func (p patient) Write(b []byte) (int, error) {
	_ = p.c.SetWriteDeadline(time.Now().Add(liveWrite))
	return p.Writer.Write(b)
}
