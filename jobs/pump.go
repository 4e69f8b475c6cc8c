package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"afterimage/records"
)

// pump moves jobs of one kind from the queue through their slots and back. A
// single goroutine claims and settles, so scans never overlap, and whatever
// finished while it wrote is written together next.
type pump struct {
	w        *Worker
	kind     Kind
	slots    *semaphore.Weighted
	woken    chan struct{}           // holds one
	finished chan records.Settlement // holds one for each slot, so a handler never waits here
	withheld bool                    // idle work was not claimed since there is other work
	again    time.Duration           // when to ask for the limit again; 0: not by ourselves
	idleAt   time.Time               // when idle work was claimed last
	whole    bool                    // the next claim looks at the whole queue

	mu      sync.Mutex
	running map[records.Fence]*runningJob
}

// runningJob is a job in a slot.
type runningJob struct {
	job    records.Job
	cancel context.CancelCauseFunc
	since  time.Time
	shown  bool // people see that it runs, or need not
	ended  bool // what becomes of it is being written
}

// showAfter is how long a job runs before people are told. Most have ended by
// then, and telling would cost as much as settling.
const showAfter = 200 * time.Millisecond

// idleEvery is how often idle work may begin while there is other work.
const idleEvery = 2 * time.Second

func newPump(w *Worker, k Kind) *pump {
	k.Attempts = cmp.Or(k.Attempts, defaultAttempts)
	k.Timeout = cmp.Or(k.Timeout, defaultTimeout)
	if k.Backoff == nil {
		k.Backoff = standard
	}
	p := &pump{
		w: w, kind: k,
		slots:    semaphore.NewWeighted(int64(k.Slots)),
		woken:    make(chan struct{}, 1),
		finished: make(chan records.Settlement, k.Slots),
		running:  map[records.Fence]*runningJob{},
	}
	if k.Do != nil {
		p.kind.Run = p.runTask
	}
	return p
}

func (p *pump) wake() {
	select {
	case p.woken <- struct{}{}:
	default: // a look is due already, and it will see this job too
	}
}

// settleRetry is the pause after the database did not take a settlement.
const settleRetry = time.Second

// settleTries is how often a settlement is tried that the database refuses
// while it answers; then the lease runs out and the job counts a crash. So it
// is when the grace time of a stop is over.
const settleTries = 5

func (p *pump) run(ctx context.Context) {
	poll := time.NewTicker(p.w.Poll)
	defer poll.Stop()
	p.wake() // scan at once
	p.whole = true
	var done []records.Settlement
	tries := map[records.Fence]int{}
	var again <-chan time.Time // set while the database does not answer
	show := time.NewTimer(showAfter)
	defer show.Stop()
	stop := p.w.stop
	for {
		look := false
		select {
		case <-p.woken:
			look = true
			if p.kind.Cancels {
				p.renew(ctx)
			}
		case <-poll.C:
			look, p.whole = true, true
		case <-again:
			look, p.whole = true, true
		case <-show.C:
			look = true
		case <-stop:
			stop = nil
		case s := <-p.finished:
			done = append(done, s)
			look = true // a slot is about to be free
		}
		done = p.drain(done)
		again = nil
		if look && !p.w.stopping() || len(done) > 0 {
			var ok bool
			if done, ok = p.advance(ctx, done, tries); !ok {
				again = time.After(settleRetry)
			}
		}
		if p.withheld && again == nil {
			again = time.After(idleEvery)
		}
		if p.again > 0 && again == nil {
			again = time.After(p.again)
		}
		if next, ok := p.nextShow(); ok {
			show.Reset(next)
		}
		if stop == nil && len(done) == 0 && p.idle() {
			return
		}
	}
}

// drain adds what else has finished by now.
func (p *pump) drain(done []records.Settlement) []records.Settlement {
	for {
		select {
		case s := <-p.finished:
			done = append(done, s)
		default:
			return done
		}
	}
}

// advance settles what is done and claims as many jobs as slots are free,
// until the queue gives no more. It returns what could not be settled, and
// whether the database took everything.
func (p *pump) advance(ctx context.Context, done []records.Settlement, tries map[records.Fence]int) ([]records.Settlement, bool) {
	for {
		free := p.takeSlots()
		claim := p.claimRequest(free + len(done))
		if claim.Limit == 0 && len(done) == 0 && len(claim.Show) == 0 {
			p.slots.Release(int64(free))
			return nil, true
		}
		// A settlement is written even while stopping.
		errs, jobs, err := p.w.DB.Advance(context.WithoutCancel(ctx), done, claim)
		if err != nil {
			p.w.Log.Error("the queue could not be read", "kind", p.kind.Name, "err", err)
		}
		if err == nil {
			p.markShown(claim.Show)
			p.whole = p.whole && claim.Limit == 0
		}
		for _, j := range jobs {
			p.start(ctx, j)
			p.idleAt = time.Now()
		}
		left := p.settled(ctx, done, errs, tries)
		p.slots.Release(int64(free + len(done) - len(left) - len(jobs)))
		done = p.drain(left)
		if err != nil || len(left) > 0 {
			return done, false
		}
		if len(jobs) == 0 && len(done) == 0 {
			return nil, true
		}
	}
}

