package archive

import (
	"context"
	"strings"
	"sync"
	"time"

	"afterimage/storage"
)

// gate is whether the store takes images. When it does not, all of them wait
// while one probe at a time asks whether it is back.
type gate struct {
	c      Config
	ctx    context.Context
	cancel context.CancelFunc
	probes sync.WaitGroup

	mu     sync.Mutex
	reason string // empty: open
	since  time.Time
}

func newGate(c Config) *gate {
	g := &gate{c: c}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

func (g *gate) state() (reason string, since time.Time, paused bool) {
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
	g.reason = e.Reason
	if !first || g.ctx.Err() != nil {
		return
	}
	g.since = time.Now()
	g.c.Log.Error("the store is paused", "store", g.c.Store.String(), "reason", e.Reason, "err", e)
	g.probes.Go(g.probe)
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
		if err := g.check(); err != nil {
			g.c.Log.Debug("the store is still paused", "err", err)
			continue
		}
		g.open()
		// Whoever saw the gate closed and writes a held job only after this
		// releases it by itself, see after.
		if err := g.c.DB.ReleaseHeld(g.ctx, g.c.Spool.ID()); err != nil {
			g.c.Log.Error("jobs that waited for the store could not be released", "err", err)
		}
		return
	}
}

// check tries all that an image needs: the store, and the spool's disk.
func (g *gate) check() error {
	const id = "probe"
	if _, err := g.c.Spool.Write(id, strings.NewReader("probe")); err != nil {
		return err
	}
	if err := g.c.Spool.Remove(id); err != nil {
		return err
	}
	return g.c.Store.Check(g.ctx)
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.c.Log.Info("the store is back", "store", g.c.Store.String(), "after", time.Since(g.since))
	g.reason = ""
}

func (g *gate) close() {
	g.cancel()
	g.probes.Wait()
}
