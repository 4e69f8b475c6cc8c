package http

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// What one person's programs may write. Reading has no bound of its own: a poll
// with nothing new is cheaper than an answer that refuses it.
const (
	rateWrites = 600
	rateWindow = time.Minute
	ratePolicy = `"writes";q=600;w=60`
	// maxRates bounds the memory; beyond it those go that are full again.
	maxRates = 10_000
)

// rates are buckets of requests, one a person.
type rates struct {
	mu sync.Mutex
	of map[string]*bucket
}

type bucket struct {
	left float64
	at   time.Time
}

// take takes a request out of a person's bucket, and says how many are left or
// how long to wait for one.
func (r *rates) take(user string) (left int, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	b := r.of[user]
	if b == nil {
		r.forget(now)
		b = &bucket{left: rateWrites, at: now}
		r.of[user] = b
	}
	b.fill(now)
	if b.left < 1 {
		return 0, time.Duration((1 - b.left) / rateWrites * float64(rateWindow))
	}
	b.left--
	return int(b.left), 0
}

func (b *bucket) fill(now time.Time) {
	b.left = min(rateWrites, b.left+float64(now.Sub(b.at))/float64(rateWindow)*rateWrites)
	b.at = now
}

func (r *rates) forget(now time.Time) {
	if r.of == nil {
		r.of = map[string]*bucket{}
	}
	if len(r.of) < maxRates {
		return
	}
	for user, b := range r.of {
		if b.fill(now); b.left == rateWrites {
			delete(r.of, user)
		}
	}
}

// limitRate bounds how fast somebody writes, and tells them how much they may.
// It comes after need.
func (s *Server) limitRate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		left, wait := s.rates.take(viewerOf(r).user.ID)
		h := w.Header()
		h.Set("RateLimit-Policy", ratePolicy)
		h.Set("RateLimit", fmt.Sprintf(`"writes";r=%d;t=%d`, left, int((rateWrites-float64(left))/rateWrites*rateWindow.Seconds())))
		if wait > 0 {
			s.fail(w, r, newProblem(http.StatusTooManyRequests, codeThrottled, "Too many requests. See RateLimit-Policy.").after(wait))
			return
		}
		next.ServeHTTP(w, r)
	})
}
