package storage

import (
	"context"
	"io"
	"time"
)

// watchdog ends a request that brings nothing for stallTime. It sleeps while
// nobody waits for the store.
type watchdog struct {
	timer *time.Timer
	end   context.CancelFunc
	ctx   context.Context
}

// watch begins awake.
func watch(parent context.Context) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(parent)
	w := &watchdog{
		timer: time.AfterFunc(stallTime, func() { cancel(errSlow) }),
		ctx:   ctx,
	}
	w.end = func() {
		w.timer.Stop()
		cancel(nil)
	}
	return ctx, w
}

func (w *watchdog) resume() { w.timer.Reset(stallTime) }
func (w *watchdog) pause()  { w.timer.Stop() }

// watchedBody is a read that must go on.
type watchedBody struct {
	body io.ReadCloser
	*watchdog
	op, key string
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.resume()
	n, err := b.body.Read(p)
	b.pause()
	if err != nil && err != io.EOF {
		err = networkError(b.ctx, b.op, b.key, err)
	}
	return n, err
}

// Close gives an unfinished transfer up instead of reading the rest.
func (b *watchedBody) Close() error {
	b.end()
	return b.body.Close()
}
