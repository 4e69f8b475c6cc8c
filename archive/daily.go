package archive

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"afterimage/jobs"
	"afterimage/records"
)

const (
	// conserveDays is in how many days each object is asked for once.
	conserveDays = 30
	// conserveNames is how many differences are named.
	conserveNames = 20
)

// ConserveDaily compares the records with the store: the day's share of the
// objects, on Sundays all of them and what nobody owns. Any difference fails
// the job and raises the alarm.
func (a *Archiver) ConserveDaily(ctx context.Context, _ records.Job) error {
	now := a.DB.Now()
	day := int(now.Unix() / int64((24 * time.Hour).Seconds()))
	found, err := a.Conserve(ctx, day%conserveDays, conserveDays, now.Weekday() == time.Sunday, conserveNames)
	switch {
	case errors.Is(err, ErrStorePaused):
		return jobs.Wait(10*time.Minute, err.Error())
	case err != nil:
		return err
	}
	a.Log.Info("the records were compared with the store", "images", found.Images, "objects", found.Objects, "differences", found.Total)
	report := found.report()
	if err := a.Alarm(ctx, records.AlarmConservation, found.Total, report); err != nil {
		return err
	}
	if found.Total > 0 {
		return errors.New(report)
	}
	return nil
}

// verifyRate is how many bytes a second the daily share of Verify reads.
const verifyRate = 20 << 20

// VerifyDaily reads a day's share of the objects back. What is not as it was
// stored is told of by Verify; here it raises the alarm.
func (a *Archiver) VerifyDaily(ctx context.Context, _ records.Job) error {
	if _, _, paused := a.Paused(); paused {
		return jobs.Wait(10*time.Minute, ErrStorePaused.Error())
	}
	found, err := a.VerifyShare(ctx, verifyRate)
	if errors.Is(err, ErrOtherStore) {
		return errors.Join(jobs.Discard(err), a.Alarm(ctx, records.AlarmVerify, found.Images, err.Error()))
	}
	if err != nil {
		return err
	}
	a.Log.Info("a share of the objects was read back", "images", found.Images, "bad", found.Bad())
	return a.Alarm(ctx, records.AlarmVerify, found.Bad(), fmt.Sprintf("%d of %d objects that were read back are not whole: %s",
		found.Bad(), found.Images, strings.Join(found.IDs, " ")))
}

// report names the first differences.
func (c Conserved) report() string {
	names := make([]string, len(c.Found))
	for n, d := range c.Found {
		names[n] = d.String()
	}
	return fmt.Sprintf("records and store differ: %d differences: %s", c.Total, strings.Join(names, "; "))
}

// PurgeTrash deletes an image for ever whose time in the trash is over, if it
// is still there.
func (a *Archiver) PurgeTrash(ctx context.Context, job records.Job, retention time.Duration) error {
	if retention == 0 {
		return nil // the setting has changed
	}
	purged, err := a.DB.PurgeImage(ctx, job.UserID, *job.Ref, a.DB.Now().Add(-retention))
	switch {
	case errors.Is(err, records.ErrNotFound), errors.Is(err, records.ErrNotPossible):
		return nil // deleted by hand, or being made: it is found again
	case purged:
		a.Log.Info("an image was deleted: its time in the trash is over", "image", *job.Ref, "user", job.UserID)
	}
	return err
}

// Cleanup forgets what is too old.
func (a *Archiver) Cleanup(ctx context.Context, _ records.Job) error {
	forgotten, err := a.DB.Forget(ctx)
	files, spoolErr := a.CleanSpool(ctx)
	a.Log.Info("what is too old was forgotten", "rows", forgotten, "files", files)
	return errors.Join(err, spoolErr)
}
