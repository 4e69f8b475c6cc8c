package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// KindCount is what the queue holds of one kind, for operators.
type KindCount struct {
	Kind      string         `json:"kind"`
	States    map[string]int `json:"states"`
	OldestDue Time           `json:"oldest_due"` // of what may run and does not
	PausedAt  Time           `json:"paused_at"`  // null: it is not
	PausedBy  string         `json:"paused_by,omitempty"`
}

// KindCounts counts the jobs of each kind that is there or paused, by name.
func (db *DB) KindCounts(ctx context.Context) ([]KindCount, error) {
	var rows []struct {
		Kind  string `db:"kind"`
		State string `db:"state"`
		N     int    `db:"n"`
		Due   Time   `db:"due"`
	}
	var paused []struct {
		Kind string `db:"kind"`
		At   Time   `db:"paused_at"`
		By   string `db:"paused_by"`
	}
	err := db.all(ctx, &rows, `SELECT kind, state, count(*) AS n, min(run_at) AS due FROM jobs GROUP BY kind, state ORDER BY kind, state`)
	if err == nil {
		err = db.all(ctx, &paused, `SELECT kind, paused_at, paused_by FROM paused_kinds ORDER BY kind`)
	}
	if err != nil {
		return nil, fmt.Errorf("count jobs by kind: %w", err)
	}
	byKind := map[string]*KindCount{}
	of := func(kind string) *KindCount {
		if byKind[kind] == nil {
			byKind[kind] = &KindCount{Kind: kind, States: map[string]int{}}
		}
		return byKind[kind]
	}
	for _, r := range rows {
		c := of(r.Kind)
		c.States[r.State] = r.N
		if r.State == JobReady && (c.OldestDue.IsZero() || r.Due.Before(c.OldestDue.Time)) {
			c.OldestDue = r.Due
		}
	}
	for _, p := range paused {
		c := of(p.Kind)
		c.PausedAt, c.PausedBy = p.At, p.By
	}
	return sortedByKey(byKind), nil
}

// JobReason is how many jobs of a kind in a state say the same.
type JobReason struct {
	Kind   string `db:"kind" json:"kind"`
	State  string `db:"state" json:"state"`
	Reason string `db:"reason" json:"reason"`
	N      int    `db:"n" json:"n"`
	Last   string `db:"last" json:"last"` // one of the texts, whole
}

// reasonOf is what jobs are grouped by: their last error up to its first colon.
func (db *DB) reasonOf() string {
	at := `instr(last_error, ':')`
	if db.postgres {
		at = `strpos(last_error, ':')`
	}
	return `(CASE WHEN ` + at + ` > 0 THEN substr(last_error, 1, ` + at + ` - 1) ELSE last_error END)`
}

// maxReasons bounds the list of reasons.
const maxReasons = 200

// JobReasons groups what did not succeed: given up, or waiting for another try.
func (db *DB) JobReasons(ctx context.Context) ([]JobReason, error) {
	var list []JobReason
	reason := db.reasonOf()
	err := db.all(ctx, &list, `SELECT kind, state, `+reason+` AS reason, count(*) AS n, max(last_error) AS last FROM jobs
		WHERE state = 'discarded' OR state IN ('waiting', 'held', 'suspect') AND last_error <> '' AND kind <> 'watch'
		GROUP BY kind, state, `+reason+` ORDER BY kind, state, count(*) DESC, `+reason+` LIMIT ?`, maxReasons)
	if err != nil {
		return nil, fmt.Errorf("group jobs by reason: %w", err)
	}
	return list, nil
}

// JobFilter selects jobs for operators. Zero values select all.
type JobFilter struct {
	Kind, State string
	Reason      *string // as JobReasons has it
	After       string  // the id of the last one of the page before
	Limit       int
}

// ListJobs lists jobs, oldest first.
func (db *DB) ListJobs(ctx context.Context, f JobFilter) ([]Job, error) {
	query, args := `SELECT `+jobColumns+` FROM jobs WHERE id > ?`, []any{f.After}
	if f.Kind != "" {
		query, args = query+` AND kind = ?`, append(args, f.Kind)
	}
	if f.State != "" {
		query, args = query+` AND state = ?`, append(args, f.State)
	}
	if f.Reason != nil {
		query, args = query+` AND `+db.reasonOf()+` = ?`, append(args, validText(*f.Reason))
	}
	var list []Job
	if err := db.all(ctx, &list, query+` ORDER BY id LIMIT ?`, append(args, f.Limit)...); err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	return list, nil
}

