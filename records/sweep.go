package records

import (
	"context"
	"errors"
	"fmt"
)

// maxCrashes is how many claims of a job may end with their process before it
// is given up: what kills its process again and again must not stop the rest.
const maxCrashes = 5

// suspectCrashes is after how many of them a job is run alone, so that it
// takes no other work with it and is not blamed for another's doing.
const suspectCrashes = 2

// Swept is what a round of the sweep found.
type Swept struct {
	Claimed  int `json:"claimed"`  // waiting jobs whose time had come
	Rescued  int `json:"rescued"`  // running jobs with nobody behind them
	Orphans  int `json:"orphans"`  // unfinished work without a job that could finish it
	Failures int `json:"failures"` // steps of the round that failed
}

// Sweep does one round of the safety net for lost wake-ups and crashes. It
// may be called at any time, any number of times and by many at once: each
// row is won by one of them. What is finished is not touched.
// A failed step is counted and does not keep the others from running.
func (db *DB) Sweep(ctx context.Context) (s Swept, err error) {
	step := func(what string, found *int, fn func(*tx) (int, error)) {
		var n int
		stepErr := db.write(ctx, func(t *tx) (err error) {
			n, err = fn(t)
			return err
		})
		if stepErr != nil {
			s.Failures++
			err = errors.Join(err, fmt.Errorf("sweep: %s: %w", what, stepErr))
			return
		}
		*found += n
	}
	step("promote due jobs", &s.Claimed, (*tx).promote)
	step("let the urgent go first", new(int), (*tx).hurry)
	step("rescue jobs", &s.Rescued, (*tx).rescue)
	step("enqueue orphans", &s.Orphans, (*tx).enqueueOrphans)
	step("end what was given up", &s.Orphans, (*tx).endDiscarded)
	return s, err
}

// rescue gives back what runs under a lease that has expired, or for an
// instance that is gone or silent.
func (t *tx) rescue() (int, error) {
	n, err := t.giveBack(`leased_until < ? OR leased_until IS NULL
		OR instance_id NOT IN (SELECT id FROM instances WHERE beat_at >= ?)`, t.now, t.now.Add(-deadAfter))
	if err != nil {
		return 0, err
	}
	_, err = t.exec(`DELETE FROM instances WHERE beat_at < ?`, t.now.Add(-deadAfter))
	return n, err
}

// giveBack returns running jobs to the queue whose process has ended. That is
// no failure of the image: it neither counts as an attempt nor has to wait.
func (t *tx) giveBack(condition string, args ...any) (int, error) {
	var jobs []Job
	err := t.all(&jobs, `WITH lost AS MATERIALIZED (
			SELECT id FROM jobs WHERE state = 'running' AND (`+condition+`) ORDER BY id`+t.skipLocked()+`)
		UPDATE jobs SET crashes = CASE WHEN crashes < ? THEN crashes + 1 ELSE crashes END, owner = '', instance_id = '', leased_until = NULL,
			last_error = 'the process that ran it ended',
			state = CASE WHEN crashes >= ? THEN 'discarded' WHEN crashes >= ? THEN 'suspect' ELSE 'ready' END
		FROM lost WHERE jobs.id = lost.id
		RETURNING jobs.id, `+jobColumns[len("id, "):], append(args, maxCrashes, maxCrashes-1, suspectCrashes-1)...)
	if err != nil || len(jobs) == 0 {
		return 0, err
	}
	var changes []ImageChange
	for _, j := range jobs {
		t.ready(j.Kind)
		found, err := t.interrupted(j)
		if err != nil {
			return 0, err
		}
		changes = append(changes, found...)
	}
	return len(jobs), t.changeImages(changes)
}
