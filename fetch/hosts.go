package fetch

import (
	"context"
	"sync"
)

// hosts bounds how many fetches one host has to serve at once. A host nobody fetches from takes no
// memory.
type hosts struct {
	limit int
	mu    sync.Mutex
	slots map[string]*slots
}

type slots struct {
	free  chan struct{} // holds one token for each running fetch
	users int           // running and waiting
}

func newHosts(limit int) *hosts {
	return &hosts{limit: max(limit, 1), slots: map[string]*slots{}}
}

// acquire waits for a slot of host and gives its release, to be called once.
func (h *hosts) acquire(ctx context.Context, host string) (release func(), err error) {
	s := h.join(host)
	select {
	case s.free <- struct{}{}:
		return func() { <-s.free; h.leave(host, s) }, nil
	case <-ctx.Done():
		h.leave(host, s)
		return nil, context.Cause(ctx)
	}
}

func (h *hosts) join(host string) *slots {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.slots[host]
	if s == nil {
		s = &slots{free: make(chan struct{}, h.limit)}
		h.slots[host] = s
	}
	s.users++
	return s
}

func (h *hosts) leave(host string, s *slots) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(h.slots, host)
	}
}
