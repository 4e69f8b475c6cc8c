package http

import (
	"cmp"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// throttle slows down who tries passwords: after a few wrong ones for a name,
// or many from an address, each next try has to wait, for up to five minutes.
type throttle struct {
	mu    sync.Mutex
	tries map[throttleKey]*tries
}

// throttleKey is what a try counts against.
type throttleKey struct {
	kind, value string
}

type tries struct {
	wrong int
	until time.Time // when the next try may come
	last  time.Time
}

const (
	byName    = "name"
	byAddress = "address"

	longestWait = 5 * time.Minute
	forgetTry   = 15 * time.Minute
	maxTracked  = 10_000 // names and addresses; beyond it those with the fewest tries go
)

// freeTries are the wrong passwords that cost no time. Behind a proxy all
// people come from one address: one of them must not lock the others out.
var freeTries = map[string]int{byName: 5, byAddress: 50}

func newThrottle() *throttle { return &throttle{tries: map[throttleKey]*tries{}} }

// throttleKeys are the name and the address of a try. Who has one IPv6 address
// has 2^64 of them.
func throttleKeys(r *http.Request, username string) []throttleKey {
	address := r.RemoteAddr
	if from, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		ip := from.Addr().Unmap()
		address = ip.String()
		if ip.Is6() {
			address = netip.PrefixFrom(ip, 64).Masked().String()
		}
	}
	return []throttleKey{{byName, strings.ToLower(strings.TrimSpace(username))}, {byAddress, address}}
}

// wait is how long the next try has to wait; 0: not at all. A try that may go
// on counts as wrong at once, so that many at the same moment do not slip
// through together; right takes it back.
func (t *throttle) wait(keys []throttleKey) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	defer t.forget(now)
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
		t.count(k, now)
	}
	return 0
}

// right forgets the tries of who had the right password.
func (t *throttle) right(keys []throttleKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range keys {
		delete(t.tries, k)
	}
}

func (t *throttle) count(k throttleKey, now time.Time) {
	e := t.tries[k]
	if e == nil || now.Sub(e.last) > forgetTry {
		e = &tries{}
		t.tries[k] = e
	}
	e.wrong++
	e.last = now
	if over := e.wrong - freeTries[k.kind]; over >= 0 {
		e.until = now.Add(min(longestWait, 10*time.Second<<min(over, 10)))
	}
}

// forget bounds the memory. It lets those with the fewest tries go first: who
// fills it with names must not free the one they are after.
func (t *throttle) forget(now time.Time) {
	if len(t.tries) <= maxTracked {
		return
	}
	maps.DeleteFunc(t.tries, func(_ throttleKey, e *tries) bool { return now.Sub(e.last) > forgetTry })
	for len(t.tries) > maxTracked {
		least := slices.MinFunc(slices.Collect(maps.Keys(t.tries)), func(a, b throttleKey) int {
			return cmp.Compare(t.tries[a].wrong, t.tries[b].wrong)
		})
		delete(t.tries, least)
	}
}
