package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"afterimage/fetch"
	"afterimage/storage"
)

// obtain gets the image's bytes from where they are: the spool, the store if a
// process ended before it could record what it had stored, or the source.
func (t *task) obtain(ctx context.Context) (bytes, error) {
	i := t.image
	b, err := t.fromSpool()
	if !errors.Is(err, storage.ErrNotFound) {
		return b, err
	}
	if i.SpoolID == t.Spool.ID() {
		i.SpoolID = "" // the file is gone, and with it the promise
	}
	if t.job.Crashes > 0 {
		if b, err := t.fromStore(ctx); err == nil {
			return b, nil
		}
	}
	return t.fromSource(ctx)
}

// download asks the source once.
func (t *task) download(ctx context.Context) (bytes, error) {
	if t.image.SourceURL == "" {
		return nil, &fetch.Error{Reason: fetch.Missing, Final: true, Detail: "there is neither a source nor a file in the spool"}
	}
	return t.collect(func(b *scratch) error {
		got, err := t.Fetch.Get(ctx, t.source(), b)
		b.sum = got.SHA256
		return err
	})
}

func (t *task) source() fetch.Source {
	s := fetch.Source{URL: t.image.SourceURL, Expires: t.image.SourceExpiresAt.Time}
	if t.image.ImportID == nil {
		s.Origins = t.Origins[t.image.Provider]
	}
	return s
}

// fromStore reads back an object that was stored and not recorded. Objects are
// whole or absent, so it is as good as what the source would give.
func (t *task) fromStore(ctx context.Context) (bytes, error) {
	found, err := t.Store.List(ctx, objectKey(t.image.ID)+".", "", 1)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, storage.ErrNotFound
	}
	return t.collect(func(b *scratch) error {
		object, _, err := t.Store.Open(ctx, found[0].Key, 0, -1)
		if err != nil {
			return err
		}
		defer object.Close()
		h := sha256.New()
		if _, err := io.Copy(io.MultiWriter(b, h), object); err != nil {
			return fmt.Errorf("read back %s: %w", found[0].Key, err)
		}
		h.Sum(b.sum[:0])
		if known := t.image.SHA256; known != "" && known != fmt.Sprintf("%x", b.sum) {
			return fmt.Errorf("read back %s: it is not what was stored", found[0].Key)
		}
		return nil
	})
}

// collect gives what fill wrote; whatever ends it, nothing is left behind.
func (t *task) collect(fill func(*scratch) error) (bytes, error) {
	b := newScratch(t.Spool, t.image.ID)
	filled := false
	defer func() {
		if !filled {
			b.Close()
		}
	}()
	if err := fill(b); err != nil {
		return nil, err
	}
	filled = true
	return b, nil
}
