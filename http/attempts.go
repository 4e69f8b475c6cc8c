package http

import (
	"sync"
	"time"

	"afterimage/records"
)

// attempts knows which answers are waited for and which were handed over, as
// far as this process knows: the repeat of a request belongs to one that nobody
// waits for any more and nobody got.
type attempts struct {
	mu   sync.Mutex
	list map[string]*attempt // by generation
}

type attempt struct {
	waiting int       // connections
	joined  int       // repeats
	given   time.Time // when an answer was written to its end
	last    time.Time
}

func newAttempts() *attempts { return &attempts{list: map[string]*attempt{}} }

// lateLoss is how long after an answer was written its client may still turn
// out not to have got it.
const lateLoss = 2 * time.Minute

// of is what is known of a generation. Old knowledge goes.
func (a *attempts) of(id string) *attempt {
	now := time.Now()
	one := a.list[id]
	if one == nil {
		for old, x := range a.list {
			if x.waiting == 0 && now.Sub(x.last) > records.AttemptTTL {
				delete(a.list, old)
			}
		}
		one = &attempt{}
		a.list[id] = one
	}
	one.last = now
	return one
}

// wait notes that a client waits, until done is called.
func (a *attempts) wait(id string) (done func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of(id).waiting++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.of(id).waiting--
	}
}

// handOver notes that an answer was written.
func (a *attempts) handOver(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.of(id)
	one.given = one.last
}

// join chooses the generation that a repeat belongs to: the oldest that was not
// handed over and that nobody waits for, so that the repeats of several equal
// requests each find their own. A connection that is dead may still look alive,
// and an answer that was written may not have arrived: then one of those it is,
// for two answers of one picture are better than two pictures bought.
func (a *attempts) join(earlier []string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	best := ""
	for _, id := range earlier {
		one := a.of(id)
		tooLate := !one.given.IsZero() && time.Since(one.given) > lateLoss
		if !tooLate && (best == "" || one.likelier(a.list[best])) {
			best = id
		}
	}
	if best != "" {
		a.list[best].joined++
	}
	return best
}

// likelier reports whether a repeat rather belongs to a than to an older one.
func (a *attempt) likelier(older *attempt) bool {
	if a.given.IsZero() != older.given.IsZero() {
		return a.given.IsZero()
	}
	if a.waiting != older.waiting {
		return a.waiting < older.waiting
	}
	return a.joined < older.joined
}
