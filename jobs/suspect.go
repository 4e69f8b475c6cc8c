package jobs

import (
	"context"
	"time"

	"afterimage/records"
)

// keepSuspects looks for suspect jobs at once and then as often as the sweep,
// which makes them.
func (w *Worker) keepSuspects(ctx context.Context) {
	tick := time.NewTicker(w.Sweep)
	defer tick.Stop()
	for {
		w.runSuspects(ctx)
		select {
		case <-w.stop:
			return
		case <-tick.C:
		}
	}
}

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
		if kind == "" || !w.runAlone(ctx, w.pumpOf(kind)) {
			return
		}
	}
}

// pumpOf is one that runs a kind, of whatever pool.
func (w *Worker) pumpOf(kind string) *pump {
	for _, p := range w.pumps {
		if p.kind.Name == kind {
			return p
		}
	}
	return nil // not reached: only our own kinds are asked for
}

// aloneWait is how long nothing new may begin so that a suspect can run alone.
// If work goes on for longer, it is tried again at the next look.
const aloneWait = time.Minute

// runAlone waits until nothing runs, runs one suspect job and lets the others
// go on. It reports whether there was one.
func (w *Worker) runAlone(ctx context.Context, p *pump) bool {
	waiting, cancel := context.WithTimeout(ctx, aloneWait)
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
	claim.Suspects, claim.Pool = true, "" // of any pool
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
	return p.settleSuspect(ctx, s)
}

// settleSuspect settles a job outside the pump's own round. If the database
// does not take it, its lease runs out.
func (p *pump) settleSuspect(ctx context.Context, s records.Settlement) bool {
	done, tries := []records.Settlement{s}, map[records.Fence]int{}
	for {
		done = p.settled(ctx, done, p.w.DB.Settle(context.WithoutCancel(ctx), done), tries)
		if len(done) == 0 {
			return true
		}
		select {
		case <-ctx.Done():
			p.forget(s.Job.Fence())
			return false
		case <-time.After(settleRetry):
		}
	}
}
