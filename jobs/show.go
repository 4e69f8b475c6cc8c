package jobs

import (
	"time"

	"afterimage/records"
)

// toShow are the jobs that have been running for a while and of which people
// do not know yet.
func (p *pump) toShow() (list []records.Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.running {
		if !r.shown && time.Since(r.since) >= showAfter {
			list = append(list, r.job)
		}
	}
	return list
}

func (p *pump) markShown(list []records.Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, j := range list {
		if r := p.running[j.Fence()]; r != nil {
			r.shown = true
		}
	}
}

// nextShow is how long it takes until a job has to be shown, if there is one.
func (p *pump) nextShow() (in time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.running {
		if left := showAfter - time.Since(r.since); !r.shown && (!ok || left < in) {
			in, ok = max(left, time.Millisecond), true
		}
	}
	return in, ok
}

// mustYield reports whether idle work has to wait, since there is other work
// and it had its turn a moment ago.
func (p *pump) mustYield() bool {
	if !p.kind.Idle || time.Since(p.idleAt) >= idleEvery {
		return false
	}
	for _, other := range p.w.pumps {
		if !other.kind.Idle && other.works() {
			return true
		}
	}
	return false
}

// wakeIdle lets idle work begin when this kind has nothing left to do.
func (p *pump) wakeIdle() {
	if p.kind.Idle || p.works() {
		return
	}
	for _, other := range p.w.pumps {
		if other.kind.Idle {
			other.wake()
		}
	}
}

func (p *pump) works() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.running) > 0
}
