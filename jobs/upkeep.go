package jobs

import (
	"context"
	"time"

	"afterimage/records"
)

// arm makes the timer fire when a waiting job is due, so that a retry is on
// the second.
func (w *Worker) arm(at records.Time) {
	for {
		select {
		case w.due <- at:
			return
		case earlier := <-w.due: // not read yet: the sooner of both counts
			if earlier.Before(at.Time) {
				at = earlier
			}
		}
	}
}

// keepTime makes waiting jobs ready when they are due.
func (w *Worker) keepTime(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var next records.Time
	set := func(at records.Time) {
		next = at
		// A little late rather than a little early, which would look in vain.
		timer.Reset(min(max(0, at.Sub(w.DB.Now().Time)), w.Poll) + time.Millisecond)
	}
	for {
		select {
		case <-w.stop:
			return
		case at := <-w.due:
			if next.IsZero() || at.Before(next.Time) {
				set(at)
			}
		case <-timer.C:
			at, err := w.DB.Promote(ctx)
			if err != nil {
				w.Log.Error("waiting jobs could not be looked at", "err", err)
			}
			switch now := w.DB.Now(); {
			case at.IsZero(): // others may schedule something that we are not told of
				at = now.Add(w.Poll)
			case !at.After(now.Time): // somebody else has it locked
				at = now.Add(time.Second)
			}
			set(at)
		}
	}
}

// keepSweeping sweeps at once and then in its interval. A failed round is
// logged and the next one tries again.
func (w *Worker) keepSweeping(ctx context.Context) {
	tick := time.NewTicker(w.Sweep)
	defer tick.Stop()
	for {
		w.sweep(ctx)
		select {
		case <-w.stop:
			return
		case <-tick.C:
		}
	}
}

// sweep does one round. It says first that this process and its work live: a
// machine that has slept would take its own work for dead.
func (w *Worker) sweep(ctx context.Context) {
	if !w.sayAlive(ctx) {
		return // the database does not answer
	}
	w.renew(ctx)
	s, err := w.DB.Sweep(ctx)
	if err != nil {
		w.Log.Error("the sweep failed", "failures", s.Failures, "err", err)
	}
	unknown, err := w.DB.DiscardUnknown(ctx)
	if err != nil {
		w.Log.Error("jobs of unknown kinds could not be looked for", "err", err)
	}
	for _, j := range unknown {
		w.Log.Error("a job was discarded: no instance runs its kind", "job", j.ID, "kind", j.Kind)
	}
	if s.Rescued > 0 || s.Orphans > 0 {
		w.Log.Warn("the sweep found lost work", "rescued", s.Rescued, "orphans", s.Orphans, "claimed", s.Claimed)
	}
}

// keepAlive beats, renews the leases of running work, and ends work whose
// claim is lost. It goes on while stopping, until everything has been settled.
func (w *Worker) keepAlive(ctx context.Context) {
	beat, lease := time.NewTicker(w.BeatEvery), time.NewTicker(w.TTL/3)
	defer beat.Stop()
	defer lease.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			w.sayAlive(ctx)
		case <-lease.C:
			w.renew(ctx)
		}
	}
}

func (w *Worker) sayAlive(ctx context.Context) bool {
	err := w.Beat(ctx)
	if err != nil && ctx.Err() == nil {
		w.Log.Error("this instance could not say that it lives", "err", err)
	}
	return err == nil
}

func (w *Worker) renew(ctx context.Context) {
	for _, p := range w.pumps {
		p.renew(ctx)
	}
}

// renew moves the end of the leases of what runs, and ends what is no longer
// ours.
func (p *pump) renew(ctx context.Context) {
	p.mu.Lock()
	fences := make([]records.Fence, 0, len(p.running))
	for f := range p.running {
		fences = append(fences, f)
	}
	p.mu.Unlock()
	if len(fences) == 0 {
		return
	}
	lost, err := p.w.DB.Renew(ctx, fences, p.w.TTL)
	if err != nil && ctx.Err() == nil {
		p.w.Log.Error("leases could not be renewed", "kind", p.kind.Name, "err", err)
	}
	for _, f := range lost {
		p.mu.Lock()
		if r := p.running[f]; r != nil {
			r.cancel(records.ErrLeaseLost)
		}
		p.mu.Unlock()
	}
}
