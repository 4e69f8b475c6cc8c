package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// ErrLeaseLost says that a claim is no longer ours: it expired and was taken
// over, or its job is gone. Whoever gets it must change nothing.
var ErrLeaseLost = errors.New("the claim was lost")

// ClaimRequest asks for work: up to Limit ready jobs, first by lane, then by
// turn, deadline and age.
type ClaimRequest struct {
	Kind       string
	Pool       string // within the kind; empty: any
	Limit      int    // 0: none
	Suspects   bool   // take jobs that ended with their process twice, and no others
	InstanceID string
	SpoolID    string        // jobs bound to another spool are left alone
	TTL        time.Duration // of the lease
	// Onward looks no further back than the last claim of this process got, but
	// for jobs that were told of since. False looks at the whole queue, which
	// finds also what nobody told of.
	Onward bool
	// Show are jobs that have been running for a while, so that people should
	// see it. What ends at once is not worth two writes.
	Show []Job
}

// maxClaim keeps a number written by hand from going over the limit of its
// column, which would fail every claim that comes upon it.
const maxClaim = `9000000000000000000`

func (t *tx) claim(r ClaimRequest, from place) ([]Job, error) {
	state := JobReady
	if r.Suspects {
		state = JobSuspect
	}
	where, args := ``, []any{r.Kind, r.SpoolID}
	if r.Pool != "" {
		where, args = ` AND pool = ? AND pool <> ''`, append(args, r.Pool) // the second as the index has it
	}
	if t.postgres {
		// The order of the index is the order of the queue. With statistics from
		// when the queue was short the planner would rather sort all of it.
		if _, err := t.exec(`SET LOCAL enable_sort = off`); err != nil {
			return nil, err
		}
		// The planner takes a comparison of rows as a range of the index.
		where += ` AND (lane, turn, deadline, id) >= (?, ?, ?, ?)`
		args = append(args, from.lane, from.turn, from.deadline, from.id)
	}
	// MATERIALIZED: as a plain subquery the planner may run the SELECT once a
	// row and so claim more than the limit.
	var jobs []Job
	err := t.all(&jobs, `WITH due AS MATERIALIZED (
			SELECT id FROM jobs
			WHERE kind = ? AND state = '`+state+`' AND (spool_id = '' OR spool_id = ?)`+where+`
				AND NOT EXISTS (SELECT 1 FROM paused_kinds WHERE kind = ?)
			ORDER BY lane, turn, deadline, id
			LIMIT ?`+t.skipLocked()+`)
		UPDATE jobs SET state = 'running', claim = CASE WHEN claim < `+maxClaim+` THEN claim + 1 ELSE 1 END, owner = ?, instance_id = ?, leased_until = ?
		FROM due WHERE jobs.id = due.id
		RETURNING jobs.id, `+jobColumns[len("id, "):],
		append(args, r.Kind, r.Limit, NewID(), r.InstanceID, t.now.Add(r.TTL))...)
	sortClaimed(jobs)
	return jobs, err
}

// sortClaimed puts claimed jobs into the order of the queue.
func sortClaimed(jobs []Job) {
	slices.SortFunc(jobs, func(a, b Job) int {
		return cmp.Or(a.Lane-b.Lane, cmp.Compare(a.Turn, b.Turn), a.Deadline.Compare(b.Deadline.Time), cmp.Compare(a.ID, b.ID))
	})
}

// present hands over with the claimed jobs what they are about, and adds to
// changes what people see of it at once.
func (t *tx) present(kind string, jobs []Job, changes []ImageChange) ([]ImageChange, error) {
	refs := make(map[string]*Job, len(jobs))
	for n := range jobs {
		if jobs[n].Ref != nil {
			refs[*jobs[n].Ref] = &jobs[n]
		}
	}
	ids := slices.Sorted(maps.Keys(refs))
	switch {
	case len(ids) == 0:
		return changes, nil
	case kind == KindArchive:
		return changes, t.handImages(ids, refs, changes)
	case kind == KindGenerate:
		return t.showGenerating(ids, changes)
	}
	return changes, nil
}

// handImages gives each archive job its image, as its work sees it.
func (t *tx) handImages(ids []string, refs map[string]*Job, changes []ImageChange) error {
	var images []Image
	if err := t.in(&images, `SELECT `+imageColumns+` FROM images WHERE id IN (?)`, ids); err != nil {
		return err
	}
	// One that was given back in this very transaction is claimed again: its
	// row does not say yet what the settlement does.
	for _, c := range changes {
		if n := slices.IndexFunc(images, func(i Image) bool { return i.ID == c.Image.ID }); n >= 0 {
			images[n] = *c.Image
		}
	}
	for n := range images {
		i := &images[n]
		j := refs[i.ID]
		beginArchiving(i, j)
		j.Image = i
	}
	return nil
}

// beginArchiving says of an unfinished image that an attempt runs.
func beginArchiving(i *Image, j *Job) {
	switch i.Status {
	case Generated, RetryWait, Archiving:
		i.Status, i.Attempt, i.NextAttemptAt, i.Reason = Archiving, j.Attempt+1, Time{}, ""
	}
}

