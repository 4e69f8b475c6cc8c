package http

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"afterimage/records"
	"afterimage/web"
)

const (
	// liveBeat is how often a stream says that it lives, and looks whether its
	// session still does.
	liveBeat = 15 * time.Second
	// liveWrite is how long one event may take to be written. The stream as a
	// whole has no end.
	liveWrite = 30 * time.Second
	// liveImages bounds one event.
	liveImages = 100
)

// stream is one open page.
type stream struct {
	*Server
	r     *http.Request
	w     http.ResponseWriter
	user  *records.User
	lang  string
	image string // the page of this image; empty: a wall
	seq   int64
}

// live tells a page what changes after it was rendered: whole fragments, each
// image as it is now. The id of an event is where the next connection goes on.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	v := viewerOf(r)
	l := &stream{Server: s, r: r, w: w, user: v.user, lang: s.language(r), image: r.URL.Query().Get("image")}
	err := l.begin()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	// Told of changes before the first look, so that nothing falls between.
	changed, done := s.hub.subscribe(v.user.ID)
	defer done()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would keep events back
	if r.Method == http.MethodHead {
		return
	}
	// The page went away, we are stopping, or the database does not answer: in
	// each case the browser connects again and goes on from where it was.
	if err := l.run(changed); err != nil && r.Context().Err() == nil {
		s.Log.Warn("an event stream broke off", "request", requestID(r), "err", err)
	}
}

// begin finds out where the page stands.
func (l *stream) begin() (err error) {
	if l.image != "" {
		if _, err := l.imageOf(l.r, l.image); err != nil {
			return err
		}
	}
	since := l.r.Header.Get("Last-Event-ID")
	if since == "" {
		since = l.r.URL.Query().Get("since")
	}
	if since == "" {
		l.seq, err = l.DB.HistoryHead(l.r.Context(), l.user.ID)
		return err
	}
	l.seq, err = l.readSeq(l.user.ID, since)
	return err
}

func (l *stream) run(changed <-chan struct{}) error {
	ctx := l.r.Context()
	again, beat := time.NewTicker(lookAgain), time.NewTicker(liveBeat)
	defer again.Stop()
	defer beat.Stop()
	if err := l.send(": hello\n\n"); err != nil { // headers go out now, not with the first event
		return err
	}
	for {
		if err := l.tell(ctx); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-again.C: // another instance may have made a change
		case <-beat.C:
			if v, err := l.identify(l.r); err != nil || v == nil {
				return err
			}
			if err := l.send(": beat\n\n"); err != nil {
				return err
			}
		case <-l.hub.closed:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// tell sends what changed since the last time.
func (l *stream) tell(ctx context.Context) error {
	for {
		h, err := l.DB.History(ctx, l.user.ID, l.seq, liveImages)
		if err != nil || h.Seq == l.seq {
			return err
		}
		l.seq = h.Seq
		html, err := l.fragment(ctx, h.Images)
		if err != nil {
			return err
		}
		if html != "" {
			if err := l.send(l.event(html)); err != nil {
				return err
			}
		}
		if !h.HasMore {
			return nil
		}
	}
}

// fragment is what replaces changed images on the page; empty if none of them
// is there. Deleted ones stay until the page is loaded again.
func (l *stream) fragment(ctx context.Context, images []records.Image) (string, error) {
	var html bytes.Buffer
	var tiles []web.Tile
	for n := range images {
		i := &images[n]
		switch {
		case !i.DeletedAt.IsZero():
		case l.image == "":
			tiles = append(tiles, l.tile(i))
		case l.image == i.ID:
			view, err := l.readImageView(ctx, l.layout(l.r, ""), l.user.ID, i.ID)
			if err != nil {
				return "", err
			}
			err = l.Site.RenderImage(&html, l.lang, view)
			return html.String(), err
		}
	}
	if len(tiles) == 0 {
		return "", nil
	}
	err := l.Site.RenderTiles(&html, l.lang, tiles)
	return html.String(), err
}

// lineEnds are all that end a line in an event stream. A prompt may have any
// of them.
var lineEnds = strings.NewReplacer("\r\n", "\ndata: ", "\r", "\ndata: ", "\n", "\ndata: ")

func (l *stream) event(html string) string {
	return fmt.Sprintf("id: %s\ndata: %s\n\n", l.seqCursor(l.user.ID, l.seq), lineEnds.Replace(strings.TrimSpace(html)))
}

// send writes and flushes. A server's own deadlines are for answers that end.
func (l *stream) send(text string) error {
	c := http.NewResponseController(l.w)
	// Not every writer has deadlines; without one there is none to lift.
	_ = c.SetReadDeadline(time.Time{})
	_ = c.SetWriteDeadline(time.Now().Add(liveWrite))
	if _, err := l.w.Write([]byte(text)); err != nil {
		return err
	}
	return c.Flush()
}
