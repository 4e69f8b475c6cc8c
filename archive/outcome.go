package archive

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"afterimage/fetch"
	"afterimage/records"
	"afterimage/storage"
)

// archived is the outcome that everything is for.
func (t *task) archived(info storage.Info) records.Settlement {
	i := t.image
	i.Status, i.Reason, i.NextAttemptAt = records.Archived, "", records.Time{}
	i.ObjectETag, i.ArchivedAt = info.ETag, t.DB.Now()
	i.SourceURL, i.SpoolID = "", "" // neither is needed any more
	t.log().Info("image archived", "bytes", i.Bytes, "took", time.Since(t.started.Time))
	return t.settle(records.Complete, records.EventArchived, "")
}

// failed sorts what went wrong before the store was asked; b is nil if there
// are no bytes.
func (t *task) failed(ctx context.Context, b bytes, err error) records.Settlement {
	if ctx.Err() != nil {
		return t.release()
	}
	if e := ownDisk(err); e != nil && e.Final {
		return t.counted(e.Reason, err, true, 0)
	} else if e != nil {
		return t.ours(ctx, b, e)
	}
	if e, ok := errors.AsType[*fetch.Error](err); ok {
		again := t.distrust(b)
		return t.counted(e.Reason, err, e.Final && !again, e.RetryAfter)
	}
	return t.counted(records.ReasonInternal, err, false, 0)
}

// notStored sorts what the store said.
func (t *task) notStored(ctx context.Context, b bytes, err error) records.Settlement {
	if ctx.Err() != nil {
		return t.release()
	}
	e := ownDisk(err)
	switch {
	case e == nil:
		return t.counted(records.ReasonInternal, err, false, 0)
	case e.Reason == storage.ReasonMismatch:
		t.distrust(b)
		return t.counted(e.Reason, err, false, 0)
	case e.Final:
		t.secure(b) // once the cause is mended, Retry needs no source
		return t.counted(e.Reason, err, true, 0)
	}
	return t.ours(ctx, b, e)
}

