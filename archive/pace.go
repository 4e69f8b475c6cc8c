package archive

import (
	"context"
	"io"
	"sync"
	"time"
)

// pace spreads reading over time: at most so many bytes a second, all readers
// together. A rate of 0 is as fast as it goes.
type pace struct {
	rate int64

	mu   sync.Mutex
	next time.Time // when the next byte may be read
}

// wait pays for n bytes that were read.
func (p *pace) wait(ctx context.Context, n int) error {
	if p.rate <= 0 || n <= 0 {
		return ctx.Err()
	}
	p.mu.Lock()
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(time.Duration(float64(n) / float64(p.rate) * float64(time.Second)))
	pause := p.next.Sub(now)
	p.mu.Unlock()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// paced is a reader that keeps to a pace.
type paced struct {
	io.Reader
	ctx  context.Context
	pace *pace
}

func (r paced) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if waitErr := r.pace.wait(r.ctx, n); waitErr != nil && err == nil {
		err = waitErr
	}
	return n, err
}
