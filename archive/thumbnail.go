package archive

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"afterimage/archive/thumbs"
	"afterimage/fetch"
	"afterimage/jobs"
	"afterimage/records"
	"afterimage/storage"
)

// thumbSlots is how many thumbnail jobs run at a time: they are for whenever
// there is time.
const thumbSlots = 1

// thumbAgain is the pause after the store was in trouble with a thumbnail.
const thumbAgain = 30 * time.Second

// thumbKind is the kind of job that draws thumbnails.
func (a *Archiver) thumbKind() jobs.Kind {
	return jobs.Kind{Name: records.KindThumbnail, Slots: thumbSlots, Idle: true, Run: a.thumbnail, After: a.thumbSettled}
}

// thumbJob is the job that an archived image makes necessary.
func thumbJob(i *records.Image) records.NextJob {
	return records.NextJob{Kind: records.KindThumbnail, Ref: i.ID, UserID: i.UserID, Lane: records.LaneIdle}
}

// thumbnail does one thumbnail job: it draws the thumbnails that are not there
// and writes the sidecar. Whatever goes wrong, the image stays as it is.
func (a *Archiver) thumbnail(ctx context.Context, job records.Job) records.Settlement {
	log := a.Log.With("image", *job.Ref, "job", job.ID)
	i, err := a.DB.ImageByLink(ctx, *job.Ref)
	if errors.Is(err, records.ErrNotFound) {
		log.Error("a thumbnail job is about an image that does not exist; it was discarded")
		return records.Settlement{Verdict: records.Discard, Error: "the image does not exist"}
	}
	if err == nil && i.Status != records.Archived {
		return records.Settlement{Verdict: records.Complete} // there will be another job
	}
	draws := err == nil && i.Thumb == records.ThumbNotYet
	if draws && job.Crashes > 0 { // it may be its pixels that end the process
		err = a.writeSidecar(ctx, i)
	}
	if draws && err == nil {
		err = a.draw(ctx, log, i)
	}
	missing := errors.Is(err, storage.ErrNotFound)
	if err == nil || missing { // what was asked for stays on record even so
		err = errors.Join(err, a.writeSidecar(ctx, i))
	}
	switch e, ok := errors.AsType[*storage.Error](err); {
	case ctx.Err() != nil:
		return records.Settlement{Verdict: records.Release}
	case missing:
		log.Error("the object of an image is missing; it has no thumbnail", "key", i.ObjectKey)
		return jobs.Backoff(a.DB.Now(), job, err)
	case ok && e.Final:
		log.Error("the store never takes the sidecar of an image; its history cannot be rebuilt", "err", e)
	case err != nil:
		log.Warn("a thumbnail or a sidecar could not be made yet", "err", err)
		return records.Settlement{Verdict: records.Defer, RunAt: a.DB.Now().Add(thumbAgain), Error: err.Error()}
	}
	s := records.Settlement{Verdict: records.Complete}
	if draws {
		s.Images = []records.ImageChange{{Image: i, ThumbOnly: true}}
	}
	return s
}

// draw draws and stores an image's thumbnails, or finds that there cannot be
// any, and notes in the image what there is.
func (a *Archiver) draw(ctx context.Context, log *slog.Logger, i *records.Image) error {
	set, err := a.makeThumbs(ctx, i)
	if e, ok := errors.AsType[*thumbs.UndrawableError](err); ok {
		log.Warn("an image has no thumbnail", "mime", i.MIME, "width", i.Width, "height", i.Height, "err", e)
		i.Thumb = records.ThumbNone
		return nil
	}
	if err != nil {
		return err
	}
	i.Thumb, i.Placeholder = set.Format, base64.StdEncoding.EncodeToString(set.Hash)
	return nil
}

// makeThumbs draws and stores an image's thumbnails.
func (a *Archiver) makeThumbs(ctx context.Context, i *records.Image) (set thumbs.Set, err error) {
	b, what, err := a.stored(ctx, i)
	if err != nil {
		return set, err
	}
	defer b.Close()
	if set, err = a.thumbs.Make(ctx, b, b.Size(), what); err != nil {
		return set, err
	}
	for _, t := range set.Thumbs {
		if err := a.putThumb(ctx, i.ID, set.Format, t); err != nil {
			return set, err
		}
	}
	return set, nil
}

// stored gets an image's bytes out of the store and finds out once more what
// they are, since a row may be wrong.
func (a *Archiver) stored(ctx context.Context, i *records.Image) (bytes, fetch.Image, error) {
	body, _, err := a.Store.Open(ctx, i.ObjectKey, 0, -1)
	if err != nil {
		return nil, fetch.Image{}, err
	}
	defer body.Close()
	b := newScratch(a.Spool, "thumb-"+i.ID)
	// One byte more tells an object that has grown, without reading all of it.
	n, err := io.Copy(b, io.LimitReader(body, i.Bytes+1))
	if err != nil {
		b.Close()
		return nil, fetch.Image{}, fmt.Errorf("read the object: %w", err)
	}
	what, err := a.Fetch.Identify(b, b.Size())
	_, odd := errors.AsType[*fetch.Error](err)
	switch {
	case n != i.Bytes:
		err = &thumbs.UndrawableError{Err: errors.New("the object has another size than the record")}
	case odd:
		err = &thumbs.UndrawableError{Err: err}
	}
	if err != nil {
		b.Close()
		return nil, fetch.Image{}, err
	}
	return b, what, nil
}

// thumbSettled takes away the thumbnails and the sidecar of an image that was
// deleted while they were made.
func (a *Archiver) thumbSettled(ctx context.Context, s records.Settlement, lost bool) {
	if !lost || s.Job.Ref == nil {
		return
	}
	id := *s.Job.Ref
	a.after.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, tidyTime)
		defer cancel()
		if _, err := a.DB.ImageByLink(ctx, id); !errors.Is(err, records.ErrNotFound) {
			return // whoever has the job now writes the same objects
		}
		if err := errors.Join(a.removeSidecar(ctx, id), a.removeThumbs(ctx, id)); err != nil {
			a.Log.Error("the thumbnails or the sidecar of a deleted image could not be deleted", "image", id, "err", err)
		}
	})
}
