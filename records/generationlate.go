package records

import (
	"context"
	"fmt"
)

// ResumeGeneration gives a generation a job again that has none, and reports
// whether it had lost it.
func (db *DB) ResumeGeneration(ctx context.Context, g *Generation) (lost bool, err error) {
	err = db.write(ctx, func(t *tx) error {
		var jobs int
		err := t.get(&jobs, `SELECT count(*) FROM jobs WHERE kind = ? AND ref = ?`, KindGenerate, g.ID)
		if lost = jobs == 0; err != nil || !lost {
			return err
		}
		return t.enqueueGenerate(g)
	})
	if err != nil {
		return false, fmt.Errorf("resume generation %s: %w", g.ID, err)
	}
	return lost, nil
}

// HasGenerateJob reports whether somebody is at a generation, or will be.
func (db *DB) HasGenerateJob(ctx context.Context, id string) (bool, error) {
	var n int
	err := db.get(ctx, &n, `SELECT count(*) FROM jobs WHERE kind = ? AND ref = ? AND state <> 'discarded'`, KindGenerate, id)
	if err != nil {
		return false, fmt.Errorf("look for the job of generation %s: %w", id, err)
	}
	return n > 0, nil
}

// EndGeneration ends a generation that is still at work: whoever has its job
// loses its claim. What may have been paid for is unknown, the rest failed.
func (db *DB) EndGeneration(ctx context.Context, g *Generation, reason, detail string) error {
	err := db.write(ctx, func(t *tx) error {
		if _, err := t.exec(`DELETE FROM jobs WHERE kind = ? AND ref = ?`, KindGenerate, g.ID); err != nil {
			return err
		}
		changes, err := t.givenUpGeneration(g.ID, reason, detail)
		if err != nil {
			return err
		}
		return t.changeImages(changes)
	})
	if err != nil {
		return fmt.Errorf("end generation %s: %w", g.ID, err)
	}
	return nil
}
