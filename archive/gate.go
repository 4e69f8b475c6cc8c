package archive

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"afterimage/records"
	"afterimage/storage"
)

// gate is whether the store takes images. When it does not, all of them wait
// while one probe at a time asks whether it is back.
type gate struct {
	c        Config
	ctx      context.Context
	cancel   context.CancelFunc
	work     sync.WaitGroup
	checking sync.Mutex // one check at a time

	mu     sync.Mutex
	reason string // empty: open
	said   string // by the store, when it was paused
	since  records.Time
	failed map[string]int // how often the store refused an image while it was open, by image
}

func newGate(c Config) *gate {
	g := &gate{c: c, failed: map[string]int{}}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

func (g *gate) state() (reason string, since records.Time, paused bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reason, g.since, g.reason != ""
}

// pause closes the gate and begins to probe. If it is closed already, only the
// reason changes: the alarm is raised once.
func (g *gate) pause(e *storage.Error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	first := g.reason == ""
	g.reason, g.said = e.Reason, e.Error()
	if !first {
		return
	}
	g.since = g.c.DB.Now()
	g.c.Log.Error("the store is paused", "store", g.c.Store.String(), "reason", e.Reason, "err", e)
	g.start(g.probe)
}

// start runs fn until close; mu is held.
func (g *gate) start(fn func()) {
	if g.ctx.Err() == nil {
		g.work.Go(fn)
	}
}

// alone reports whether the trouble is with one image only: the store was back
// after it failed, refused it again, and takes other objects at this moment.
// Without it such an image would pause the store for all others for ever.
func (g *gate) alone(ctx context.Context, id string) (times int, alone bool) {
	g.mu.Lock()
	g.failed[id]++
	times = g.failed[id] - 1
	g.mu.Unlock()
	if _, _, paused := g.state(); times == 0 || paused {
		return times, false
	}
	return times, g.check(ctx) == nil
}

// forget is told of an image that the gate need not remember.
func (g *gate) forget(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.failed, id)
}

// probe asks until the store is back, and then lets everybody go on.
func (g *gate) probe() {
	tick := time.NewTicker(g.c.Probe)
	defer tick.Stop()
	for {
		select {
		case <-g.ctx.Done():
			return
		case <-tick.C:
		}
		if err := g.check(g.ctx); err != nil {
			g.c.Log.Debug("the store is still paused", "err", err)
			continue
		}
		g.open()
		// Whoever saw the gate closed and writes a held job only after this
		// releases it by itself, see settled.
		g.release()
		return
	}
}

// checkTime bounds a check, so that a store whose answers are lost on the way
// is asked again soon.
const checkTime = 15 * time.Second

// check tries all that an image needs: the spool's disk, and the store.
func (g *gate) check(ctx context.Context) error {
	g.checking.Lock()
	defer g.checking.Unlock()
	draft, err := g.c.Spool.Create("probe")
	if err != nil {
		return err
	}
	_, err = strings.NewReader("probe").WriteTo(draft)
	if err = errors.Join(err, draft.Close()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	return g.c.Store.Check(ctx)
}

// detail is what the store said, for operators.
func (g *gate) detail() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.said
}

// look finds out at start whether the store takes images, so that a wrong
// setting is said at once and not with the first image.
func (g *gate) look() {
	err := g.check(g.ctx)
	if e, ok := errors.AsType[*storage.Error](err); ok && g.ctx.Err() == nil {
		g.pause(e)
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.c.Log.Info("the store is back", "store", g.c.Store.String(), "after", g.c.DB.Now().Sub(g.since.Time))
	g.reason = ""
}

// release makes held jobs ready, trying until the database takes it: nobody
// else does before the next start.
func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.start(func() {
		for {
			err := g.c.DB.ReleaseHeld(g.ctx, g.c.Spool.ID())
			if err == nil || g.ctx.Err() != nil {
				return
			}
			g.c.Log.Error("jobs that waited for the store could not be released", "err", err)
			select {
			case <-g.ctx.Done():
			case <-time.After(g.c.Probe):
			}
		}
	})
}

func (g *gate) close() {
	g.mu.Lock()
	g.cancel() // under mu, so that nothing starts after it
	g.mu.Unlock()
	g.work.Wait()
}
