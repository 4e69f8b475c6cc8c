package http

import (
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// throttle slows down who tries passwords: after five wrong ones for a name or
// from an address, each next try has to wait, for up to five minutes.
type throttle struct {
	mu    sync.Mutex
	tries map[string]*tries
}

type tries struct {
	wrong int
	until time.Time // when the next try may come
	last  time.Time
}

const (
	freeTries   = 5
	longestWait = 5 * time.Minute
	forgetTry   = 15 * time.Minute
	maxTracked  = 10_000 // names and addresses; beyond it the old ones go
)

func newThrottle() *throttle { return &throttle{tries: map[string]*tries{}} }

// throttleKeys are what a try counts against.
func throttleKeys(r *http.Request, username string) []string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return []string{"name:" + strings.ToLower(strings.TrimSpace(username)), "from:" + host}
}

// wait is how long the next try has to wait; 0: not at all. A try that may go
// on counts as wrong at once, so that many at the same moment do not slip
// through together; right takes it back.
func (t *throttle) wait(keys []string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.forget(now)
	var longest time.Duration
	for _, k := range keys {
		if e := t.tries[k]; e != nil {
			longest = max(longest, e.until.Sub(now))
		}
	}
	if longest > 0 {
		return longest
	}
	for _, k := range keys {
		e := t.tries[k]
		if e == nil {
			e = &tries{}
			t.tries[k] = e
		}
		e.wrong++
		e.last = now
		if over := e.wrong - freeTries; over >= 0 {
			e.until = now.Add(min(longestWait, 10*time.Second<<min(over, 10)))
		}
	}
	return 0
}

// right forgets the tries of who had the right password.
func (t *throttle) right(keys []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range keys {
		delete(t.tries, k)
	}
}

func (t *throttle) forget(now time.Time) {
	for k, e := range t.tries {
		if now.Sub(e.last) > forgetTry || len(t.tries) > maxTracked {
			delete(t.tries, k)
		}
	}
}
