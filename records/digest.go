package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// DigestWish is when a person wants their digest.
type DigestWish struct {
	UserID   string `db:"id"`
	Language string `db:"language"`
	Zone     string `db:"time_zone"`   // empty: UTC
	Hour     *int   `db:"digest_hour"` // nil: none
}

// DigestWishes lists who wants a digest.
func (db *DB) DigestWishes(ctx context.Context) ([]DigestWish, error) {
	var list []DigestWish
	err := db.all(ctx, &list, `SELECT id, language, time_zone, digest_hour FROM users
		WHERE digest_hour IS NOT NULL AND disabled_at IS NULL ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("list who wants a digest: %w", err)
	}
	return list, nil
}

// DigestWish is what a person chose.
func (db *DB) DigestWish(ctx context.Context, userID string) (w DigestWish, err error) {
	if err := db.get(ctx, &w, `SELECT id, language, time_zone, digest_hour FROM users WHERE id = ?`, userID); err != nil {
		return w, fmt.Errorf("read a person's digest: %w", err)
	}
	return w, nil
}

// SetDigest records what a person chose and moves what is scheduled there. At
// is the schedule by the new choice.
func (db *DB) SetDigest(ctx context.Context, w DigestWish, at Daily) error {
	err := db.write(ctx, func(t *tx) error {
		n, err := t.exec(`UPDATE users SET time_zone = ?, digest_hour = ? WHERE id = ?`, w.Zone, w.Hour, w.UserID)
		if err == nil && n == 0 {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}
		return t.replan(at, w.Hour != nil)
	})
	if err != nil {
		return fmt.Errorf("choose the digest: %w", err)
	}
	return nil
}

// DigestData is what a digest tells.
type DigestData struct {
	Made      int            `json:"made"`
	Kept      int            `json:"kept"`
	Bytes     int64          `json:"bytes"` // of what was kept
	Failed    int            `json:"failed"`
	Reasons   map[string]int `json:"reasons"` // of the failed
	Unknown   int            `json:"unknown"`
	Waiting   int            `json:"waiting"`  // still being made or archived
	Expiring  int            `json:"expiring"` // of the waiting: the source dies within a day and we have nothing yet
	Purging   int            `json:"purging"`  // in the trash, deleted for ever within a day
	HooksOff  int            `json:"webhooks_off"`
	RetryHint bool           `json:"retry_possible"` // some of the failed can be tried again
}

// Digest is a person's day.
type Digest struct {
	UserID string     `json:"-"`
	Day    string     `json:"day"` // of the person
	From   Time       `json:"from"`
	To     Time       `json:"to"`
	Data   DigestData `json:"data"`
}

// digestSpan is how far a person's first digest looks back, and ahead.
const digestSpan = 24 * time.Hour

// MakeDigest counts what happened since the digest before, keeps it as the
// day's and tells the person's webhooks. A day that has one already stays as
// it is: made is false. Retention is the trash's, 0 for none.
func (db *DB) MakeDigest(ctx context.Context, userID, day string, retention time.Duration) (made bool, err error) {
	d := Digest{UserID: userID, Day: day, To: db.Now()}
	err = db.get(ctx, &d.From, `SELECT max(to_at) FROM digests WHERE user_id = ?`, userID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return false, fmt.Errorf("make a digest: %w", err)
	}
	if earliest := d.To.Add(-8 * digestSpan); d.From.IsZero() {
		d.From = d.To.Add(-digestSpan)
	} else if d.From.Before(earliest.Time) {
		d.From = earliest
	}
	if d.Data, err = db.digestData(ctx, d, retention); err != nil {
		return false, fmt.Errorf("make a digest: %w", err)
	}
	text, err := json.Marshal(d.Data)
	if err != nil {
		return false, err
	}
	err = db.write(ctx, func(t *tx) error {
		n, err := t.exec(`INSERT INTO digests (user_id, day, from_at, to_at, data) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (user_id, day) DO NOTHING`, userID, day, d.From, d.To, string(text))
		if made = n == 1; err != nil || !made {
			return err
		}
		return t.tell([]telling{{userID, HookDigest, day}})
	})
	if err != nil {
		return false, fmt.Errorf("make a digest: %w", err)
	}
	return made, nil
}

func (db *DB) digestData(ctx context.Context, d Digest, retention time.Duration) (DigestData, error) {
	data := DigestData{Reasons: map[string]int{}}
	var rows []struct {
		Status    Status `db:"status"`
		Reason    string `db:"reason"`
		N         int    `db:"n"`
		Retryable int    `db:"retryable"`
	}
	err := db.all(ctx, &rows, `SELECT status, reason, count(*) AS n, count(CASE WHEN source_url <> '' OR spool_id <> '' THEN 1 END) AS retryable
		FROM images WHERE user_id = ? AND created_at >= ? AND created_at < ? GROUP BY status, reason ORDER BY status, reason`, d.UserID, d.From, d.To)
	if err != nil {
		return data, err
	}
	for _, r := range rows {
		switch r.Status {
		case ArchiveFailed:
			data.Made += r.N
			data.Failed += r.N
			data.Reasons[r.Reason] += r.N
			data.RetryHint = data.RetryHint || r.Retryable > 0
		case GenerateFailed:
			data.Failed += r.N
			data.Reasons[r.Reason] += r.N
		case Unknown:
			data.Unknown += r.N
		case Canceled, Queued, Generating:
		default:
			data.Made += r.N
		}
	}
	for _, q := range []struct {
		into  any
		query string
		args  []any
	}{
		{&data.Kept, `SELECT count(*) FROM images WHERE user_id = ? AND status = 'archived' AND archived_at >= ? AND archived_at < ?`, []any{d.From, d.To}},
		{&data.Bytes, `SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM images WHERE user_id = ? AND status = 'archived' AND archived_at >= ? AND archived_at < ?`, []any{d.From, d.To}},
		{&data.Waiting, `SELECT count(*) FROM images WHERE user_id = ? AND trashed_at IS NULL AND status IN ('queued', 'generating', 'generated', 'archiving', 'retry_wait')`, nil},
		{&data.Expiring, `SELECT count(*) FROM images WHERE user_id = ? AND trashed_at IS NULL AND status IN ('generated', 'archiving', 'retry_wait')
			AND source_expires_at <= ? AND spool_id = ''`, []any{d.To.Add(digestSpan)}},
		{&data.HooksOff, `SELECT count(*) FROM webhooks WHERE user_id = ? AND disabled_at IS NOT NULL`, nil},
	} {
		if err := db.get(ctx, q.into, q.query, append([]any{d.UserID}, q.args...)...); err != nil {
			return data, err
		}
	}
	if retention > 0 {
		err = db.get(ctx, &data.Purging, `SELECT count(*) FROM images WHERE user_id = ? AND trashed_at IS NOT NULL AND trashed_at <= ?`,
			d.UserID, d.To.Add(digestSpan-retention))
	}
	return data, err
}

// Digests lists a person's digests, newest first.
func (db *DB) Digests(ctx context.Context, userID string, limit int) ([]Digest, error) {
	var rows []struct {
		Day  string `db:"day"`
		From Time   `db:"from_at"`
		To   Time   `db:"to_at"`
		Data string `db:"data"`
	}
	err := db.all(ctx, &rows, `SELECT day, from_at, to_at, data FROM digests WHERE user_id = ? ORDER BY day DESC LIMIT ?`, userID, limit)
	if err != nil {
		return nil, fmt.Errorf("list digests: %w", err)
	}
	list := make([]Digest, len(rows))
	for n, r := range rows {
		list[n] = Digest{UserID: userID, Day: r.Day, From: r.From, To: r.To}
		if err := json.Unmarshal([]byte(r.Data), &list[n].Data); err != nil {
			return nil, fmt.Errorf("read the digest of %s: %w", r.Day, err)
		}
	}
	return list, nil
}

// Digest returns a person's digest of one day.
func (db *DB) Digest(ctx context.Context, userID, day string) (*Digest, error) {
	list, err := db.Digests(ctx, userID, 100)
	if err != nil {
		return nil, err
	}
	for n := range list {
		if list[n].Day == day {
			return &list[n], nil
		}
	}
	return nil, fmt.Errorf("read the digest of %s: %w", day, ErrNotFound)
}
