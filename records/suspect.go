package records

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
)

// NextSuspect returns the kind of the next job that has to be run alone, among
// those that an instance with this spool can do; empty if there is none. Those
// that were taken down least often come first: they are the innocent ones.
func (db *DB) NextSuspect(ctx context.Context, kinds []string, spoolID string) (string, error) {
	query, args, err := sqlx.In(`SELECT kind FROM jobs WHERE state = 'suspect' AND kind IN (?) AND spool_id IN ('', ?)
		ORDER BY crashes, id LIMIT 1`, kinds, spoolID)
	if err != nil {
		return "", err
	}
	var kind string
	if err := db.get(ctx, &kind, query, args...); err != nil && !errors.Is(err, ErrNotFound) {
		return "", fmt.Errorf("look for suspect jobs: %w", err)
	}
	return kind, nil
}

// unknownAfter is how old a job must be before it is discarded because no
// instance runs its kind: a newer version may be just starting.
const unknownAfter = time.Minute

// UnknownJob is a job that was discarded since nobody runs its kind.
type UnknownJob struct {
	ID   string `db:"id" json:"id"`
	Kind string `db:"kind" json:"kind"`
}

// DiscardUnknown gives up jobs of a kind that no living instance runs, and
// says so in them. Nothing is lost: they can be revived.
func (db *DB) DiscardUnknown(ctx context.Context) ([]UnknownJob, error) {
	var found []UnknownJob
	err := db.write(ctx, func(t *tx) error {
		if err := t.leavePools(); err != nil {
			return err
		}
		return t.all(&found, `UPDATE jobs SET state = 'discarded', last_error = 'no instance runs jobs of the kind ' || kind
			WHERE state IN ('ready', 'waiting', 'suspect') AND created_at < ?
				AND EXISTS (SELECT 1 FROM instances WHERE kinds <> '  ')
				AND NOT EXISTS (SELECT 1 FROM instances WHERE kinds LIKE '% ' || jobs.kind || ' %')
			RETURNING id, kind`, t.now.Add(-unknownAfter))
	})
	if err != nil {
		return nil, fmt.Errorf("discard unknown jobs: %w", err)
	}
	return found, nil
}
