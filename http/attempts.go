package http

import (
	"sync"
	"time"

	"afterimage/records"
)

// attempts knows which answers are waited for and which have been handed over,
// as far as this process knows: the repeat of a request belongs to one that
// nobody waits for any more and nobody got.
type attempts struct {
	mu      sync.Mutex
	waiting map[string]int       // by generation
	given   map[string]time.Time // when an answer was written to its end
}

func newAttempts() *attempts {
	return &attempts{waiting: map[string]int{}, given: map[string]time.Time{}}
}

// lateLoss is how long after an answer was written its client may still turn
// out not to have got it.
const lateLoss = 2 * time.Minute

// wait notes that a client waits, until done is called.
func (a *attempts) wait(id string) (done func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting[id]++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.waiting[id]--; a.waiting[id] == 0 {
			delete(a.waiting, id)
		}
	}
}

// handOver notes that an answer was written.
func (a *attempts) handOver(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for old, at := range a.given {
		if now.Sub(at) > records.AttemptTTL {
			delete(a.given, old)
		}
	}
	a.given[id] = now
}

// join chooses the generation that a repeat belongs to: the oldest that was not
// handed over and that nobody waits for, so that the repeats of several equal
// requests each find their own. A connection that is dead may still look alive,
// and an answer that was written may not have arrived: then one of those it is,
// for two answers of one picture are better than two pictures bought.
func (a *attempts) join(earlier []string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	best, least := "", 0
	for _, id := range earlier {
		unlikely := a.waiting[id]
		if at, ok := a.given[id]; ok {
			unlikely += 1 << 20
			if time.Since(at) > lateLoss {
				continue
			}
		}
		if best == "" || unlikely < least {
			best, least = id, unlikely
		}
	}
	return best
}