// show adds to changes that archive jobs run that are still ours.
func (t *tx) show(jobs []Job, changes []ImageChange) ([]ImageChange, error) {
	if len(jobs) == 0 {
		return changes, nil
	}
	ours := make(map[string]*Job, len(jobs))
	ids := make([]string, len(jobs))
	for n := range jobs {
		ids[n] = jobs[n].ID
	}
	var held []Job
	if err := t.in(&held, `SELECT `+jobColumns+` FROM jobs WHERE id IN (?) AND state = 'running' ORDER BY id`+t.forUpdate(), ids); err != nil {
		return nil, err
	}
	for n := range held {
		if h := &held[n]; h.Ref != nil && slices.ContainsFunc(jobs, func(j Job) bool { return j.Fence() == h.Fence() }) {
			ours[*h.Ref] = h
		}
	}
	if len(ours) == 0 {
		return changes, nil
	}
	var images []Image
	err := t.in(&images, `SELECT `+imageColumns+` FROM images
		WHERE id IN (?) AND status IN ('generated', 'retry_wait', 'archiving')`, slices.Sorted(maps.Keys(ours)))
	for n := range images {
		beginArchiving(&images[n], ours[images[n].ID])
		changes = append(changes, ImageChange{Image: &images[n]})
	}
	return changes, err
}

func (t *tx) showGenerating(ids []string, changes []ImageChange) ([]ImageChange, error) {
	for _, id := range ids {
		if _, err := t.exec(`UPDATE generations SET status = 'generating' WHERE id = ? AND status = 'queued'`, id); err != nil {
			return nil, err
		}
	}
	var images []Image
	err := t.in(&images, `SELECT `+imageColumns+` FROM images WHERE generation_id IN (?) AND status = 'queued'`, ids)
	for n := range images {
		images[n].Status = Generating
		changes = append(changes, ImageChange{Image: &images[n]})
	}
	return changes, err
}

// Renew moves the end of leases and returns those that are no longer ours.
func (db *DB) Renew(ctx context.Context, fences []Fence, ttl time.Duration) (lost []Fence, err error) {
	err = db.write(ctx, func(t *tx) error {
		lost = nil
		for part := range slices.Chunk(fences, fenceBatch) {
			l, err := t.renew(part, t.now.Add(ttl))
			if err != nil {
				return err
			}
			lost = append(lost, l...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("renew leases: %w", err)
	}
	return lost, nil
}

func (t *tx) renew(fences []Fence, until Time) (lost []Fence, err error) {
	var renewed, settling []string
	mine, args := anyOf(fences)
	// A row that is locked is being settled by us at this moment: to wait for
	// it could be to wait for each other.
	err = t.all(&renewed, `WITH mine AS MATERIALIZED (SELECT id FROM jobs WHERE `+mine+t.skipLocked()+`)
		UPDATE jobs SET leased_until = ? FROM mine WHERE jobs.id = mine.id RETURNING jobs.id`, append(args, until)...)
	if err != nil || len(renewed) == len(fences) {
		return nil, err
	}
	lost = slices.DeleteFunc(slices.Clone(fences), func(f Fence) bool { return slices.Contains(renewed, f.JobID) })
	mine, args = anyOf(lost)
	if err := t.all(&settling, `SELECT id FROM jobs WHERE `+mine, args...); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(lost, func(f Fence) bool { return slices.Contains(settling, f.JobID) }), nil
}

// Promote makes waiting jobs ready whose time has come, and returns when the
// next one is due; zero if none is.
func (db *DB) Promote(ctx context.Context) (next Time, err error) {
	err = db.write(ctx, func(t *tx) error {
		if _, err := t.promote(); err != nil {
			return err
		}
		return t.get(&next, `SELECT min(run_at) FROM jobs WHERE state = 'waiting'`)
	})
	if err != nil {
		return Time{}, fmt.Errorf("promote due jobs: %w", err)
	}
	return next, nil
}

func (t *tx) promote() (int, error) {
	var kinds []string
	err := t.all(&kinds, `WITH due AS MATERIALIZED (
			SELECT id FROM jobs WHERE state = 'waiting' AND run_at <= ? ORDER BY id`+t.skipLocked()+`)
		UPDATE jobs SET state = 'ready' FROM due WHERE jobs.id = due.id RETURNING kind`, t.now)
	for _, k := range kinds {
		t.ready(k)
	}
	return len(kinds), err
}

// fenced is the condition that a job is still claimed as a Fence says.
const fenced = `(id = ? AND claim = ? AND owner = ? AND state = 'running')`

func (f Fence) args() []any { return []any{f.JobID, f.Claim, f.Owner} }

// fenceBatch is how many claims one statement names.
const fenceBatch = 100

// anyOf is the condition that a job is one of the fences, which are not none.
func anyOf(fences []Fence) (string, []any) {
	var args []any
	for _, f := range fences {
		args = append(args, f.args()...)
	}
	return `(` + fenced + strings.Repeat(` OR `+fenced, len(fences)-1) + `)`, args
}

// skipLocked locks the rows of a SELECT and passes over those that another
// transaction has locked. SQLite has one writer and needs neither.
func (t *tx) skipLocked() string {
	if !t.postgres {
		return ""
	}
	return ` FOR UPDATE SKIP LOCKED`
}

// forUpdate locks the rows of a SELECT, waiting for whoever has them.
func (t *tx) forUpdate() string {
	if !t.postgres {
		return ""
	}
	return ` FOR UPDATE`
}
