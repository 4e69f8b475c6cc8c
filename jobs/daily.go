package jobs

import (
	"context"
	"fmt"
	"time"

	"afterimage/records"
)

// Daily is a moment of each day at which a kind of job is due.
type Daily struct {
	Kind         string
	UserID       string // the person it is for; empty: nobody
	Hour, Minute int
	Zone         *time.Location // default UTC
}

// Schedule is the latest moment up to now and the next one after it. Both are
// named by their day, so that a clock that is set back, a change of the zone
// and daylight saving time make no second one.
func (d Daily) Schedule(now records.Time) records.Daily {
	zone := d.Zone
	if zone == nil {
		zone = time.UTC
	}
	year, month, day := now.In(zone).Date()
	slot := func(offset int) records.Slot {
		at := time.Date(year, month, day+offset, d.Hour, d.Minute, 0, 0, zone)
		return records.Slot{Day: time.Date(year, month, day+offset, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), At: records.At(at)}
	}
	s := records.Daily{Kind: d.Kind, UserID: d.UserID, Last: slot(-1), Next: slot(0)}
	if today := slot(0); !today.At.After(now.Time) {
		s.Last, s.Next = today, slot(1)
	}
	return s
}

// Ensure schedules the next job of each, and the latest if it never ran: a
// server that was down at its time does it once when it is back. Many instances
// may do this at once, any number of times.
func Ensure(ctx context.Context, db *records.DB, list ...Daily) error {
	now := db.Now()
	for _, d := range list {
		if err := db.EnsureDaily(ctx, d.Schedule(now)); err != nil {
			return fmt.Errorf("schedule %s: %w", d.Kind, err)
		}
	}
	return nil
}
