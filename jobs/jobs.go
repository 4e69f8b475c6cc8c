// Package jobs claims due jobs under a lease and runs their handlers. It owns
// slots, wake-ups, timers, leases and an orderly stop; it does not know what a
// job is about, nor any SQL.
package jobs

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"afterimage/records"
)

// Handler does one job and says what becomes of it. Its context ends when the
// claim is lost or the worker stops; then its settlement must be a Release, or
// a Complete for what is done all the same.
type Handler func(ctx context.Context, job records.Job) records.Settlement

// Kind is how jobs of one kind are run. It has either Run or Do.
type Kind struct {
	Name string
	// Pool is which of the jobs of this name they are; each pool has its own
	// slots, so that a slow one does not keep the others from working. Default:
	// all of them.
	Pool  string
	Slots int // jobs at a time
	Run   Handler
	Do    Task
	// Attempts is after how many failures of its task a job is given up.
	// Default 5.
	Attempts int
	// Backoff is how long a task's next try is away after so many failures
	// before this one. Default 30 s · 2^n.
	Backoff func(failures int) time.Duration
	// Timeout is how long one run of a task may take. Default 10 min.
	Timeout time.Duration
	// Shows says that people see when such a job runs; they do once it has for
	// a while (showAfter).
	Shows bool
	// Idle work gives way to all other kinds: it begins when they have nothing
	// to do, or once in a while all the same.
	Idle bool
	// Limit is how many of the slots may be used now, and, if those are not
	// all, in how long it should be asked again. Default: all of them.
	Limit func() (slots int, again time.Duration)
	// Cancels says that jobs are called off while they run: at each wake-up the
	// running ones are told whether their claim still holds, without waiting
	// for the renewal of the lease.
	Cancels bool
	// Failed settles a job whose handler panicked. Default: as any failure, by
	// Backoff and Attempts.
	Failed func(ctx context.Context, job records.Job, err error) records.Settlement
	// After is called when a settlement stands, or when it turned out that the
	// claim was lost and nothing was changed. Default: nothing.
	After func(ctx context.Context, s records.Settlement, lost bool)
}

// key names a kind and its pool.
func (k Kind) key() string {
	if k.Pool == "" {
		return k.Name
	}
	return k.Name + "/" + k.Pool
}

// Config is what a worker needs. Zero durations mean the defaults.
type Config struct {
	DB         *records.DB
	InstanceID string // new with every start
	SpoolID    string // of this process's spool
	Kinds      []Kind
	TTL        time.Duration // of a lease, default 10 min; running work renews it
	Poll       time.Duration // between looks at the queue that nobody asked for, default 15 s
	Sweep      time.Duration // between sweeps, default 30 s
	Grace      time.Duration // for running work when stopping, default 10 s
	// Beat says that this instance lives; default records.DB.Beat.
	Beat      func(ctx context.Context) error
	BeatEvery time.Duration // default 10 s: two may be missed before others take over
	Log       *slog.Logger
}

// ErrStopping is the cause of a context that ends because the worker stops.
var ErrStopping = errors.New("the worker is stopping")

// Worker runs jobs until it is stopped. Use New.
type Worker struct {
	Config
	pumps map[string]*pump
	alone atomic.Bool       // a suspect is about to run: nothing else may begin
	due   chan records.Time // a waiting job's time, for the timer

	mu      sync.Mutex
	started bool
	stop    chan struct{} // closed: claim nothing more
	kill    context.CancelCauseFunc
	work    sync.WaitGroup // what claims, runs and settles
	upkeep  sync.WaitGroup // the rest, which goes on until all work has ended
}

// New makes a worker that does nothing until Start.
func New(c Config) *Worker {
	c.TTL = cmp.Or(c.TTL, 10*time.Minute)
	c.Poll = cmp.Or(c.Poll, 15*time.Second)
	c.Sweep = cmp.Or(c.Sweep, 30*time.Second)
	c.Grace = cmp.Or(c.Grace, 10*time.Second)
	c.BeatEvery = cmp.Or(c.BeatEvery, 10*time.Second)
	w := &Worker{Config: c, pumps: map[string]*pump{}, due: make(chan records.Time, 1), stop: make(chan struct{})}
	for _, k := range c.Kinds {
		w.pumps[k.key()] = newPump(w, k)
	}
	if w.Beat == nil {
		w.Beat = func(ctx context.Context) error { return c.DB.Beat(ctx, w.Instance()) }
	}
	return w
}

// Instance is this process as the database knows it. Register it with
// StartInstance before Start.
func (w *Worker) Instance() records.Instance {
	kinds := map[string]bool{}
	for key, p := range w.pumps {
		kinds[key], kinds[p.kind.Name] = true, true
	}
	return records.Instance{ID: w.InstanceID, SpoolID: w.SpoolID, Kinds: slices.Sorted(maps.Keys(kinds))}
}

// Wake says that there are new jobs of a kind. It never blocks, many calls
// collapse into one look at the queue, and none is lost. A kind that this
// worker does not run is ignored.
func (w *Worker) Wake(kind string) {
	for _, p := range w.pumps {
		if p.kind.Name == kind {
			p.wake()
		}
	}
}

// Start begins to work. Calling it again does no harm.
func (w *Worker) Start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started {
		return
	}
	w.started = true
	ctx, kill := context.WithCancelCause(context.Background())
	w.kill = kill
	for _, p := range w.pumps {
		w.work.Go(func() { p.run(ctx) })
	}
	w.upkeep.Go(func() { w.keepTime(ctx) })
	w.upkeep.Go(func() { w.keepSweeping(ctx) })
	w.upkeep.Go(func() { w.keepSuspects(ctx) })
	w.upkeep.Go(func() { w.keepAlive(ctx) })
}

// Stop claims nothing more, lets running work finish for the grace time, then
// ends it and gives it back. It returns when nothing runs any more. Calling it
// again, or before Start, does no harm.
func (w *Worker) Stop() {
	w.mu.Lock()
	if !w.started {
		w.mu.Unlock()
		return
	}
	select {
	case <-w.stop:
	default:
		close(w.stop)
		timer := time.AfterFunc(w.Grace, func() { w.kill(ErrStopping) })
		defer timer.Stop()
	}
	w.mu.Unlock()
	w.work.Wait()
	w.kill(ErrStopping)
	w.upkeep.Wait()
}

func (w *Worker) stopping() bool {
	select {
	case <-w.stop:
		return true
	default:
		return false
	}
}
