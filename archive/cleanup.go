package archive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"afterimage/records"
	"afterimage/storage"
)

func (t *task) log() *slog.Logger {
	return t.Log.With("image", t.image.ID, "job", t.job.ID, "attempt", t.job.Attempt+1)
}

// objectKey is where an image's object lies, without the extension. It depends
// on nothing but the id, so a repeat overwrites the same object, and an object
// is found even if no row says that it was stored.
func objectKey(id string) string { return images + dated(id) }

// dated is an id in the folder of the day it was made on.
func dated(id string) string { return records.IDTime(id).Format("2006/01/02/") + id }

// settled does what may be done only once a settlement stands, or turned out
// to be too late. The queue waits for it, so it asks nobody who may be slow.
func (a *Archiver) settled(ctx context.Context, s records.Settlement, lost bool) {
	if len(s.Images) == 0 {
		return
	}
	i := s.Images[0].Image
	if lost {
		a.after.Go(func() { a.tidy(ctx, i) })
		return
	}
	if i.Status == records.Archived {
		a.unspool(i.ID)
	}
	switch s.Verdict {
	case records.Hold:
		if _, _, paused := a.Paused(); !paused {
			a.gate.release() // the store came back while this was written
		}
	case records.Complete:
		a.gate.forget(i.ID)
	}
}

// tidyTime bounds the cleaning up after one image.
const tidyTime = time.Minute

// tidy takes away what a worker left that lost its claim: the file of an image
// that somebody else has archived, and everything of one that was deleted in
// the meantime, when nobody else does.
func (a *Archiver) tidy(ctx context.Context, i *records.Image) {
	ctx, cancel := context.WithTimeout(ctx, tidyTime)
	defer cancel()
	now, err := a.DB.ImageByLink(ctx, i.ID)
	switch {
	case errors.Is(err, records.ErrNotFound):
		a.gate.forget(i.ID)
		a.unspool(i.ID)
		if err := a.removeObject(ctx, i.ID); err != nil {
			a.Log.Error("the object of a deleted image could not be deleted", "image", i.ID, "err", err)
		}
	case err != nil:
		a.Log.Error("an image could not be read", "image", i.ID, "err", err)
	case now.Status == records.Archived:
		a.unspool(i.ID)
	}
}

func (a *Archiver) unspool(id string) {
	if err := a.Spool.Remove(id); err != nil {
		a.Log.Error("a file could not be removed from the spool", "image", id, "err", err)
	}
}

// removeObject deletes the object of an image that the store holds.
func (a *Archiver) removeObject(ctx context.Context, id string) error {
	return a.removeAll(ctx, objectKey(id)+".")
}

// delete does one delete job: all that is left of an image that is gone. An
// object that a worker was just storing is taken away by tidy. A crash leaves
// the job, and so nothing that nobody takes away.
func (a *Archiver) delete(ctx context.Context, job records.Job) records.Settlement {
	id := *job.Ref
	a.unspool(id)
	err := a.removeKept(ctx, id, job.Data)
	switch {
	case err == nil:
		return records.Settlement{Verdict: records.Complete}
	case ctx.Err() != nil:
		return records.Settlement{Verdict: records.Release}
	}
	a.Log.Warn("an object could not be deleted", "image", id, "err", err)
	if e, ok := errors.AsType[*storage.Error](err); ok && e.Final {
		return records.Settlement{Verdict: records.Discard, Error: err.Error()}
	}
	return records.Settlement{Verdict: records.Defer, RunAt: a.DB.Now().Add(deleteAgain), Error: err.Error()}
}

// removeKept deletes what the store holds of an image, the sidecar first: if
// the database is lost right then, nothing brings back what its owner deleted.
func (a *Archiver) removeKept(ctx context.Context, id, key string) error {
	if err := a.removeSidecar(ctx, id); err != nil {
		return err
	}
	err := a.removeThumbs(ctx, id)
	if key == "" { // no row knew of an object, but its process may have ended before it told
		return errors.Join(err, a.removeObject(ctx, id))
	}
	return errors.Join(err, a.Store.Delete(ctx, key))
}

// deleteAgain is the pause after the store did not delete an object.
const deleteAgain = 30 * time.Second

// strangerAge is how old a file of the spool must be that no row knows. It is
// long, since the rows may be in a database that is only not the one in use.
const strangerAge = 7 * 24 * time.Hour

// CleanSpool removes files from the spool that a crash left and nobody needs:
// of images that are archived, called off or gone. Call it at start.
func (a *Archiver) CleanSpool(ctx context.Context) (removed int, err error) {
	uploads, err := a.DB.WaitingUploads(ctx)
	if err != nil {
		return 0, fmt.Errorf("clean the spool: %w", err)
	}
	for id, err := range a.Spool.List() {
		if err != nil {
			return removed, fmt.Errorf("clean the spool: %w", err)
		}
		if uploads[id] {
			continue // a generation that is not over starts from it
		}
		needless, err := a.needless(ctx, id)
		if err != nil {
			return removed, fmt.Errorf("clean the spool: %w", err)
		}
		if !needless {
			continue
		}
		if err := a.Spool.Remove(id); err != nil {
			return removed, fmt.Errorf("clean the spool: %w", err)
		}
		removed++
	}
	return removed, nil
}

func (a *Archiver) needless(ctx context.Context, id string) (bool, error) {
	if !records.IsID(id) {
		return false, nil // not ours
	}
	i, err := a.DB.ImageByLink(ctx, id)
	if errors.Is(err, records.ErrNotFound) {
		return a.olderThan(id, strangerAge)
	}
	if err != nil {
		return false, err
	}
	return needless(i.Status), nil
}

func (a *Archiver) olderThan(id string, age time.Duration) (bool, error) {
	f, err := a.Spool.Open(id)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && time.Since(info.ModTime()) > age, err
}
