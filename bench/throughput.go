package main

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"
	"time"
)

// burst is the row of how fast images are archived that wait when the worker
// starts, beside the floor.
func burst(slots, size int, reach float64) func(context.Context, *bench) error {
	return func(ctx context.Context, b *bench) error {
		images := b.Images
		if size > small {
			images = max(4*slots, images/5)
		}
		var base, ours []float64
		peer := b.newPeer(slots)
		for range b.Runs {
			rate, err := b.floorRate(ctx, slots, size, images)
			if err != nil {
				return fmt.Errorf("floor: %w", err)
			}
			base = append(base, rate)
			if rate, err = b.productRate(ctx, slots, size, images); err != nil {
				return fmt.Errorf("product: %w", err)
			}
			ours = append(ours, rate)
			if err := peer.burst(ctx, size, images); err != nil {
				return fmt.Errorf("peer: %w", err)
			}
			if err := b.emptyBucket(ctx); err != nil {
				return err
			}
		}
		f, o := median(base), median(ours)
		b.table.add(line{
			what: fmt.Sprintf("archive/s ÷ floor, %d slots, %s", slots, sizeName(size)),
			base: number(f) + "/s", ours: number(o) + "/s",
			figures: []figure{{value: o / f, reach: reach, atLeast: true}},
			shipped: peer.shipped.ratio(), tuned: peer.tuned.ratio(),
		})
		return nil
	}
}

// productRate inserts all images, starts the worker, and takes the time until
// the last one is committed.
func (b *bench) productRate(ctx context.Context, slots, size, images int) (float64, error) {
	r, err := b.newRunning(ctx, slots)
	if err != nil {
		return 0, err
	}
	defer r.close()
	if _, err := insert(ctx, r.db, r.person, b.urls(images, size)); err != nil {
		return 0, err
	}
	stop, err := b.profile()
	if err != nil {
		return 0, err
	}
	defer stop()
	started := time.Now()
	if err := r.begin(ctx); err != nil {
		return 0, err
	}
	list, err := r.await(ctx, images)
	if err != nil {
		return 0, err
	}
	return float64(images) / list[images-1].at.Sub(started).Seconds(), nil
}

// profile writes what the CPU did until stop; a later burst overwrites it.
func (b *bench) profile() (stop func(), err error) {
	if b.Profile == "" {
		return func() {}, nil
	}
	f, err := os.Create(b.Profile)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}