// ownDisk gives the failure of the store or of the spool that lies in an
// error, nil if there is none.
func ownDisk(err error) *storage.Error {
	if e, ok := errors.AsType[*storage.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok { // reading a file of the spool
		return &storage.Error{Reason: storage.ReasonError, Setting: "AFTERIMAGE_DATA_DIR", Op: "read spool", Err: e}
	}
	return nil
}

// ours is a failure of our store or disk. No attempt is counted: the image
// waits until the store is back or, if it is the only one in trouble, for a
// while by itself.
func (t *task) ours(ctx context.Context, b bytes, e *storage.Error) records.Settlement {
	t.secure(b)
	times, alone := t.gate.alone(ctx, t.image.ID)
	if !alone {
		t.gate.pause(e)
		return t.hold(e)
	}
	s := t.waiting(records.Defer, e.Reason, e)
	s.RunAt = t.DB.Now().Add(t.Delays[min(times, len(t.Delays))-1])
	t.image.NextAttemptAt = s.RunAt
	t.log().Error("the store takes other images, but not this one", "reason", e.Reason, "err", e, "next", s.RunAt.Format(time.RFC3339))
	return s
}

// hold waits for the store, which is our trouble and not the image's. The
// cause is nil for those that only came to a closed gate.
func (t *task) hold(cause *storage.Error) records.Settlement {
	reason, _, paused := t.gate.state()
	if !paused && cause == nil { // it has just opened
		return t.release()
	}
	if cause != nil {
		reason = cause.Reason
	}
	return t.waiting(records.Hold, reason, cause)
}

func (t *task) waiting(v records.Verdict, reason string, cause *storage.Error) records.Settlement {
	i := t.image
	i.Status, i.Reason, i.NextAttemptAt, i.ObjectKey = records.Archiving, reason, t.DB.Now().Add(t.Probe), ""
	detail := t.gate.detail()
	if cause != nil {
		detail = cause.Error()
	}
	event := ""
	if t.job.LastError == "" || t.secured { // people are told once
		event = records.EventPaused
	}
	s := t.settle(v, event, detail)
	s.SpoolID, s.Error = i.SpoolID, detail
	return s
}

// release gives the job back as it was. Bytes that were secured meanwhile stay
// so, but as long as there is a source the job is anybody's: this instance may
// be stopping for good.
func (t *task) release() records.Settlement {
	i := t.image
	i.Status, i.Attempt, i.ObjectKey = records.Generated, t.job.Attempt, ""
	s := t.settle(records.Release, "", "")
	if i.SourceURL == "" {
		s.SpoolID = i.SpoolID
	}
	return s
}

// handOver leaves the job to the instance that has the bytes.
func (t *task) handOver() records.Settlement {
	t.log().Warn("an image's bytes are in another instance's spool; its job waits for that instance", "spool", t.image.SpoolID)
	s := t.release()
	s.SpoolID = t.image.SpoolID
	return s
}

// counted is a failure that counts against the source: the next attempt is
// scheduled, or there is none left.
func (t *task) counted(reason string, err error, final bool, retryAfter time.Duration) records.Settlement {
	i := t.image
	last := final || t.job.Attempt+1 >= t.MaxAttempts
	if last && t.elsewhere() {
		return t.handOver()
	}
	i.Reason, i.Attempt, i.ObjectKey = reason, t.job.Attempt+1, ""
	log := t.log().With("reason", reason, "cause", cause(err), "took", time.Since(t.started.Time))
	if last {
		i.Status, i.NextAttemptAt = records.ArchiveFailed, records.Time{}
		log.Warn("image could not be archived")
		return t.settle(records.Complete, records.EventArchiveFailed, err.Error())
	}
	i.Status, i.NextAttemptAt = records.RetryWait, t.nextAttempt(retryAfter)
	log.Warn("an attempt to archive an image failed", "next", i.NextAttemptAt.Format(time.RFC3339))
	s := t.settle(records.Retry, records.EventAttemptFailed, err.Error())
	s.RunAt, s.Error = i.NextAttemptAt, reason
	return s
}

// nextAttempt follows the schedule or what the source asked for, whichever is
// later. If the source will be dead by then, it is brought forward to half of
// the time that is left.
func (t *task) nextAttempt(retryAfter time.Duration) records.Time {
	now := t.DB.Now()
	delay := max(t.Delays[min(t.job.Attempt, len(t.Delays)-1)], retryAfter)
	if expires := t.image.SourceExpiresAt; !expires.IsZero() {
		if left := expires.Sub(now.Time); left > 0 && delay >= left {
			delay = left / 2
		}
	}
	return now.Add(delay)
}

// panicked settles a job whose handler panicked: a failure that counts, so
// that it cannot go on for ever.
func (a *Archiver) panicked(ctx context.Context, job records.Job, err error) records.Settlement {
	job.Image = nil // the handler may have changed it
	t, s := a.begin(ctx, job)
	if t == nil {
		return s
	}
	return t.counted(records.ReasonInternal, err, false, 0)
}

// settle is the image as the task left it, and an event if there is one.
func (t *task) settle(v records.Verdict, event, detail string) records.Settlement {
	change := records.ImageChange{Image: t.image}
	if event != "" {
		change.Event = &records.Event{Kind: event, Attempt: t.image.Attempt, Reason: t.image.Reason, Detail: detail, StartedAt: t.started}
	}
	return records.Settlement{Verdict: v, Images: []records.ImageChange{change}}
}

// cause is what a log line says of a failure: where and with which status. The
// start of an answer, which may be anything, is only in the image's events.
func cause(err error) string {
	e, ok := errors.AsType[*fetch.Error](err)
	if !ok {
		return err.Error()
	}
	short := *e
	short.Detail = ""
	return short.Error()
}
