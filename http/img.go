package http

import (
	"fmt"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"afterimage/records"
)

const (
	// imageHold is how long a request for an image is held that is not there
	// yet. Proxies give up after a minute or so.
	imageHold = 25 * time.Second
	// imageCSP keeps what a browser opens directly from running anything.
	imageCSP = "default-src 'none'; sandbox"
)

// serveImage is the permanent URL.
func (s *Server) serveImage(w http.ResponseWriter, r *http.Request) {
	i, err := s.awaitBytes(r, chi.URLParam(r, "id"), imageHold)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if s.sendAway(w, r, i, i.ObjectKey) {
		return
	}
	body, err := s.openImage(r.Context(), i, readingFor(r, i))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer body.Close()
	s.imageHeaders(w, r, i)
	http.ServeContent(w, r, "", i.ArchivedAt.Time, body)
}

// awayTime is how long a redirect may be kept: the image may go into the trash.
const awayTime = 5 * time.Minute

// sendAway redirects to where anybody can read an object without us, if there
// is such a place. Only what everybody may see goes there, and no download,
// which has a name that the place does not know.
func (s *Server) sendAway(w http.ResponseWriter, r *http.Request, i *records.Image, key string) bool {
	if s.PublicURL == nil || s.PrivateImages || i.Status != records.Archived || !i.TrashedAt.IsZero() || isDownload(r) {
		return false
	}
	h := w.Header()
	h.Set("Content-Security-Policy", imageCSP)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Cache-Control", fmt.Sprintf("public, max-age=%.0f", awayTime.Seconds()))
	http.Redirect(w, r, s.PublicURL(key), http.StatusFound)
	return true
}

func isDownload(r *http.Request) bool { return r.URL.Query().Get("download") == "1" }

// awaitBytes returns an image that the viewer may see and whose bytes are
// there, waiting for them for a while.
func (s *Server) awaitBytes(r *http.Request, id string, hold time.Duration) (*records.Image, error) {
	if !records.IsID(id) {
		return nil, records.ErrNotFound
	}
	i, err := s.visible(r, id)
	if err != nil {
		return nil, err
	}
	if !i.Secured() && !i.Status.Final() {
		err = s.hub.waitFor(r.Context(), i.UserID, hold, func() (bool, error) {
			i, err = s.visible(r, id)
			return err != nil || i.Secured() || i.Status.Final(), err
		})
		if err != nil {
			return nil, err
		}
	}
	switch {
	case i.Secured():
		return i, nil
	case i.Status.Final():
		return nil, newProblem(http.StatusGone, codeLost, "This image was not kept: "+string(i.Status)+".")
	}
	return nil, newProblem(http.StatusAccepted, codeNotReady, "The image is not there yet. Ask again.").after(pendingRetry)
}

// visible returns an image if the viewer may see its bytes: who has the link
// may, unless images are private or it is in the trash.
func (s *Server) visible(r *http.Request, id string) (*records.Image, error) {
	i, err := s.DB.ImageByLink(r.Context(), id)
	if err != nil {
		return nil, err
	}
	if !s.PrivateImages && i.TrashedAt.IsZero() {
		return i, nil
	}
	v, err := s.identify(r)
	if err != nil {
		return nil, err
	}
	if v == nil || v.user.ID != i.UserID || !v.allows(records.ScopeImagesRead) {
		return nil, records.ErrNotFound
	}
	return i, nil
}

func (s *Server) imageHeaders(w http.ResponseWriter, r *http.Request, i *records.Image) {
	h := w.Header()
	h.Set("Content-Type", i.MIME)
	h.Set("Content-Security-Policy", imageCSP)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	if i.SHA256 != "" {
		h.Set("ETag", imageETag(i))
	}
	h.Set("Cache-Control", s.cacheControl(i))
	if isDownload(r) {
		h.Set("Content-Disposition", attachment(s.fileName(r.Context(), i)))
	}
}

func imageETag(i *records.Image) string { return `"` + i.SHA256 + `"` }

// cacheControl says who may keep an image's bytes, and for how long.
func (s *Server) cacheControl(i *records.Image) string {
	switch {
	case !i.TrashedAt.IsZero(), i.Status != records.Archived:
		return "private, no-cache"
	case s.PrivateImages:
		return "private, max-age=31536000, immutable"
	}
	return "public, max-age=31536000, immutable"
}
