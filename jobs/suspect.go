package jobs

import (
	"context"

	"afterimage/records"
)

// runSuspects runs the jobs that ended with their process twice, each with
// nothing beside it: if it does so again, it takes no other work with it.
func (w *Worker) runSuspects(ctx context.Context) {
	for !w.stopping() {
		i := w.Instance()
		kind, err := w.DB.NextSuspect(ctx, i.Kinds, i.SpoolID)
		if err != nil {
			w.Log.Error("suspect jobs could not be looked for", "err", err)
			return
		}
		if kind == "" || !w.runAlone(ctx, w.pumps[kind]) {
			return
		}
	}
}

// runAlone waits until nothing runs, runs one suspect job and lets the others
// go on. It reports whether there was one.
func (w *Worker) runAlone(ctx context.Context, p *pump) bool {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // who stops does not wait for the others' slots
		select {
		case <-w.stop:
			cancel()
		case <-waiting.Done():
		}
	}()
	w.alone.Store(true)
	defer w.letGoOn()
	for _, other := range w.pumps {
		if other.slots.Acquire(waiting, int64(other.kind.Slots)) != nil {
			return false
		}
		defer other.slots.Release(int64(other.kind.Slots))
	}
	return p.runSuspect(ctx)
}

func (w *Worker) letGoOn() {
	w.alone.Store(false)
	for _, p := range w.pumps {
		p.wake()
	}
}

// runSuspect claims, runs and settles one suspect job of this kind.
func (p *pump) runSuspect(ctx context.Context) bool {
	claim := p.request(1)
	claim.Suspects = true
	_, jobs, err := p.w.DB.Advance(ctx, nil, claim)
	if err != nil || len(jobs) == 0 {
		return false
	}
	j := jobs[0]
	p.log(j).Warn("a job that ended with its process runs alone", "crashes", j.Crashes)
	jobCtx, end := p.begin(ctx, j)
	s := p.handle(jobCtx, j)
	s.Job = j
	end()
	done := []records.Settlement{s}
	errs := p.w.DB.Settle(context.WithoutCancel(ctx), done)
	// One that is not taken is not tried again: its lease runs out.
	left := p.settled(ctx, done, errs, map[records.Fence]int{j.Fence(): settleTries})
	return len(left) == 0
}
