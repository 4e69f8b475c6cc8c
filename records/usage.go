package records

import (
	"context"
	"fmt"
	"time"
)

// Usage is what one person made with one provider in a day.
type Usage struct {
	Day      string `db:"day" json:"day"` // in UTC
	Provider string `db:"provider" json:"provider"`
	Images   int    `db:"images" json:"images"`
	Archived int    `db:"archived" json:"archived"`
	Failed   int    `db:"failed" json:"failed"`
	Bytes    int64  `db:"bytes" json:"bytes"` // of what is archived
}

// usageAgain is how many days before yesterday are counted again: images that
// were made late in a day are archived after it.
const usageAgain = 2

// RollUpUsage counts the days that are over and were not counted yet, and the
// last ones again. Images that were deleted since stay counted. It returns the
// number of days that it looked at.
func (db *DB) RollUpUsage(ctx context.Context) (days int, err error) {
	today := db.Now().Truncate(24 * time.Hour)
	var last string
	if err := db.get(ctx, &last, `SELECT coalesce(max(day), '') FROM usage_daily`); err != nil {
		return 0, fmt.Errorf("roll up the usage: %w", err)
	}
	first, err := time.Parse(time.DateOnly, last)
	if err != nil { // never counted
		var oldest Time
		if err := db.get(ctx, &oldest, `SELECT min(created_at) FROM images`); err != nil {
			return 0, fmt.Errorf("roll up the usage: %w", err)
		}
		if first = oldest.Truncate(24 * time.Hour); oldest.IsZero() {
			return 0, nil
		}
	}
	for day := first.AddDate(0, 0, -usageAgain); day.Before(today); day = day.AddDate(0, 0, 1) {
		if err := db.rollUp(ctx, day); err != nil {
			return days, err
		}
		days++
	}
	return days, nil
}

// usageCounts are the figures of a person's images, by provider.
const usageCounts = `coalesce(nullif(provider, ''), 'import') AS provider, count(*) AS images,
	count(CASE WHEN status = 'archived' THEN 1 END) AS archived,
	count(CASE WHEN status IN ('archive_failed', 'generate_failed') THEN 1 END) AS failed,
	CAST(coalesce(sum(CASE WHEN status = 'archived' THEN bytes ELSE 0 END), 0) AS BIGINT) AS bytes`

func (db *DB) rollUp(ctx context.Context, day time.Time) error {
	users, err := db.Users(ctx)
	if err != nil {
		return err
	}
	name := day.Format(time.DateOnly)
	err = db.write(ctx, func(t *tx) error {
		for _, u := range users { // one by one, for the index
			_, err := t.exec(`INSERT INTO usage_daily (user_id, day, provider, images, archived, failed, bytes)
				SELECT user_id, ?, provider, images, archived, failed, bytes FROM (
					SELECT user_id, `+usageCounts+` FROM images WHERE user_id = ? AND created_at >= ? AND created_at < ?
					GROUP BY user_id, coalesce(nullif(provider, ''), 'import')) AS counted WHERE TRUE
				ON CONFLICT (user_id, day, provider) DO UPDATE SET
					images = CASE WHEN excluded.images > usage_daily.images THEN excluded.images ELSE usage_daily.images END,
					archived = CASE WHEN excluded.archived > usage_daily.archived THEN excluded.archived ELSE usage_daily.archived END,
					failed = excluded.failed,
					bytes = CASE WHEN excluded.bytes > usage_daily.bytes THEN excluded.bytes ELSE usage_daily.bytes END`,
				name, u.ID, At(day), At(day.AddDate(0, 0, 1)))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("roll up the usage of %s: %w", name, err)
	}
	return nil
}

// UsageOf returns a person's usage of the last days, newest first: what was
// rolled up, and the present day as it is now.
func (db *DB) UsageOf(ctx context.Context, userID string, days int) ([]Usage, error) {
	today := db.Now().Truncate(24 * time.Hour)
	var now, before []Usage
	err := db.all(ctx, &now, `SELECT `+usageCounts+` FROM images WHERE user_id = ? AND created_at >= ?
		GROUP BY coalesce(nullif(provider, ''), 'import') ORDER BY 1`, userID, At(today))
	if err == nil {
		err = db.all(ctx, &before, `SELECT day, provider, images, archived, failed, bytes FROM usage_daily
			WHERE user_id = ? AND day >= ? AND day < ? ORDER BY day DESC, provider`, userID,
			today.AddDate(0, 0, 1-days).Format(time.DateOnly), today.Format(time.DateOnly))
	}
	if err != nil {
		return nil, fmt.Errorf("read the usage: %w", err)
	}
	for n := range now {
		now[n].Day = today.Format(time.DateOnly)
	}
	return append(now, before...), nil
}
