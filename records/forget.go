package records

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"
)

// How long is kept what nobody needs for ever.
const (
	keyLife      = 8 * 24 * time.Hour  // a daily job's key
	attemptLife  = 90 * 24 * time.Hour // failed attempts; what became of the image stays
	deliveryLife = 30 * 24 * time.Hour // a delivery that ended
	deletionLife = 90 * 24 * time.Hour // what pollers are told of images that are gone
	digestLife   = 90 * 24 * time.Hour
	sampleLife   = 8 * 24 * time.Hour
)

// forgetBatch is how many rows one transaction deletes, so that nobody has to
// wait for all of them.
const forgetBatch = 5000

// Forget deletes what is too old, and returns how many rows of each.
func (db *DB) Forget(ctx context.Context) (map[string]int, error) {
	deleted := map[string]int{}
	now := db.Now()
	forget := func(what, table, key, where string, args ...any) error {
		for {
			var n int64
			err := db.write(ctx, func(t *tx) (err error) {
				n, err = t.exec(`DELETE FROM `+table+` WHERE `+key+` IN (SELECT `+key+` FROM `+table+` WHERE `+where+` LIMIT ?) AND `+where,
					slices.Concat(args, []any{forgetBatch}, args)...)
				return err
			})
			if err != nil {
				return fmt.Errorf("forget %s: %w", what, err)
			}
			if deleted[what] += int(n); n < forgetBatch {
				return nil
			}
		}
	}
	err := errors.Join(
		forget("sessions", "sessions", "token_hash", `expires_at <= ?`, now),
		forget("setup links", "setup_tokens", "hash", `expires_at <= ?`, now),
		forget("idempotency keys", "idempotency_keys", "key", `created_at < ?`, now.Add(-idempotencyTTL)),
		forget("job keys", "job_keys", "key", `due_at < ?`, now.Add(-keyLife)),
		// Ids are ordered by time, which saves an index.
		forget("attempts", "image_events", "id", `id < ? AND kind IN ('attempt_failed', 'paused', 'interrupted', 'expiring')`,
			orderedIDAt(now.Add(-attemptLife))),
		forget("deliveries", "webhook_deliveries", "id", `id < ? AND state <> 'waiting'`, orderedIDAt(now.Add(-deliveryLife))),
		forget("digests", "digests", "day", `to_at < ?`, now.Add(-digestLife)),
		forget("samples", "samples", "at", `at < ?`, now.Add(-sampleLife)),
		forget("instances", "instances", "id", `beat_at < ?`, now.Add(-deadAfter)),
		db.forgetDeletions(ctx, now.Add(-deletionLife), deleted),
	)
	return deleted, err
}

// forgetDeletions forgets images that are long gone. Whoever comes with a
// cursor from before has to be told so.
func (db *DB) forgetDeletions(ctx context.Context, before Time, deleted map[string]int) error {
	var people []string
	err := db.all(ctx, &people, `SELECT DISTINCT user_id FROM deleted_images WHERE deleted_at < ? ORDER BY user_id`, before)
	for _, user := range people {
		if err != nil {
			break
		}
		err = db.write(ctx, func(t *tx) error {
			_, err := t.exec(`UPDATE change_heads SET floor = (SELECT max(seq) FROM deleted_images WHERE user_id = ? AND deleted_at < ?)
				WHERE user_id = ?`, user, before, user)
			if err != nil {
				return err
			}
			n, err := t.exec(`DELETE FROM deleted_images WHERE user_id = ? AND deleted_at < ?`, user, before)
			deleted["deletions"] += int(n)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("forget deletions: %w", err)
	}
	return nil
}

// orderedIDAt is before every id that orderedID gives from a moment on.
func orderedIDAt(at Time) string {
	var b [20]byte
	binary.BigEndian.PutUint64(b[:8], uint64(at.UnixNano()))
	return lower(idEncoding.EncodeToString(b[:]))
}
