package http

import (
	"context"
	"net/http"
	"time"

	"afterimage/records"
)

const (
	// liveBeat is how often a stream says that it lives, and looks whether its
	// session still does.
	liveBeat = 15 * time.Second
	// liveWrite is how long one write may take before a client is dropped as
	// too slow. The stream as a whole has no end.
	liveWrite = 30 * time.Second
	// liveGap is the least time between two writes, so that many changes go
	// out together.
	liveGap = 50 * time.Millisecond
	// liveImages bounds one event of a page, and one read of the history.
	liveImages = 100
)

// stream is an open answer that tells a person what changes. Nothing waits in
// memory for it: whoever is slow, or comes again, reads on from its number.
type stream struct {
	*Server
	r    *http.Request
	w    http.ResponseWriter
	user *records.User
	lang string
	seq  int64 // the change number up to which all is told

	// tell sends what changed after seq and moves seq on.
	tell func(ctx context.Context) error
}

func (s *Server) newStream(w http.ResponseWriter, r *http.Request) *stream {
	return &stream{Server: s, r: r, w: w, user: viewerOf(r).user, lang: s.language(r)}
}

// begin finds out where the listener stands: after the event that it had last,
// or at the present.
func (l *stream) begin() (err error) {
	since := l.r.Header.Get("Last-Event-ID")
	if since == "" {
		since = l.r.URL.Query().Get("since")
	}
	if since == "" {
		l.seq, err = l.DB.HistoryHead(l.r.Context(), l.user.ID)
		return err
	}
	if l.seq, err = l.readSeq(l.user.ID, since); err == nil {
		_, err = l.DB.History(l.r.Context(), l.user.ID, l.seq, 1) // perhaps that is too long ago
	}
	return err
}

// serve answers until the listener goes away, we are stopping, or the database
// does not answer: in each case it connects again and goes on from where it was.
func (l *stream) serve() {
	// Told of changes before the first look, so that nothing falls between.
	changed, done := l.hub.subscribe(l.user.ID)
	defer done()
	h := l.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would keep events back
	if l.r.Method == http.MethodHead {
		return
	}
	if err := l.run(changed); err != nil && l.r.Context().Err() == nil {
		l.Log.Warn("an event stream broke off", "request", requestID(l.r), "err", err)
	}
}

func (l *stream) run(changed <-chan struct{}) error {
	ctx := l.r.Context()
	again, beat, gap := time.NewTicker(lookAgain), time.NewTicker(liveBeat), time.NewTimer(0)
	defer again.Stop()
	defer beat.Stop()
	defer gap.Stop()
	if err := l.send([]byte(": hello\n\n")); err != nil { // headers go out now, not with the first event
		return err
	}
	for {
		was := l.seq
		if err := l.tell(ctx); err != nil {
			return err
		}
		if l.seq != was {
			gap.Reset(liveGap)
			select {
			case <-gap.C:
			case <-l.hub.closed:
				return nil
			case <-ctx.Done():
				return nil
			}
		}
		select {
		case <-changed:
		case <-again.C: // another instance may have made a change
		case <-beat.C:
			if v, err := l.identify(l.r); err != nil || v == nil {
				return err
			}
			if err := l.send([]byte(": beat\n\n")); err != nil {
				return err
			}
		case <-l.hub.closed:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// send writes and flushes. A server's own deadlines are for answers that end.
func (l *stream) send(text []byte) error {
	c := http.NewResponseController(l.w)
	// Not every writer has deadlines; without one there is none to lift.
	_ = c.SetReadDeadline(time.Time{})
	_ = c.SetWriteDeadline(time.Now().Add(liveWrite))
	if _, err := l.w.Write(text); err != nil {
		return err
	}
	return c.Flush()
}
