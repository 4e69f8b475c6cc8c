package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// Verdict is what becomes of a job that has run.
type Verdict int

// The verdicts.
const (
	Complete Verdict = iota // done: the row goes
	Retry                   // a failure that counts: again at RunAt
	Release                 // given back as it was, to be claimed again at once
	Defer                   // again at RunAt, without counting a failure
	Hold                    // waits until its store is back, without counting a failure
	Discard                 // given up: the row stays for people to see
)

// String is the verdict as a word.
func (v Verdict) String() string {
	switch v {
	case Complete:
		return "complete"
	case Retry:
		return "retry"
	case Release:
		return "release"
	case Defer:
		return "defer"
	case Hold:
		return "hold"
	case Discard:
		return "discard"
	}
	return fmt.Sprintf("verdict %d", int(v))
}

// Settlement ends one claim: the verdict and what it means for images, in one
// transaction.
type Settlement struct {
	Job        Job
	Verdict    Verdict
	RunAt      Time   // for Retry and Defer
	Error      string // for people who look at the queue; no secrets
	SpoolID    string // set: the bytes are only in this spool, so the job is bound to it
	Images     []ImageChange
	Generation *Generation
	Next       []NextJob // what is to be done now that this is
}

// ImageChange is an image with its new values, and what happened to it. Only
// what its job owns is written: not its owner's marks (favorite, trash).
type ImageChange struct {
	Image *Image
	Event *Event // nil: nothing worth telling
	// ThumbOnly: nothing but Thumb and Placeholder is written, which come when
	// everything else has been.
	ThumbOnly bool
}

// Settle writes what finished together in one transaction. The errors are in
// the order of the settlements: ErrLeaseLost for a claim that is no longer
// ours, of which nothing was written.
func (db *DB) Settle(ctx context.Context, list []Settlement) []error {
	errs, _, _ := db.Advance(ctx, list, ClaimRequest{})
	return errs
}

// Advance settles what finished and claims the next jobs in one transaction,
// since both are due at the same moment and each commit costs a write to disk.
// The errors of the settlements are as of Settle: one that fails takes neither
// the others nor the claim with it. The jobs are in the order of their claim.
func (db *DB) Advance(ctx context.Context, list []Settlement, r ClaimRequest) (errs []error, jobs []Job, err error) {
	in := pool{r.Kind, r.Pool}
	from, version := db.marks.get(in)
	if !r.Onward {
		from = front
	}
	jobs, ok := db.advanceInOneCall(ctx, list, r, from)
	if ok {
		errs = make([]error, len(list))
	} else if errs, jobs, err = db.advanceByStatements(ctx, list, r, from); err != nil {
		return errs, jobs, err
	}
	if !r.Suspects {
		db.marks.set(in, version, jobs)
	}
	return errs, jobs, nil
}

func (db *DB) advanceByStatements(ctx context.Context, list []Settlement, r ClaimRequest, from place) (errs []error, jobs []Job, err error) {
	errs = make([]error, len(list))
	err = db.write(ctx, func(t *tx) error {
		jobs = nil // of an earlier try
		changes, err := t.settle(list, errs)
		if err != nil {
			return err
		}
		if changes, err = t.show(r.Show, changes); err != nil {
			return fmt.Errorf("show what runs: %w", err)
		}
		if r.Limit > 0 {
			if jobs, err = t.claim(r, from); err != nil {
				return fmt.Errorf("claim %s jobs: %w", r.Kind, err)
			}
			if changes, err = t.present(r.Kind, jobs, changes); err != nil {
				return err
			}
		}
		return t.changeImages(changes)
	})
	switch {
	case err == nil:
		return errs, jobs, nil
	case len(list) == 0:
		return nil, nil, err
	case len(list) == 1 && r.Limit == 0 && len(r.Show) == 0:
		errs[0] = fmt.Errorf("settle job %s: %w", list[0].Job.ID, err)
		return errs, nil, nil
	}
	jobs, err = nil, nil // rolled back: everything is tried once more by itself
	for i := range list {
		errs[i] = db.Settle(ctx, list[i:i+1])[0]
		if errs[i] != nil && !errors.Is(errs[i], ErrLeaseLost) {
			r.Limit-- // its slot is not free
		}
	}
	if r.Limit > 0 || len(r.Show) > 0 {
		_, jobs, err = db.Advance(ctx, nil, r)
	}
	return errs, jobs, err
}

// settle writes the jobs' rows and returns what is to be written of images.
func (t *tx) settle(list []Settlement, errs []error) ([]ImageChange, error) {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(list[a].Job.ID, list[b].Job.ID) })
	completed, err := t.complete(list, order)
	if err != nil {
		return nil, err
	}
	var changes []ImageChange
	var next []newJob
	for _, i := range order {
		s, stands := &list[i], false
		if s.Verdict == Complete {
			stands = completed[s.Job.ID]
		} else if stands, err = t.settleJob(s); err != nil {
			return nil, err
		}
		errs[i] = nil // of an earlier try
		if !stands {
			errs[i] = ErrLeaseLost
			continue
		}
		if s.Generation != nil {
			if err := t.changeGeneration(s.Generation); err != nil {
				return nil, err
			}
		}
		changes = append(changes, s.Images...)
		next = append(next, s.nextJobs()...)
	}
	_, err = t.enqueue(next...)
	return changes, err
}

// complete deletes the rows of completed jobs, which most are, in one
// statement, and says which ones there were.
func (t *tx) complete(list []Settlement, order []int) (map[string]bool, error) {
	var fences []Fence
	for _, i := range order {
		if list[i].Verdict == Complete {
			fences = append(fences, list[i].Job.Fence())
		}
	}
	done := map[string]bool{}
	for part := range slices.Chunk(fences, fenceBatch) {
		var ids []string
		ours, args := anyOf(part)
		if err := t.all(&ids, `DELETE FROM jobs WHERE `+ours+` RETURNING id`, args...); err != nil {
			return nil, err
		}
		for _, id := range ids {
			done[id] = true
		}
	}
	return done, nil
}

// settleJob settles a job that is not done, and reports whether it was ours.
func (t *tx) settleJob(s *Settlement) (bool, error) {
	var set string
	var args []any
	switch s.Verdict {
	case Retry:
		set, args = `state = 'waiting', run_at = ?, attempt = attempt + 1`, []any{s.RunAt}
	case Defer:
		set, args = `state = 'waiting', run_at = ?`, []any{s.RunAt}
	case Release:
		set = `state = 'ready'`
	case Hold:
		set = `state = 'held'`
	case Discard:
		set = `state = 'discarded', attempt = attempt + 1`
	default:
		return false, fmt.Errorf("unknown verdict %d", s.Verdict)
	}
	args = append(args, validText(s.Error), s.SpoolID, s.SpoolID)
	if s.Verdict != Discard && s.Verdict != Hold {
		t.readyAt(s.Job.Kind, s.Job.place()) // somebody has to set a timer, or to claim it
	}
	n, err := t.exec(`UPDATE jobs SET `+set+`, owner = '', instance_id = '', leased_until = NULL, last_error = ?,
		spool_id = CASE WHEN ? = '' THEN spool_id ELSE ? END
		WHERE `+fenced, append(args, s.Job.Fence().args()...)...)
	return n > 0, err
}
