package archive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"afterimage/jobs"
	"afterimage/records"
)

const (
	// overdueAfter is how long an image may wait for the archive before
	// operators hear of it.
	overdueAfter = time.Hour
	// WatchEvery is how often Watch looks.
	WatchEvery = time.Minute
)

// Watch looks once a minute at what has a deadline: sources that are about to
// die are brought to the front of the queue and told of, images that wait for
// too long raise an alarm with the reason, and states whose time has come get
// their jobs. It never ends: it says when it looks again.
func (a *Archiver) Watch(ctx context.Context, limits records.DueLimits) error {
	said, err := a.watch(ctx, limits)
	if err != nil {
		a.Log.Error("what has a deadline could not be looked at", "err", err)
		said = err.Error()
	}
	now := a.DB.Now()
	return jobs.Wait(now.Truncate(WatchEvery).Add(WatchEvery).Sub(now.Time), said)
}

func (a *Archiver) watch(ctx context.Context, limits records.DueLimits) (string, error) {
	expiring, err := a.DB.Expiring(ctx)
	for _, i := range expiring {
		a.Log.Warn("a source is about to die before the image is safe", "image", i.ID, "user", i.UserID,
			"status", i.Status, "reason", i.Reason, "expires", i.SourceExpiresAt.Format(time.RFC3339))
	}
	dying, dyingErr := a.DB.CountExpiring(ctx)
	if dyingErr == nil {
		dyingErr = a.Alarm(ctx, records.AlarmExpiring, dying, fmt.Sprintf("%d images whose source dies within 15 minutes are not safe yet", dying))
	}
	late, lateErr := a.DB.Overdue(ctx, a.DB.Now().Add(-overdueAfter))
	if lateErr == nil {
		lateErr = a.Alarm(ctx, records.AlarmOverdue, late.N, a.whyLate(late))
	}
	due, dueErr := a.DB.EnqueueDue(ctx, limits)
	found := 0
	for _, n := range due {
		found += n
	}
	return fmt.Sprintf("%d sources about to die, %d images overdue, %d states whose time has come", dying, late.N, found),
		errors.Join(err, dyingErr, lateErr, dueErr)
}

// whyLate says how many images are late, since when and why.
func (a *Archiver) whyLate(o records.Overdue) string {
	reason := o.Reason
	if paused, since, is := a.Paused(); is {
		reason = "the store is paused since " + since.Format(time.RFC3339) + ": " + paused
	}
	if reason == "" {
		reason = "they wait for a free slot (IMAGE_ARCHIVE_CONCURRENCY)"
	}
	return fmt.Sprintf("%d images wait for over an hour, the first since %s: %s", o.N, o.Oldest.Format(time.RFC3339), reason)
}

// Alarm raises an alarm if it is about anything, else clears it. It is logged
// when that is news.
func (a *Archiver) Alarm(ctx context.Context, name string, n int, detail string) error {
	if n == 0 {
		was, err := a.DB.Clear(ctx, name)
		if was {
			a.Log.Info("an alarm is over", "alarm", name)
		}
		return err
	}
	news, err := a.DB.Raise(ctx, name, n, detail)
	if news {
		a.Log.Error("alarm", "alarm", name, "n", n, "detail", detail)
	}
	return err
}