// takeSlots takes all slots that are free and returns how many.
func (p *pump) takeSlots() (n int) {
	for p.slots.TryAcquire(1) {
		n++
	}
	return n
}

func (p *pump) claimRequest(limit int) records.ClaimRequest {
	if p.w.stopping() || p.w.alone.Load() {
		limit = 0
	}
	if p.withheld = limit > 0 && p.mustYield(); p.withheld {
		limit = 0
	}
	r := p.request(p.limited(limit))
	r.Show, r.Onward = p.toShow(), !p.whole
	return r
}

// limited is how many of a number of jobs may be claimed now.
func (p *pump) limited(n int) int {
	p.again = 0
	if p.kind.Limit == nil || n == 0 {
		return n
	}
	most, again := p.kind.Limit()
	p.again = again
	return max(0, min(n, most-p.atWork()))
}

// atWork is how many jobs run that have not ended.
func (p *pump) atWork() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.running {
		if !r.ended {
			n++
		}
	}
	return n
}

func (p *pump) request(limit int) records.ClaimRequest {
	return records.ClaimRequest{Kind: p.kind.Name, Pool: p.kind.Pool, Limit: limit, InstanceID: p.w.InstanceID, SpoolID: p.w.SpoolID, TTL: p.w.TTL}
}

func (p *pump) idle() bool {
	n := p.takeSlots()
	p.slots.Release(int64(n))
	return n == p.kind.Slots
}

// settled takes leave of what was settled and returns what has to be tried
// again.
func (p *pump) settled(ctx context.Context, done []records.Settlement, errs []error, tries map[records.Fence]int) (left []records.Settlement) {
	for i, s := range done {
		f := s.Job.Fence()
		switch err := errs[i]; {
		case err == nil:
			if s.Verdict == records.Retry || s.Verdict == records.Defer {
				p.w.arm(s.RunAt)
			}
		case errors.Is(err, records.ErrLeaseLost):
			p.log(s.Job).Warn("a job ended after its claim was lost; nothing was changed")
		default:
			p.log(s.Job).Error("a job could not be settled", "err", err)
			if tries[f]++; ctx.Err() == nil && (tries[f] < settleTries || p.w.DB.Ping(ctx) != nil) {
				left = append(left, s)
				continue
			}
			p.wake() // its slot was not counted as free
		}
		if p.kind.After != nil && (errs[i] == nil || errors.Is(errs[i], records.ErrLeaseLost)) {
			p.kind.After(context.WithoutCancel(ctx), s, errs[i] != nil)
		}
		delete(tries, f)
		p.forget(f)
	}
	p.wakeIdle()
	return left
}

// forget ends the renewal of a claim's lease.
func (p *pump) forget(f records.Fence) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, f)
}

// start runs a job in the slot that was taken for it.
func (p *pump) start(ctx context.Context, j records.Job) {
	jobCtx, end := p.begin(ctx, j)
	p.w.work.Go(func() {
		s := p.handle(jobCtx, j)
		s.Job = j
		end()
		p.finished <- s
	})
}

// begin makes the context of a job, which ends when its claim is lost.
func (p *pump) begin(ctx context.Context, j records.Job) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	p.mu.Lock()
	p.running[j.Fence()] = &runningJob{job: j, cancel: cancel, since: time.Now(), shown: !p.kind.Shows}
	p.mu.Unlock()
	return ctx, func() {
		cancel(nil)
		p.mu.Lock()
		defer p.mu.Unlock()
		if r := p.running[j.Fence()]; r != nil {
			r.ended = true
		}
	}
}

// handle runs the handler; a panic is an error of that job alone.
func (p *pump) handle(ctx context.Context, j records.Job) (s records.Settlement) {
	if j.Ref == nil || *j.Ref == "" {
		p.log(j).Error("a job has no reference; it was discarded")
		return records.Settlement{Verdict: records.Discard, Error: "no reference"}
	}
	defer func() {
		if r := recover(); r != nil {
			err := fmt.Errorf("panic: %v at %s", r, panicPlace())
			p.log(j).Error("a job panicked", "err", err, "stack", string(debug.Stack()))
			if p.kind.Failed != nil {
				s = p.kind.Failed(ctx, j, err)
			} else {
				s = p.kind.failure(p.w.DB.Now(), j, err)
			}
		}
	}()
	began := time.Now()
	s = p.kind.Run(ctx, j)
	p.log(j).Info("job done", "verdict", s.Verdict.String(), "attempt", j.Attempt, "took", time.Since(began))
	return s
}

func (p *pump) log(j records.Job) *slog.Logger {
	ref := ""
	if j.Ref != nil {
		ref = *j.Ref
	}
	return p.w.Log.With("job", j.ID, "kind", j.Kind, "ref", ref, "claim", j.Claim)
}

// Backoff settles a failed job: it is retried after 30 s · 2^n, and discarded
// after five attempts.
func Backoff(now records.Time, j records.Job, err error) records.Settlement {
	k := Kind{Attempts: defaultAttempts, Backoff: standard}
	return k.failure(now, j, err)
}