// PauseKind keeps jobs of a kind from being claimed; those that run go on.
// Pausing twice does no harm.
func (db *DB) PauseKind(ctx context.Context, kind, by string) error {
	err := db.write(ctx, func(t *tx) error {
		_, err := t.exec(`INSERT INTO paused_kinds (kind, paused_at, paused_by) VALUES (?, ?, ?) ON CONFLICT (kind) DO NOTHING`,
			kind, t.now, by)
		return err
	})
	if err != nil {
		return fmt.Errorf("pause %s: %w", kind, err)
	}
	return nil
}

// ResumeKind lets jobs of a kind be claimed again.
func (db *DB) ResumeKind(ctx context.Context, kind string) error {
	err := db.write(ctx, func(t *tx) error {
		_, err := t.exec(`DELETE FROM paused_kinds WHERE kind = ?`, kind)
		t.ready(kind)
		return err
	})
	if err != nil {
		return fmt.Errorf("resume %s: %w", kind, err)
	}
	return nil
}

// reviveBatch bounds one transaction of a revival.
const reviveBatch = 500

// Revive gives jobs that were given up all their attempts again: one by its
// id, or all of a kind with a reason. An image whose job it is waits for the
// archive again. It returns how many.
func (db *DB) Revive(ctx context.Context, id string, f JobFilter) (revived int, err error) {
	if id == "" && f.Kind == "" {
		return 0, errors.New("revive jobs: neither a job nor a kind is named")
	}
	for {
		var n int
		err := db.write(ctx, func(t *tx) (err error) {
			n, err = t.revive(id, f, db.reasonOf())
			return err
		})
		if err != nil {
			return revived, fmt.Errorf("revive jobs: %w", err)
		}
		if revived += n; n < reviveBatch {
			return revived, nil
		}
	}
}

func (t *tx) revive(id string, f JobFilter, reason string) (int, error) {
	// A generation whose job was given up has ended: to run it again could buy
	// it twice. Whoever wants it asks for it anew.
	where, args := `state = 'discarded' AND kind <> 'generate'`, []any{}
	if id != "" {
		where, args = where+` AND id = ?`, append(args, id)
	} else {
		where, args = where+` AND kind = ?`, append(args, f.Kind)
	}
	if f.Reason != nil {
		where, args = where+` AND `+reason+` = ?`, append(args, validText(*f.Reason))
	}
	var jobs []Job
	err := t.all(&jobs, `WITH given_up AS MATERIALIZED (
			SELECT id FROM jobs WHERE `+where+` ORDER BY id LIMIT `+fmt.Sprint(reviveBatch)+t.skipLocked()+`)
		UPDATE jobs SET state = 'ready', attempt = 0, crashes = 0, run_at = ? FROM given_up WHERE jobs.id = given_up.id
		RETURNING jobs.id, `+jobColumns[len("id, "):], append(args, t.now)...)
	if err != nil {
		return 0, err
	}
	var changes []ImageChange
	for _, j := range jobs {
		t.ready(j.Kind)
		if j.Kind != KindArchive || j.Ref == nil {
			continue
		}
		var images []Image
		if err := t.all(&images, `SELECT `+imageColumns+` FROM images WHERE id = ? AND status = 'archive_failed'`, *j.Ref); err != nil {
			return 0, err
		}
		for n := range images {
			i := &images[n]
			i.Status, i.Attempt, i.Reason, i.NextAttemptAt = Generated, 0, "", Time{}
			changes = append(changes, ImageChange{Image: i, Event: &Event{Kind: EventRetried}})
		}
	}
	return len(jobs), t.changeImages(changes)
}

func sortedByKey(m map[string]*KindCount) []KindCount {
	list := make([]KindCount, 0, len(m))
	for _, c := range m {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b KindCount) int { return cmp.Compare(a.Kind, b.Kind) })
	return list
}
