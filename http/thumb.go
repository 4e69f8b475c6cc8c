package http

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"afterimage/archive"
	"afterimage/archive/thumbs"
	"afterimage/records"
	"afterimage/storage"
)

const (
	// defaultThumb is the size, in pixels of the long edge, of who asks for none.
	defaultThumb = 480
	// maxThumb bounds the bytes of a thumbnail that are read.
	maxThumb = 8 << 20
	// smallEnough is up to how many bytes an image stands for its thumbnail
	// until there is one.
	smallEnough = 128 << 10
	// bearable is up to how many bytes and pixels it does if there never will
	// be one: many may be on one page.
	bearable, bearablePixels = 4 << 20, 25e6
)

// serveThumb serves a small picture of an image. It is never held up: while
// there is none, it serves a small image itself or draws something that cannot
// be taken for the picture.
func (s *Server) serveThumb(w http.ResponseWriter, r *http.Request) {
	id := chi.URLParam(r, "id")
	size, sizeErr := thumbSize(r.URL.Query().Get("w"))
	if !records.IsID(id) {
		s.fail(w, r, records.ErrNotFound)
		return
	}
	i, err := s.visible(r, id)
	if err == nil {
		err = sizeErr
	}
	switch {
	case err != nil:
		s.fail(w, r, err)
	case archive.ThumbType(i) != "" && (s.sendAway(w, r, i, archive.ThumbKey(i, size)) || s.sendThumb(w, r, i, size)):
	case standsForItself(i) && s.sendInstead(w, r, i):
	default:
		sendPlaceholder(w, i, size)
	}
}

// thumbSize reads ?w=: the long edge in pixels.
func thumbSize(w string) (int, error) {
	if w == "" {
		return defaultThumb, nil
	}
	size, err := strconv.Atoi(w)
	if err != nil || !slices.Contains(thumbs.All(), size) {
		return 0, invalid("w", fmt.Sprintf("w takes one of %d.", thumbs.All()))
	}
	return size, nil
}

// sendThumb sends a thumbnail from the store. If it does not give it, nothing
// is sent: a page with placeholders is better than one with holes.
func (s *Server) sendThumb(w http.ResponseWriter, r *http.Request, i *records.Image, size int) bool {
	key := archive.ThumbKey(i, size)
	etag := fmt.Sprintf(`"%.32s-%d"`, i.SHA256, size)
	var content io.ReadSeeker = bytes.NewReader(nil)
	if r.Header.Get("If-None-Match") != etag { // else ServeContent needs no content
		data, err := s.readThumb(r, key)
		if err != nil {
			if r.Context().Err() == nil {
				s.Log.Error("a thumbnail could not be read", "image", i.ID, "key", key, "err", err)
			}
			return false
		}
		content = bytes.NewReader(data)
	}
	thumbHeaders(w, archive.ThumbType(i), s.cacheControl(i))
	w.Header().Set("ETag", etag)
	http.ServeContent(w, r, "", i.ArchivedAt.Time, content)
	return true
}

func thumbHeaders(w http.ResponseWriter, mime, cache string) {
	h := w.Header()
	h.Set("Content-Type", mime)
	h.Set("Content-Security-Policy", imageCSP)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Cache-Control", cache)
}

func (s *Server) readThumb(r *http.Request, key string) ([]byte, error) {
	body, info, err := s.Store.Open(r.Context(), key, 0, -1)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	if info.Size > maxThumb {
		return nil, fmt.Errorf("it has %d bytes", info.Size)
	}
	return io.ReadAll(io.LimitReader(body, maxThumb))
}

// browserTypes are what every browser of today shows.
var browserTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"}

// standsForItself reports whether an image may be sent in place of its
// thumbnail.
func standsForItself(i *records.Image) bool {
	if !i.Secured() || !slices.Contains(browserTypes, i.MIME) {
		return false
	}
	if i.Thumb == records.ThumbNone {
		return i.Bytes <= bearable && int64(i.Width)*int64(i.Height) <= bearablePixels
	}
	return i.Bytes <= smallEnough
}

// sendInstead sends the image itself. Until it is known that there will be no
// thumbnail, nobody may keep it for one.
func (s *Server) sendInstead(w http.ResponseWriter, r *http.Request, i *records.Image) bool {
	body, err := s.openImage(r.Context(), i, readingFor(r, i))
	if err != nil {
		if _, ok := errors.AsType[*problem](err); !ok && !errors.Is(err, storage.ErrNotFound) {
			s.Log.Error("an image could not be read for its thumbnail", "image", i.ID, "err", err)
		}
		return false
	}
	defer body.Close()
	s.imageHeaders(w, r, i)
	modified := i.ArchivedAt.Time
	if i.Thumb != records.ThumbNone {
		w.Header().Set("Cache-Control", "private, no-cache")
		modified = time.Time{}
	}
	http.ServeContent(w, r, "", modified, body)
	return true
}
