package archive

import (
	"context"
	"errors"
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

// failed sorts what went wrong before anything was stored.
func (t *task) failed(ctx context.Context, err error) records.Settlement {
	if ctx.Err() != nil {
		return t.release()
	}
	if e, ok := errors.AsType[*storage.Error](err); ok && !e.Final { // our own disk
		t.gate.pause(e)
		return t.hold(nil, e.Reason, e)
	}
	if e, ok := errors.AsType[*fetch.Error](err); ok {
		return t.counted(e.Reason, err, e.Final, e.RetryAfter)
	}
	return t.counted(records.ReasonInternal, err, false, 0)
}

// notStored sorts what the store said.
func (t *task) notStored(ctx context.Context, b bytes, err error) records.Settlement {
	if ctx.Err() != nil {
		return t.release()
	}
	t.image.ObjectKey = "" // nothing is there
	e, ok := errors.AsType[*storage.Error](err)
	switch {
	case !ok:
		return t.counted(records.ReasonInternal, err, false, 0)
	case e.Final, e.Reason == storage.ReasonMismatch:
		return t.counted(e.Reason, err, e.Final, 0)
	}
	t.gate.pause(e)
	return t.hold(b, e.Reason, e)
}

// hold waits for the store, which is our trouble and not the image's: no
// attempt is counted. The bytes are secured, so that the source may die.
func (t *task) hold(b bytes, reason string, cause error) records.Settlement {
	i := t.image
	kind := ""
	if b != nil && i.SpoolID == "" {
		if err := b.Secure(); err != nil {
			t.log().Error("an image could not be secured in the spool", "err", err)
		} else {
			i.SpoolID, kind = t.Spool.ID(), records.EventPaused
		}
	}
	i.Status, i.Reason, i.NextAttemptAt, i.ObjectKey = records.Archiving, reason, t.DB.Now().Add(t.Probe), ""
	detail := ""
	if cause != nil {
		detail = cause.Error()
	}
	s := t.settle(records.Hold, kind, detail)
	s.SpoolID, s.Error = i.SpoolID, detail
	return s
}

// release gives the job back as it was.
func (t *task) release() records.Settlement {
	i := t.image
	i.Status, i.Attempt, i.ObjectKey = records.Generated, t.job.Attempt, ""
	return t.settle(records.Release, "", "")
}

// counted is a failure that counts against the source: the next attempt is
// scheduled, or there is none left.
func (t *task) counted(reason string, err error, final bool, retryAfter time.Duration) records.Settlement {
	i := t.image
	i.Reason, i.Attempt, i.ObjectKey = reason, t.job.Attempt+1, ""
	log := t.log().With("reason", reason, "cause", cause(err), "took", time.Since(t.started.Time))
	if final || i.Attempt >= t.MaxAttempts {
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
			delay = max(time.Second, left/2)
		}
	}
	return now.Add(delay)
}

// panicked settles a job whose handler panicked: a failure that counts, so
// that it cannot go on for ever.
func (a *Archiver) panicked(ctx context.Context, job records.Job, err error) records.Settlement {
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
