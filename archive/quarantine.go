package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"afterimage/storage"
)

// isolate moves an object into the quarantine: a copy first, so that a crash
// in between leaves both.
func (r *reconciliation) isolate(ctx context.Context, o storage.Info) (string, error) {
	to := quarantine + time.Now().UTC().Format(time.DateOnly) + "/" + o.Key
	if !storage.ValidKey(o.Key) || !storage.ValidKey(to) {
		return "", nil // a key that the store does not take from us
	}
	body, info, err := r.Store.Open(ctx, o.Key, 0, -1)
	if errors.Is(err, storage.ErrNotFound) {
		return "", nil // deleted meanwhile
	}
	if err != nil {
		return "", err
	}
	defer body.Close()
	b := newScratch(r.Spool, "quarantine")
	defer b.Close()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(b, h), body); err != nil {
		return "", fmt.Errorf("read object %s: %w", o.Key, err)
	}
	h.Sum(b.sum[:0])
	_, err = r.Store.Put(ctx, storage.Object{Key: to, ContentType: info.ContentType, Size: b.Size(), SHA256: b.SHA256()}, b.Reader())
	if err != nil {
		return "", err
	}
	return "quarantined", r.Store.Delete(ctx, o.Key)
}

// quarantined deletes for ever what has been in the quarantine long enough.
func (r *reconciliation) quarantined(ctx context.Context, o storage.Info) error {
	day, _, _ := strings.Cut(strings.TrimPrefix(o.Key, quarantine), "/")
	since, err := time.Parse(time.DateOnly, day)
	if err != nil || !r.Repair || time.Since(since) < quarantineTime || !storage.ValidKey(o.Key) {
		return nil
	}
	if err := r.Store.Delete(ctx, o.Key); err != nil {
		return err
	}
	r.done.Emptied++
	return nil
}

// probe notes an object that a check of the store left behind.
func (r *reconciliation) probe(ctx context.Context, o storage.Info) error {
	if o.ModTime.After(r.cutoff) {
		r.done.Young++
		return nil
	}
	return r.note(ctx, Difference{Kind: CheckLeft, Key: o.Key, Bytes: o.Size}, func(ctx context.Context) (string, error) {
		return "deleted", r.Store.Delete(ctx, o.Key)
	})
}
