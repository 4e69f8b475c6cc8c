package generate

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"afterimage/records"
)

// Sight is what can be seen of a generation while it runs. It is gone when
// nobody looks.
type Sight struct {
	Position int    // of the image, from 0
	Partial  []byte // an unfinished picture; nil: only Progress
	Index    int    // of the unfinished picture, from 0
	Progress float64
}

// sightsKept is how many wait for somebody who is slow; more are dropped, as
// unfinished pictures may.
const sightsKept = 4

// progressEvery is how often progress is written for everybody to see.
const progressEvery = 3 * time.Second

// progress shows how far the call is.
func (c *call) progress(ctx context.Context, part float64) {
	c.watchers.show(c.generation.ID, Sight{Progress: part})
	percent := int(100 * min(part, 1))
	if percent == c.generation.Progress || time.Since(c.told) < progressEvery {
		return
	}
	c.told, c.generation.Progress = time.Now(), percent
	if err := c.DB.ShowProgress(ctx, c.job.Fence(), c.generation.ID, percent); err != nil && !errors.Is(err, records.ErrLeaseLost) && ctx.Err() == nil {
		c.Log.Warn("progress could not be shown", "generation", c.generation.ID, "err", err)
	}
}

// showPartial passes an unfinished picture to those who look, and reads past it
// where nobody does.
func (c *call) showPartial(o Output) error {
	if o.Index < 0 || o.Index >= len(c.asked) || !c.watchers.watched(c.generation.ID) {
		_, err := io.Copy(io.Discard, o.Body)
		return err
	}
	data, err := io.ReadAll(io.LimitReader(o.Body, c.MaxBytes))
	if err != nil {
		return nil // it is not the picture that was paid for
	}
	c.watchers.show(c.generation.ID, Sight{Position: c.asked[o.Index].Position, Partial: data, Index: o.PartialIndex})
	return nil
}

// watchers are those who look at running generations.
type watchers struct {
	mu   sync.Mutex
	list map[string]map[chan Sight]bool
}

// Watch shows what is to be seen of a generation from now on, as far as this
// process runs it, until stop is called. The channel is never closed: whether
// the generation has ended is for the database to say. Begin before the
// generation is recorded and nothing is missed.
func (r *Runner) Watch(generationID string) (sights <-chan Sight, stop func()) {
	return r.watchers.add(generationID)
}

func (w *watchers) add(id string) (<-chan Sight, func()) {
	c := make(chan Sight, sightsKept)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.list == nil {
		w.list = map[string]map[chan Sight]bool{}
	}
	if w.list[id] == nil {
		w.list[id] = map[chan Sight]bool{}
	}
	w.list[id][c] = true
	return c, func() { w.remove(id, c) }
}

func (w *watchers) remove(id string, c chan Sight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.list[id], c)
	if len(w.list[id]) == 0 {
		delete(w.list, id)
	}
}

// watched reports whether anybody looks.
func (w *watchers) watched(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.list[id]) > 0
}

func (w *watchers) show(id string, s Sight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.list[id] {
		select {
		case c <- s:
		default: // too slow: the next one is newer
		}
	}
}
