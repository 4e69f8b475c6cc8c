package main

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"afterimage/fetch"
	"afterimage/records"
	"afterimage/storage"
)

// floor is the bare work: the same GET and PUT by the same client and store,
// with no queue, no database, no checks and no files.
type floor struct {
	fetch   *fetch.Client
	store   *storage.S3
	prefix  string
	buffers sync.Pool
}

func (b *bench) newFloor(ctx context.Context) (*floor, error) {
	client, err := b.product(0).newFetch()
	if err != nil {
		return nil, err
	}
	store, err := storage.NewS3(ctx, b.s3)
	if err != nil {
		return nil, err
	}
	return &floor{fetch: client, store: store, prefix: "floor/" + records.NewID() + "/",
		buffers: sync.Pool{New: func() any { return new(bytes.Buffer) }}}, nil
}

func (f *floor) close() { f.fetch.Close() }

// move carries one image from its source into the store.
func (f *floor) move(ctx context.Context, n int, url string) error {
	buf := f.buffers.Get().(*bytes.Buffer)
	defer f.buffers.Put(buf)
	buf.Reset()
	got, err := f.fetch.Get(ctx, fetch.Source{URL: url}, buf)
	if err != nil {
		return fmt.Errorf("get: %w", err)
	}
	o := storage.Object{Key: fmt.Sprintf("%s%d.png", f.prefix, n), ContentType: "image/png", Size: got.Size, SHA256: got.SHA256}
	if _, err := f.store.Put(ctx, o, bytes.NewReader(buf.Bytes())); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	return nil
}

// floorRate is how many images a second that many goroutines move.
func (b *bench) floorRate(ctx context.Context, slots, size, images int) (float64, error) {
	f, err := b.newFloor(ctx)
	if err != nil {
		return 0, err
	}
	defer f.close()
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	started := time.Now()
	for range slots {
		group.Go(func() error {
			for n := int(next.Add(1)); n <= images; n = int(next.Add(1)) {
				if err := f.move(ctx, n, b.source.url(n, size)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = group.Wait()
	return float64(images) / time.Since(started).Seconds(), err
}

// bare is how long the moves take, together at a moment, that begin at each
// tick: from the tick to the end of the last one.
func (f *floor) bare(ctx context.Context, b *bench, together int, every time.Duration, times int) ([]time.Duration, error) {
	took := make([]time.Duration, times)
	group, ctx := errgroup.WithContext(ctx)
	err := paced(ctx, every, times, func(n int) {
		group.Go(func() error {
			started := time.Now()
			var moves errgroup.Group
			for k := range together {
				i := n*together + k
				moves.Go(func() error { return f.move(ctx, i, b.source.url(i, small)) })
			}
			err := moves.Wait()
			took[n] = time.Since(started)
			return err
		})
	})
	if failed := group.Wait(); failed != nil {
		return nil, failed
	}
	return took, err
}

// paced calls begin n times, once at each tick.
func paced(ctx context.Context, every time.Duration, n int, begin func(n int)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for k := range n {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			begin(k)
		}
	}
	return nil
}
