package http

import (
	"context"
	"sync"
	"time"
)

// hub tells those who wait for a person's images that something changed. It
// holds no changes: whoever is told reads the history.
type hub struct {
	mu      sync.Mutex
	waiting map[string]map[chan struct{}]bool // by user id
	closed  chan struct{}
	once    sync.Once
}

func newHub() *hub {
	return &hub{waiting: map[string]map[chan struct{}]bool{}, closed: make(chan struct{})}
}

// close sends everybody who waits away, now and later.
func (h *hub) close() { h.once.Do(func() { close(h.closed) }) }

// subscribe returns a channel that gets a value after each change, several of
// them collapsing into one, and a function to call when nobody listens any
// more. Subscribe before reading, so that nothing falls between.
func (h *hub) subscribe(userID string) (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting[userID] == nil {
		h.waiting[userID] = map[chan struct{}]bool{}
	}
	h.waiting[userID][ch] = true
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.waiting[userID], ch)
		if len(h.waiting[userID]) == 0 {
			delete(h.waiting, userID)
		}
	}
}

// waiters is how many wait.
func (h *hub) waiters() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.waiting {
		n += len(w)
	}
	return n
}

// tell wakes those who wait for a person's images; an empty id wakes all.
func (h *hub) tell(userID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if userID == "" {
		for _, waiting := range h.waiting {
			wake(waiting)
		}
		return
	}
	wake(h.waiting[userID])
}

func wake(waiting map[chan struct{}]bool) {
	for ch := range waiting {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// lookAgain is how often somebody who waits looks without being told: another
// instance may have made the change.
const lookAgain = 2 * time.Second

// waitFor calls ready now and after each change of a person's images, until it
// says yes, fails, or the time is over.
func (h *hub) waitFor(ctx context.Context, userID string, limit time.Duration, ready func() (bool, error)) error {
	if limit <= 0 {
		_, err := ready()
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	changed, done := h.subscribe(userID)
	defer done()
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for {
		ok, err := ready()
		if err != nil || ok {
			return err
		}
		select {
		case <-changed:
		case <-again.C:
		case <-ctx.Done():
			return nil
		case <-h.closed:
			return nil
		}
	}
}
