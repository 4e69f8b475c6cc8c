package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"afterimage/archive/thumbs"
	"afterimage/records"
	"afterimage/storage"
)

// trace is all that a store has of one image.
type trace struct {
	id      string
	sidecar string                  // the key of the newest; empty: there is none
	objects map[string]storage.Info // by key
	thumbs  map[string]bool         // by key
}

// traces goes through all images that a store has anything of, in the order of
// their ids. It holds one page of each prefix's list.
func traces(ctx context.Context, store storage.Store) iter.Seq2[trace, error] {
	return func(yield func(trace, error) bool) {
		lists := []*listing{{store: store, prefix: sidecars}, {store: store, prefix: images}, {store: store, prefix: thumbnails}}
		for {
			t, err := nextTrace(ctx, lists)
			switch {
			case err != nil:
				yield(t, err)
				return
			case t.id == "":
				return
			case t.sidecar == "" && len(t.objects) == 0: // nothing but thumbnails
			case !yield(t, nil):
				return
			}
		}
	}
}

// nextTrace takes what belongs to the lowest id off the lists. Without an id
// there was nothing left.
func nextTrace(ctx context.Context, lists []*listing) (trace, error) {
	t := trace{objects: map[string]storage.Info{}, thumbs: map[string]bool{}}
	for _, l := range lists {
		if err := l.fill(ctx); err != nil {
			return t, err
		}
		if id := l.id(); id != "" && (t.id == "" || id < t.id) {
			t.id = id
		}
	}
	var newest storage.Info
	for _, l := range lists {
		for t.id != "" && l.id() == t.id {
			switch o := l.page[0]; {
			case l.prefix == images:
				t.objects[o.Key] = o
			case l.prefix == thumbnails:
				t.thumbs[o.Key] = true
			case t.sidecar == "" || o.ModTime.After(newest.ModTime):
				t.sidecar, newest = o.Key, o
			}
			l.page = l.page[1:]
			if err := l.fill(ctx); err != nil {
				return t, err
			}
		}
	}
	return t, nil
}

const listPage = 1000

// listing reads the objects under a prefix page by page.
type listing struct {
	store  storage.Store
	prefix string
	page   []storage.Info
	after  string
	done   bool
}

// fill makes sure that the page begins with an object of an image, if there is
// one left.
func (l *listing) fill(ctx context.Context) error {
	for {
		for len(l.page) > 0 && l.id() == "" { // a stranger's
			l.page = l.page[1:]
		}
		if len(l.page) > 0 || l.done {
			return nil
		}
		page, err := l.store.List(ctx, l.prefix, l.after, listPage)
		if err != nil {
			return err
		}
		if l.page, l.done = page, len(page) < listPage; len(page) > 0 {
			l.after = page[len(page)-1].Key
		}
	}
}

// id is the image that the next object belongs to.
func (l *listing) id() string {
	if len(l.page) == 0 || l.prefix == sidecars && !strings.HasSuffix(l.page[0].Key, ".json") {
		return ""
	}
	return idOf(l.page[0].Key)
}

// hasThumbs reports whether there are all thumbnails that an image should
// have.
func (t trace) hasThumbs(i *records.Image) bool {
	if ThumbType(i) == "" {
		return i.Thumb == records.ThumbNone
	}
	for _, size := range thumbs.Sizes(i.Width, i.Height) {
		if !t.thumbs[thumbKey(i.ID, i.Thumb, size)] {
			return false
		}
	}
	return true
}

// readSidecar reads an image's sidecar and checks that it is one.
func readSidecar(ctx context.Context, store storage.Store, t trace) (*Sidecar, error) {
	body, _, err := store.Open(ctx, t.sidecar, 0, maxSidecar)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, &storesError{err}
	}
	var s Sidecar
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("read sidecar %s: %w", t.sidecar, err)
	}
	if err := s.check(t.id); err != nil {
		return nil, fmt.Errorf("read sidecar %s: %w", t.sidecar, err)
	}
	return &s, nil
}

// storesError is a body that broke off.
type storesError struct{ error }

func (e *storesError) Unwrap() error { return e.error }

// isStores reports that it was the store, or that we were told to stop.
func isStores(err error) bool {
	_, asked := errors.AsType[*storage.Error](err)
	_, read := errors.AsType[*storesError](err)
	return asked || read || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
