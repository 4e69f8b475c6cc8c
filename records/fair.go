package records

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// urgent is how soon a source must die for its job to go before everybody's
// turn. Later ones take turns: one person's many links that live for a day
// must not make another person wait for all of them.
const urgent = time.Hour

// takeTurns gives a person's bulk jobs their places: those of urgent ones by
// their deadline, before all others, and one turn for each of the rest, after
// the turns that the person has already, from where the queue is now.
func (t *tx) takeTurns(userID string, jobs []newJob) error {
	slices.SortStableFunc(jobs, func(a, b newJob) int {
		return cmp.Compare(orNever(a.deadline).UnixNano(), orNever(b.deadline).UnixNano())
	})
	var mine, now int64
	err := t.get(&mine, `SELECT coalesce(max(turn), 0) FROM jobs WHERE lane = 1 AND user_id = ? AND state = 'ready'`, userID)
	if err == nil {
		err = t.get(&now, `SELECT coalesce(min(turn), 1) FROM jobs
			WHERE kind = ? AND state = 'ready' AND lane = 1 AND turn > 0`, KindArchive)
	}
	if err != nil {
		return fmt.Errorf("find the next turn: %w", err)
	}
	next := max(mine+1, now)
	for n := range jobs {
		if orNever(jobs[n].deadline).Sub(t.now.Time) < urgent {
			continue
		}
		jobs[n].turn = next
		next++
	}
	return nil
}

func orNever(deadline Time) Time {
	if deadline.IsZero() {
		return Never
	}
	return deadline
}

// hurry lets jobs go first that have become urgent while they waited for
// their turn.
func (t *tx) hurry() (int, error) {
	n, err := t.exec(`WITH late AS MATERIALIZED (
			SELECT id FROM jobs WHERE state = 'ready' AND turn > 0 AND deadline < ? ORDER BY id`+t.skipLocked()+`)
		UPDATE jobs SET turn = 0 FROM late WHERE jobs.id = late.id`, t.now.Add(urgent))
	if n > 0 {
		t.ready(KindArchive)
	}
	return int(n), err
}
