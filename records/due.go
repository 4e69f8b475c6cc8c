package records

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// DueLimits are after what time a state is acted on. Zero: never.
type DueLimits struct {
	Generating time.Duration // of a call: it is asked about
	Unknown    time.Duration // of an outcome that nobody knows
	Trash      time.Duration // of what is in the trash
}

// dueBatch bounds how many jobs of a kind one look enqueues. What is left is
// found by the next.
const dueBatch = 500

// EnqueueDue finds states whose time has come and enqueues a job for each that
// has none. The state itself is the timer: no crash loses one, and a changed
// setting is obeyed at once. It returns how many jobs there are now of each kind.
func (db *DB) EnqueueDue(ctx context.Context, l DueLimits) (map[string]int, error) {
	added := map[string]int{}
	look := func(kind string, after time.Duration, query string, args ...any) error {
		if after == 0 {
			return nil
		}
		err := db.write(ctx, func(t *tx) error {
			n, err := t.enqueueDue(kind, query, args...)
			added[kind] = n
			return err
		})
		if err != nil {
			return fmt.Errorf("look for what is due: %s: %w", kind, err)
		}
		return nil
	}
	now := db.Now()
	return added, errors.Join(
		look(KindGenerationTimeout, l.Generating, `SELECT id, user_id FROM generations g
			WHERE status = 'generating' AND submitted_at <= ?`, now.Add(-l.Generating)),
		look(KindUnknownSettle, l.Unknown, `SELECT DISTINCT g.id, g.user_id FROM images i JOIN generations g ON g.id = i.generation_id
			WHERE i.status = 'unknown' AND g.finished_at <= ?`, now.Add(-l.Unknown)),
		look(KindImportFinish, time.Minute, `SELECT id, user_id FROM imports g WHERE finished_at IS NULL AND NOT EXISTS (
			SELECT 1 FROM images WHERE import_id = g.id AND status IN ('generated', 'archiving', 'retry_wait'))`),
		look(KindTrashPurge, l.Trash, `SELECT id, user_id FROM images g
			WHERE trashed_at IS NOT NULL AND trashed_at <= ? AND status NOT IN ('queued', 'generating')`, now.Add(-l.Trash)),
	)
}

func (t *tx) enqueueDue(kind, query string, args ...any) (int, error) {
	var found []struct {
		ID     string `db:"id"`
		UserID string `db:"user_id"`
	}
	err := t.all(&found, query+` AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.ref = g.id AND jobs.kind = ?) LIMIT ?`,
		append(args, kind, dueBatch)...)
	if err != nil {
		return 0, err
	}
	jobs := make([]newJob, len(found))
	for n, f := range found {
		jobs[n] = newJob{kind: kind, ref: f.ID, userID: f.UserID, lane: LaneIdle}
	}
	return t.enqueue(jobs...)
}

// ImportSummary is what became of an import.
type ImportSummary struct {
	ID         string `db:"id" json:"id"`
	UserID     string `db:"user_id" json:"-"`
	CreatedAt  Time   `db:"created_at" json:"created_at"`
	FinishedAt Time   `db:"finished_at" json:"finished_at"`
	Total      int    `db:"total" json:"total"` // of those that were not deleted
	Archived   int    `db:"archived" json:"archived"`
	Failed     int    `db:"failed" json:"failed"`
	Open       int    `db:"open" json:"-"`
}

// Import returns what became of an import of a person.
func (db *DB) Import(ctx context.Context, userID, id string) (*ImportSummary, error) {
	var s ImportSummary
	if err := db.get(ctx, &s, `SELECT id, user_id, created_at, finished_at,
			(SELECT count(*) FROM images WHERE import_id = imports.id) AS total,
			(SELECT count(*) FROM images WHERE import_id = imports.id AND status = 'archived') AS archived,
			(SELECT count(*) FROM images WHERE import_id = imports.id AND status = 'archive_failed') AS failed,
			(SELECT count(*) FROM images WHERE import_id = imports.id AND status IN ('generated', 'archiving', 'retry_wait')) AS open
		FROM imports WHERE id = ? AND user_id = ?`, id, userID); err != nil {
		return nil, fmt.Errorf("read import %s: %w", id, err)
	}
	return &s, nil
}

// FinishImport tells of an import whose last item is done, once. It reports
// whether it did: not if it was told before, or something is open (again).
func (db *DB) FinishImport(ctx context.Context, userID, id string) (done bool, err error) {
	s, err := db.Import(ctx, userID, id)
	if err != nil || s.Open > 0 || !s.FinishedAt.IsZero() {
		return false, err
	}
	err = db.write(ctx, func(t *tx) error {
		n, err := t.exec(`UPDATE imports SET finished_at = ? WHERE id = ? AND user_id = ? AND finished_at IS NULL`, t.now, id, userID)
		if done = n == 1; err != nil || !done {
			return err
		}
		return t.tell([]telling{{userID, HookImportFinished, id}})
	})
	if err != nil {
		return false, fmt.Errorf("finish import %s: %w", id, err)
	}
	return done, nil
}
