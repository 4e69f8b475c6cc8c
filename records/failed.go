package records

import (
	"context"
	"fmt"
	"time"
)

// Failure is how many of everybody's images have the same trouble.
type Failure struct {
	Status Status `db:"status" json:"status"` // archive_failed, generate_failed, or one that waits: archiving, retry_wait
	Reason string `db:"reason" json:"reason"`
	N      int    `db:"n" json:"n"`
	// Retryable are those that a retry can do something for.
	Retryable int `db:"retryable" json:"retryable"`
}

const (
	// failed and unfinished are the conditions of partial indexes, word by word.
	failed     = `status IN ('archive_failed', 'generate_failed')`
	unfinished = `status IN ('generated', 'archiving', 'retry_wait')`
)

// Failures groups what failed since a moment, and what waits now because of a
// failure, by reason; the most frequent first. It is for operators.
func (db *DB) Failures(ctx context.Context, since Time) ([]Failure, error) {
	var list []Failure
	err := db.all(ctx, &list, `SELECT status, reason, count(*) AS n,
			count(CASE WHEN status = 'archive_failed' AND (source_url <> '' OR spool_id <> '') THEN 1 END) AS retryable
		FROM images WHERE `+failed+` AND updated_at >= ? GROUP BY status, reason
		UNION ALL
		SELECT status, reason, count(*) AS n, count(CASE WHEN status = 'retry_wait' THEN 1 END) AS retryable
		FROM images WHERE `+unfinished+` AND reason <> '' GROUP BY status, reason
		ORDER BY 3 DESC, 2, 1`, since)
	if err != nil {
		return nil, fmt.Errorf("group failures by reason: %w", err)
	}
	return list, nil
}

// retryPart is how many images are looked for at a time.
const retryPart = 200

// RetryFailed archives everybody's images again that failed for a reason, as
// RetryImage does: those that were given up start with all attempts, those
// that wait are tried now. It is for operators, and returns how many.
func (db *DB) RetryFailed(ctx context.Context, reason string) (retried int, err error) {
	after := ""
	for {
		var part []struct {
			ID   string `db:"id"`
			User string `db:"user_id"`
		}
		err := db.all(ctx, &part, `SELECT id, user_id FROM (
				SELECT id, user_id FROM images WHERE `+failed+` AND status = 'archive_failed' AND reason = ? AND id > ?
					AND (source_url <> '' OR spool_id <> '')
				UNION ALL
				SELECT id, user_id FROM images WHERE `+unfinished+` AND status = 'retry_wait' AND reason = ? AND id > ?
			) AS found ORDER BY id LIMIT ?`, reason, after, reason, after, retryPart)
		if err != nil {
			return retried, fmt.Errorf("retry what failed: %w", err)
		}
		byOwner := map[string][]string{}
		for _, i := range part {
			byOwner[i.User] = append(byOwner[i.User], i.ID)
			after = i.ID
		}
		for owner, ids := range byOwner {
			done, _, err := db.Bulk(ctx, owner, ids, BulkRetry) // what it skips has moved on
			if retried += done; err != nil {
				return retried, err
			}
		}
		if len(part) < retryPart {
			return retried, nil
		}
	}
}

// Source is one whose image we do not have yet, for operators: no prompt and
// no address.
type Source struct {
	ID        string `db:"id" json:"id"`
	UserID    string `db:"user_id" json:"-"`
	Status    Status `db:"status" json:"status"`
	ExpiresAt Time   `db:"source_expires_at" json:"expires_at"`
}

// NextToDie lists everybody's sources that die next before we have their bytes.
func (db *DB) NextToDie(ctx context.Context, limit int) ([]Source, error) {
	var list []Source
	err := db.all(ctx, &list, `SELECT id, user_id, status, source_expires_at FROM images
		WHERE `+unsecured+` AND source_expires_at > ? ORDER BY source_expires_at, id LIMIT ?`, db.Now(), limit)
	if err != nil {
		return nil, fmt.Errorf("list sources that die next: %w", err)
	}
	return list, nil
}

// DyingWithin counts everybody's sources that die within a time.
func (db *DB) DyingWithin(ctx context.Context, d time.Duration) (n int, err error) {
	now := db.Now()
	err = db.get(ctx, &n, `SELECT count(*) FROM images WHERE `+unsecured+` AND source_expires_at > ? AND source_expires_at <= ?`, now, now.Add(d))
	if err != nil {
		return 0, fmt.Errorf("count sources that die: %w", err)
	}
	return n, nil
}

// RetrySource tries a source now whose image waits, whoever owns it.
func (db *DB) RetrySource(ctx context.Context, id string) error {
	var owner string
	if err := db.get(ctx, &owner, `SELECT user_id FROM images WHERE id = ?`, id); err != nil {
		return fmt.Errorf("retry image %s: %w", id, err)
	}
	return db.RetryImage(ctx, owner, id)
}
