package records

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// deadAfter is how long an instance may be silent before its work is given to
// others. Within it a frozen process is overtaken, and a database that
// restarts does not make healthy instances look dead.
const deadAfter = 30 * time.Second

// Instance is a process that runs jobs.
type Instance struct {
	ID      string   // new with every start
	SpoolID string   // of its data folder
	Kinds   []string // of job that it runs
}

// StartInstance registers a process. Work of former processes with the same
// spool is given back at once: a spool belongs to one process at a time, so
// they have ended.
func (db *DB) StartInstance(ctx context.Context, i Instance) (rescued int, err error) {
	err = db.write(ctx, func(t *tx) error {
		if err := t.addInstance(i); err != nil {
			return err
		}
		n, err := t.giveBack(`instance_id IN (SELECT id FROM instances WHERE spool_id = ? AND id <> ?)`, i.SpoolID, i.ID)
		if err != nil {
			return err
		}
		rescued = n
		if _, err := t.exec(`DELETE FROM instances WHERE spool_id = ? AND id <> ?`, i.SpoolID, i.ID); err != nil {
			return err
		}
		// What the former process held back for the store is tried anew.
		return t.releaseHeld(i.SpoolID)
	})
	if err != nil {
		return 0, fmt.Errorf("register this instance: %w", err)
	}
	return rescued, nil
}

func (t *tx) addInstance(i Instance) error {
	_, err := t.exec(`INSERT INTO instances (id, spool_id, kinds, started_at, beat_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at`,
		i.ID, i.SpoolID, " "+strings.Join(i.Kinds, " ")+" ", t.now, t.now)
	return err
}

// Beat says that an instance lives. One that was taken for dead is entered
// again; its claims are lost all the same.
func (db *DB) Beat(ctx context.Context, i Instance) error {
	if err := db.write(ctx, func(t *tx) error { return t.addInstance(i) }); err != nil {
		return fmt.Errorf("beat: %w", err)
	}
	return nil
}

// EndInstance removes a process that stops in good order. Its work must have
// been settled before.
func (db *DB) EndInstance(ctx context.Context, id string) error {
	err := db.write(ctx, func(t *tx) error {
		_, err := t.exec(`DELETE FROM instances WHERE id = ?`, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("sign off this instance: %w", err)
	}
	return nil
}

// ReleaseHeld makes jobs ready that waited for a store: those of a spool, and
// those whose bytes are in none.
func (db *DB) ReleaseHeld(ctx context.Context, spoolID string) error {
	if err := db.write(ctx, func(t *tx) error { return t.releaseHeld(spoolID) }); err != nil {
		return fmt.Errorf("release held jobs: %w", err)
	}
	return nil
}

func (t *tx) releaseHeld(spoolID string) error {
	var kinds []string
	err := t.all(&kinds, `WITH held AS MATERIALIZED (
			SELECT id FROM jobs WHERE state = 'held' AND spool_id IN ('', ?) ORDER BY id`+t.skipLocked()+`)
		UPDATE jobs SET state = 'ready' FROM held WHERE jobs.id = held.id RETURNING kind`, spoolID)
	for _, k := range kinds {
		t.ready(k)
	}
	return err
}
