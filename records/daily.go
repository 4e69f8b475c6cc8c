package records

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// Slot is one day's moment of something that is due each day.
type Slot struct {
	Day string // as 2006-01-02
	At  Time
}

// Daily is where a daily job stands in time: its latest moment up to now, and
// the next one.
type Daily struct {
	Kind       string
	UserID     string // the person it is for; empty: nobody
	Last, Next Slot
}

// key names the job of one day, for good: whoever enters it first enqueues it.
func (d Daily) key(s Slot) string {
	if d.UserID == "" {
		return d.Kind + ":" + s.Day
	}
	return d.Kind + ":" + d.UserID + ":" + s.Day
}

func (d Daily) job(s Slot) newJob {
	return newJob{kind: d.Kind, ref: s.Day, userID: d.UserID, lane: LaneIdle, runAt: s.At, dedupe: d.key(s)}
}

// EnsureDaily schedules the job of the next day, and that of the latest moment
// if none was ever enqueued for it. When one is overdue anyway, or the kind
// never was scheduled before, there is nothing to make up for.
func (db *DB) EnsureDaily(ctx context.Context, d Daily) error {
	var known int
	err := db.get(ctx, &known, `SELECT count(*) FROM job_keys WHERE key IN (?, ?)`, d.key(d.Last), d.key(d.Next))
	if err == nil && known == 2 {
		return nil // as nearly always
	}
	if err == nil {
		err = db.write(ctx, func(t *tx) error { return t.ensureDaily(d) })
	}
	if err != nil {
		return fmt.Errorf("ensure the daily job %s: %w", d.Kind, err)
	}
	return nil
}

func (t *tx) ensureDaily(d Daily) error {
	first, err := t.neverScheduled(d)
	if err != nil {
		return err
	}
	missed, err := t.takeKey(d.key(d.Last), d.Last.At)
	if err != nil {
		return err
	}
	if missed && !first {
		if err := t.makeUpFor(d); err != nil {
			return err
		}
	}
	ahead, err := t.takeKey(d.key(d.Next), d.Next.At)
	if err != nil || !ahead {
		return err
	}
	_, err = t.enqueue(d.job(d.Next))
	return err
}

// neverScheduled reports that a kind has no key at all: the app is new, or the
// person has just asked.
func (t *tx) neverScheduled(d Daily) (bool, error) {
	var n int
	err := t.get(&n, `SELECT count(*) FROM job_keys WHERE key LIKE ? ESCAPE '!'`, likeEscape.Replace(d.key(Slot{}))+"%")
	return n == 0, err
}

// makeUpFor enqueues the latest moment's job, unless an earlier day's is
// overdue as well: that one does it.
func (t *tx) makeUpFor(d Daily) error {
	var overdue int
	err := t.get(&overdue, `SELECT count(*) FROM jobs WHERE kind = ? AND user_id = ?
		AND state IN ('ready', 'waiting', 'suspect', 'running') AND run_at <= ?`, d.Kind, d.UserID, t.now)
	if err != nil || overdue > 0 {
		return err
	}
	_, err = t.enqueue(d.job(d.Last))
	return err
}

// takeKey enters a key and reports whether it was new. Two that enter the same
// one wait for each other.
func (t *tx) takeKey(key string, due Time) (bool, error) {
	n, err := t.exec(`INSERT INTO job_keys (key, due_at) VALUES (?, ?) ON CONFLICT (key) DO NOTHING`, key, due)
	return n == 1, err
}

// EnsureOne makes sure that there is one job of a kind that goes on for ever,
// one for all instances. One that was given up is taken up again.
func (db *DB) EnsureOne(ctx context.Context, kind string) error {
	err := db.write(ctx, func(t *tx) error {
		added, err := t.enqueue(newJob{kind: kind, ref: "all", lane: LaneIdle})
		if err != nil || added > 0 {
			return err
		}
		n, err := t.exec(`UPDATE jobs SET state = 'ready', attempt = 0, crashes = 0, run_at = ?
			WHERE kind = ? AND state = 'discarded' AND dedupe_key = ?`, t.now, kind, kind+":all")
		if n > 0 {
			t.ready(kind)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("ensure the job %s: %w", kind, err)
	}
	return nil
}

// replan moves a person's daily job to where its new settings put it, without
// making up for a moment that is over by them.
func (t *tx) replan(d Daily, wanted bool) error {
	var waiting []string
	err := t.all(&waiting, `DELETE FROM jobs WHERE kind = ? AND user_id = ? AND state IN ('ready', 'waiting') RETURNING dedupe_key`,
		d.Kind, d.UserID)
	if err == nil && len(waiting) > 0 {
		var query string
		var args []any
		if query, args, err = sqlx.In(`DELETE FROM job_keys WHERE key IN (?)`, waiting); err == nil {
			_, err = t.exec(query, args...)
		}
	}
	if err != nil || !wanted {
		return err
	}
	if _, err := t.takeKey(d.key(d.Last), d.Last.At); err != nil {
		return err
	}
	return t.ensureDaily(d)
}
