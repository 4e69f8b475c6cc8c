package http

import (
	"net/http"
	"net/netip"
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
	defer t.forget()
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

// right takes back the try of who had the right password. The name is
// forgiven, the address is not: who has an account of their own must not use
// it to go on trying others'.
func (t *throttle) right(keys []throttleKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range keys {
		e := t.tries[k]
		switch {
		case k.kind == byName, e != nil && e.wrong <= 1:
			delete(t.tries, k)
		case e != nil && e.wrong <= freeTries[k.kind]:
			e.wrong--
			e.until = time.Time{}
		}
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

// forgetSample is how many are looked at to find one to forget.
const forgetSample = 16

// forget bounds the memory. Of a few at random the one goes that was tried
// longest ago: who fills it with names must not free the one they are after.
func (t *throttle) forget() {
	for len(t.tries) > maxTracked {
		var oldest throttleKey
		looked := 0
		for k, e := range t.tries { // in random order
			if looked == 0 || e.last.Before(t.tries[oldest].last) {
				oldest = k
			}
			if looked++; looked == forgetSample {
				break
			}
		}
		delete(t.tries, oldest)
	}
}
