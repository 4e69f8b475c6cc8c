package http

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"afterimage/records"
)

// events tells a program what changes, each image as it is then. The id of an
// event is a cursor of the history: the two can be used in turn.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	l := s.newStream(w, r)
	if err := l.begin(); err != nil {
		s.fail(w, r, err)
		return
	}
	f, leave, err := s.feeds.join(r.Context(), s.DB, feedKey{l.user.ID, l.lang})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer leave()
	l.tell = func(ctx context.Context) error {
		for {
			text, seq, err := s.eventsAfter(ctx, f, l)
			if err != nil || seq == l.seq {
				return err
			}
			l.seq = seq
			if err := l.send(text); err != nil {
				return err
			}
		}
	}
	l.serve()
}

// feeds are the latest changes of the people that somebody follows, written
// once for all who do.
type feeds struct {
	mu sync.Mutex
	of map[feedKey]*feed
}

type feedKey struct{ user, lang string }

// feed has every change after one number up to another one.
type feed struct {
	followers int // guarded by feeds

	mu       sync.Mutex
	from, to int64
	events   []wireEvent
}

type wireEvent struct {
	seq  int64
	text []byte
}

// feedEvents is how many changes are kept for those who follow closely.
// Whoever is further behind reads the history.
const feedEvents = 512

// join begins to follow, and returns how to end it.
func (f *feeds) join(ctx context.Context, db *records.DB, key feedKey) (*feed, func(), error) {
	head, err := db.HistoryHead(ctx, key.user)
	if err != nil {
		return nil, nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.of[key]
	if one == nil {
		if f.of == nil {
			f.of = map[feedKey]*feed{}
		}
		one = &feed{from: head, to: head}
		f.of[key] = one
	}
	one.followers++
	return one, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if one.followers--; one.followers == 0 {
			delete(f.of, key)
		}
	}, nil
}

// eventsAfter is what a stream has to send next, and the number up to which
// that tells all.
func (s *Server) eventsAfter(ctx context.Context, f *feed, l *stream) ([]byte, int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.seq < f.from {
		h, err := s.DB.History(ctx, l.user.ID, l.seq, liveImages)
		if err != nil {
			return nil, 0, err
		}
		return join(s.wireEvents(l, h.Images)), h.Seq, nil
	}
	h, err := s.DB.History(ctx, l.user.ID, f.to, liveImages)
	if err != nil {
		return nil, 0, err
	}
	f.add(s.wireEvents(l, h.Images), h.Seq)
	n, _ := slices.BinarySearchFunc(f.events, l.seq+1, func(e wireEvent, seq int64) int { return int(e.seq - seq) })
	return join(f.events[n:]), max(f.to, l.seq), nil
}

// add keeps changes up to a number, and forgets the oldest beyond what fits.
func (f *feed) add(events []wireEvent, to int64) {
	f.events, f.to = append(f.events, events...), to
	if over := len(f.events) - feedEvents; over > 0 {
		f.from = f.events[over-1].seq
		f.events = slices.Clone(f.events[over:])
	}
}

func join(events []wireEvent) []byte {
	if len(events) == 1 {
		return events[0].text
	}
	var all bytes.Buffer
	for _, e := range events {
		all.Write(e.text)
	}
	return all.Bytes()
}

// wireEvents writes changes as they go into a stream.
func (s *Server) wireEvents(l *stream, images []records.Image) []wireEvent {
	list := make([]wireEvent, len(images))
	for n := range images {
		i := &images[n]
		kind, data := "image", any(nil)
		if i.DeletedAt.IsZero() {
			data = s.imageIn(l.lang, i)
		} else {
			kind, data = "deleted", deletedJSON{i.ID, "deleted"}
		}
		text, err := json.Marshal(data)
		if err != nil { // it came from JSON
			text = []byte("null")
		}
		list[n] = wireEvent{i.Seq, fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s\n\n", s.seqCursor(l.user.ID, i.Seq), kind, text)}
	}
	return list
}
