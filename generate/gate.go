package generate

import (
	"errors"
	"sync"
	"time"
)

// gate says how many calls of one provider may run. A provider that throttles
// is left alone for as long as it asks, by all generations and not only by the
// one that was told. Then one call goes first, and the others follow twice as
// many at a time.
type gate struct {
	slots int // always

	mu        sync.Mutex
	until     time.Time // paused
	allowed   int       // 0: all slots
	throttled int       // in a row
}

// Pauses where the provider does not say how long.
const (
	pauseFirst = 5 * time.Second
	pauseMost  = 2 * time.Minute
)

// limit is jobs.Kind's.
func (g *gate) limit() (slots int, again time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if left := time.Until(g.until); left > 0 {
		return 0, left
	}
	if g.allowed > 0 {
		return g.allowed, 0 // each end of a call is a look at the queue
	}
	return g.slots, 0
}

// told hears how a call was taken.
func (g *gate) told(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e, ok := errors.AsType[*Error](err)
	switch {
	case ok && e.Reason == ReasonThrottled:
		if time.Now().Before(g.until) {
			return // one of those that were on their way
		}
		wait := e.RetryAfter
		if wait == 0 {
			wait = min(pauseFirst<<min(g.throttled, 10), pauseMost)
		}
		g.throttled++
		g.allowed, g.until = 1, time.Now().Add(wait)
	case err == nil && g.allowed > 0:
		g.throttled = 0
		if g.allowed *= 2; g.allowed >= g.slots {
			g.allowed = 0
		}
	}
}

// left is how long the provider is paused.
func (g *gate) left() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(0, time.Until(g.until))
}
