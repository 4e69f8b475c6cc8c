package http

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/go-chi/chi/v5"

	"afterimage/records"
	"afterimage/storage"
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
	body, err := s.openImage(r.Context(), i)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer body.Close()
	s.imageHeaders(w, r, i)
	http.ServeContent(w, r, "", i.ArchivedAt.Time, body)
}

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
		h.Set("ETag", `"`+i.SHA256+`"`)
	}
	h.Set("Cache-Control", s.cacheControl(i))
	if r.URL.Query().Get("download") == "1" {
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": s.fileName(r.Context(), i)}))
	}
}

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

// fileName is {user}-{date}-{prompt}-{id}.{ext}.
func (s *Server) fileName(ctx context.Context, i *records.Image) string {
	name := "afterimage"
	if u, err := s.DB.User(ctx, i.UserID); err == nil {
		name = u.Username
	}
	_, ext, _ := strings.Cut(i.MIME, "/")
	if ext == "jpeg" {
		ext = "jpg"
	}
	parts := []string{name, i.CreatedAt.Format("2006-01-02"), slug(i.Prompt), i.ID[:8] + "." + ext}
	return strings.ReplaceAll(strings.Join(parts, "-"), "--", "-")
}

// slug is the first words of a prompt as every file system takes them.
func slug(prompt string) string {
	var b strings.Builder
	n := 0
	for _, c := range prompt {
		if n++; n > 40 {
			break
		}
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			b.WriteRune(c)
		} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}

// openImage opens an image's bytes: in the store, or in our spool.
func (s *Server) openImage(ctx context.Context, i *records.Image) (io.ReadSeekCloser, error) {
	if i.ObjectKey != "" {
		return &objectReader{ctx: ctx, store: s.Store, key: i.ObjectKey, size: i.Bytes}, s.present(ctx, i)
	}
	if i.SpoolID != s.Spool.ID() {
		return nil, newProblem(http.StatusServiceUnavailable, codeElsewhere,
			"The image is safe on another machine and not stored yet.").after(5 * time.Second)
	}
	f, err := s.Spool.Open(i.ID)
	if errors.Is(err, storage.ErrNotFound) { // stored since we read its row
		fresh, err := s.DB.ImageByLink(ctx, i.ID)
		switch {
		case err != nil:
			return nil, err
		case fresh.ObjectKey == "" && fresh.SourceURL != "":
			return nil, newProblem(http.StatusAccepted, codeNotReady, "The image is fetched once more. Ask again.").after(pendingRetry)
		case fresh.ObjectKey == "":
			s.Log.Error("the spool has lost an image", "image", i.ID)
			return nil, newProblem(http.StatusGone, codeLost, "The image is missing.")
		}
		*i = *fresh
		return s.openImage(ctx, i)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// present makes a missing object and a store that does not answer an error
// before the first byte of an answer is out.
func (s *Server) present(ctx context.Context, i *records.Image) error {
	info, err := s.Store.Stat(ctx, i.ObjectKey)
	switch {
	case err == nil && info.Size == i.Bytes:
		return nil
	case err == nil:
		s.Log.Error("a stored object has another size than its record", "image", i.ID, "object", info.Size, "record", i.Bytes)
		return newProblem(http.StatusGone, codeLost, "The stored image is damaged.")
	case errors.Is(err, storage.ErrNotFound):
		s.Log.Error("a stored object is missing", "image", i.ID, "key", i.ObjectKey)
		return newProblem(http.StatusGone, codeLost, "The stored image is missing.")
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	s.Log.Error("the store did not give an image", "image", i.ID, "err", err)
	return newProblem(http.StatusServiceUnavailable, codeStore, "Storage does not answer right now.").after(10 * time.Second)
}

// objectReader reads an object from wherever http.ServeContent wants it, so
// that ranges cost what they send.
type objectReader struct {
	ctx   context.Context
	store storage.Store
	key   string
	size  int64
	at    int64
	body  io.ReadCloser // nil until the first Read after a Seek
}

func (o *objectReader) Seek(offset int64, whence int) (int64, error) {
	at := offset
	switch whence {
	case io.SeekCurrent:
		at += o.at
	case io.SeekEnd:
		at += o.size
	}
	if at < 0 {
		return 0, errors.New("seek before the start")
	}
	if at != o.at {
		o.Close()
		o.at = at
	}
	return at, nil
}

func (o *objectReader) Read(p []byte) (int, error) {
	if o.at >= o.size {
		return 0, io.EOF
	}
	if o.body == nil {
		body, _, err := o.store.Open(o.ctx, o.key, o.at, -1)
		if err != nil {
			return 0, err
		}
		o.body = body
	}
	n, err := o.body.Read(p)
	o.at += int64(n)
	return n, err
}

// Close ends a read from the store that may be under way.
func (o *objectReader) Close() error {
	if o.body == nil {
		return nil
	}
	err := o.body.Close()
	o.body = nil
	return err
}
