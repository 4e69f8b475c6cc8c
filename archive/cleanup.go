package archive

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"afterimage/records"
)

func (t *task) log() *slog.Logger {
	return t.Log.With("image", t.image.ID, "job", t.job.ID, "attempt", t.job.Attempt+1)
}

// objectKey is where an image's object lies. It depends on nothing but the
// image, so a repeat overwrites the same object.
func objectKey(i *records.Image, ext string) string {
	return "images/" + i.CreatedAt.Format("2006/01/02/") + i.ID + ext
}

// after does what may be done only once a settlement stands.
func (a *Archiver) after(ctx context.Context, s records.Settlement, lost bool) {
	if len(s.Images) == 0 {
		return
	}
	i := s.Images[0].Image
	if !lost {
		if i.Status == records.Archived {
			a.unspool(i.ID)
		}
		if _, _, paused := a.Paused(); s.Verdict == records.Hold && !paused {
			a.releaseHeld(ctx) // the store came back while this was written
		}
		return
	}
	// Deleted in the meantime? Then nobody else takes away what we stored.
	_, err := a.DB.ImageByLink(ctx, i.ID)
	if !errors.Is(err, records.ErrNotFound) {
		return
	}
	a.unspool(i.ID)
	if i.ObjectKey == "" {
		return
	}
	if err := a.Store.Delete(ctx, i.ObjectKey); err != nil {
		a.Log.Error("the object of a deleted image could not be deleted", "image", i.ID, "err", err)
	}
}

func (a *Archiver) releaseHeld(ctx context.Context) {
	if err := a.DB.ReleaseHeld(ctx, a.Spool.ID()); err != nil {
		a.Log.Error("jobs that waited for the store could not be released", "err", err)
	}
}

func (a *Archiver) unspool(id string) {
	if err := a.Spool.Remove(id); err != nil {
		a.Log.Error("a file could not be removed from the spool", "image", id, "err", err)
	}
}

// delete does one delete job: the object and the spool file of an image that
// is gone. An object that a worker was just storing is taken away by after.
func (a *Archiver) delete(ctx context.Context, job records.Job) records.Settlement {
	a.unspool(*job.Ref)
	if job.Data == "" { // it was never stored
		return records.Settlement{Verdict: records.Complete}
	}
	err := a.Store.Delete(ctx, job.Data)
	switch {
	case err == nil:
		return records.Settlement{Verdict: records.Complete}
	case ctx.Err() != nil:
		return records.Settlement{Verdict: records.Release}
	}
	a.Log.Warn("an object could not be deleted", "image", *job.Ref, "err", err)
	return records.Settlement{Verdict: records.Defer, RunAt: a.DB.Now().Add(deleteAgain), Error: err.Error()}
}

// deleteAgain is the pause after the store did not delete an object.
const deleteAgain = 30 * time.Second
