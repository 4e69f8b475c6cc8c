package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

var errTimeout = errors.New("timeout") // the sort of every cause below

// watch ends a fetch that takes too long in what it is waiting for. One timer serves all phases;
// it is off while we wait for nobody but ourselves.
type watch struct {
	timer  *time.Timer
	total  *time.Timer // of the whole fetch; nil until begin
	cancel context.CancelCauseFunc
	cause  atomic.Pointer[error] // what the timer will say
}

// newWatch derives a context that the watch can end. stop gives everything back.
func newWatch(ctx context.Context) (_ context.Context, w *watch, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w = &watch{cancel: cancel}
	w.timer = time.AfterFunc(time.Hour, func() {
		if cause := w.cause.Load(); cause != nil {
			cancel(*cause)
		}
	})
	w.timer.Stop()
	return ctx, w, func() {
		w.timer.Stop()
		if w.total != nil {
			w.total.Stop()
		}
		cancel(nil)
	}
}

// begin starts the clock of the whole fetch, once.
func (w *watch) begin(whole *phase) {
	if w.total == nil {
		w.total = time.AfterFunc(whole.limit, func() { w.cancel(whole.cause) })
	}
}

// phase is one thing to wait for. A client makes its phases once.
type phase struct {
	limit time.Duration
	cause error
}

func newPhase(what string, limit time.Duration) *phase {
	return &phase{limit: limit, cause: fmt.Errorf("%w: %s for %s", errTimeout, what, limit)}
}

// phases are all that a fetch waits for.
type phases struct {
	whole     *phase
	connect   *phase // up to the answer, when the transport does not say that it has connected
	firstByte *phase // from then on
	stall     *phase
}

func newPhases(cfg Config) phases {
	return phases{
		whole:     newPhase("not done", cfg.Timeout),
		connect:   newPhase("no answer", dialTimeout+tlsTimeout+cfg.FirstByte),
		firstByte: newPhase("no answer", cfg.FirstByte),
		stall:     newPhase("silence", cfg.StallTimeout),
	}
}

func (w *watch) start(p *phase) {
	w.cause.Store(&p.cause)
	w.timer.Reset(p.limit)
}

func (w *watch) pause() { w.timer.Stop() }

// pace reads a body and fails when it stalls, crawls or grows beyond max. Only the time inside
// Read counts: a slow writer on our side is not the source's fault.
type pace struct {
	r     io.Reader
	watch *watch
	stall *phase
	max   int64
	total int64 // bytes so far

	window   time.Duration // over which the speed is measured
	minSpeed int64         // bytes a second
	spent    time.Duration // in this window
	got      int64         // in this window
}

var (
	errTooManyBytes = errors.New("too many bytes")
	errTooSlow      = errors.New("too slow")
)

func (p *pace) Read(b []byte) (int, error) {
	p.watch.start(p.stall)
	begin := time.Now()
	n, err := p.r.Read(b)
	p.watch.pause()
	p.total += int64(n)
	p.got += int64(n)
	p.spent += time.Since(begin)
	if p.total > p.max {
		return n, errTooManyBytes
	}
	if err == nil && p.spent >= p.window {
		if float64(p.got) < float64(p.minSpeed)*p.spent.Seconds() {
			return n, errTooSlow
		}
		p.spent, p.got = 0, 0
	}
	return n, err
}
