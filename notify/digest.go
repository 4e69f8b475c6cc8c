package notify

import (
	"context"
	"errors"
	"time"

	"afterimage/jobs"
	"afterimage/records"
)

// Daily is when a person's digest is due. A time zone that this machine does
// not know is taken for UTC.
func Daily(w records.DigestWish) jobs.Daily {
	d := jobs.Daily{Kind: records.KindDigest, UserID: w.UserID}
	if w.Hour != nil {
		d.Hour = *w.Hour
	}
	if zone, err := time.LoadLocation(w.Zone); err == nil {
		d.Zone = zone
	}
	return d
}

// Dailies are the digests of all who want one.
func (n *Notifier) Dailies(ctx context.Context) ([]jobs.Daily, error) {
	wishes, err := n.DB.DigestWishes(ctx)
	list := make([]jobs.Daily, len(wishes))
	for i, w := range wishes {
		list[i] = Daily(w)
	}
	return list, err
}

// Digest makes a person's digest of a day, and schedules the next.
func (n *Notifier) Digest(ctx context.Context, job records.Job) error {
	wish, err := n.DB.DigestWish(ctx, job.UserID)
	if errors.Is(err, records.ErrNotFound) || err == nil && wish.Hour == nil {
		return nil // the person is gone, or wants none any more
	}
	if err == nil {
		err = jobs.Ensure(ctx, n.DB, Daily(wish))
	}
	if err == nil {
		_, err = n.DB.MakeDigest(ctx, job.UserID, *job.Ref, n.Retention)
	}
	return err
}
