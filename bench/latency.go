package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"afterimage/records"
)

// latencySlots are the slots of the rows that measure how long one image
// takes.
const latencySlots = 16

// warmUp is how many images are moved before a measurement begins.
const warmUp = 16

// latencies are those of one run.
type latencies []time.Duration

func (l latencies) p(percent float64) float64 { return ms(percentile(l, percent)) }

// medians is the median of the runs' percentiles.
func medians(runs []latencies, percent float64) float64 {
	var list []float64
	for _, l := range runs {
		list = append(list, l.p(percent))
	}
	return median(list)
}

// steady is the row of 50 images a second.
func steady(ctx context.Context, b *bench) error {
	const rate = 50
	times := rate * b.Seconds
	base, ours, err := b.inTurn(ctx, 1, time.Second/rate, times)
	if err != nil {
		return err
	}
	bare, p50, p95 := medians(base, 50), medians(ours, 50), medians(ours, 95)
	shipped, tuned, err := b.peerSteady(ctx, times, rate, 1, func(r peerResult) string {
		return fmt.Sprintf("%s / %s", number(r.P50/bare), number(r.P95/bare))
	})
	b.table.add(line{
		what:    "insert → archived at 50/s, p50 / p95 ÷ p50 of one bare GET + PUT",
		base:    number(bare) + " ms",
		ours:    number(p50) + " / " + number(p95) + " ms",
		figures: []figure{{value: p50 / bare, reach: 1.5}, {value: p95 / bare, reach: 2}},
		shipped: shipped, tuned: tuned,
	})
	return err
}

// four is the row of the images of one request, twice a second.
func four(ctx context.Context, b *bench) error {
	const together, rate = 4, 2
	times := rate * b.Seconds
	base, ours, err := b.inTurn(ctx, together, time.Second/rate, times)
	if err != nil {
		return err
	}
	bare50, bare99, p50, p99 := medians(base, 50), medians(base, 99), medians(ours, 50), medians(ours, 99)
	shipped, tuned, err := b.peerSteady(ctx, together*times, together*rate, together, func(r peerResult) string {
		return fmt.Sprintf("%s / %s ms", number(r.P50), number(r.P99))
	})
	b.table.add(line{
		what:    "four images of one request → the last archived, p50 / p99 ÷ four bare GET + PUTs side by side",
		base:    number(bare50) + " / " + number(bare99) + " ms",
		ours:    number(p50) + " / " + number(p99) + " ms",
		figures: []figure{{value: p50 / bare50, reach: 1.5}, {value: p99 / bare99, reach: 2}},
		shipped: shipped, tuned: tuned,
	})
	return err
}

// inTurn measures bare moves and the product in turn.
func (b *bench) inTurn(ctx context.Context, together int, every time.Duration, times int) (base, ours []latencies, err error) {
	for range b.Runs {
		f, err := b.newFloor(ctx)
		if err != nil {
			return nil, nil, err
		}
		_, err = f.bare(ctx, b, together, every/2, warmUp)
		var bare, product latencies
		if err == nil {
			bare, err = f.bare(ctx, b, together, every, times)
		}
		f.close()
		if err != nil {
			return nil, nil, fmt.Errorf("floor: %w", err)
		}
		if product, err = b.productSteady(ctx, together, every, times); err != nil {
			return nil, nil, fmt.Errorf("product: %w", err)
		}
		base, ours = append(base, bare), append(ours, product)
		if err := b.emptyBucket(ctx); err != nil {
			return nil, nil, err
		}
	}
	return base, ours, nil
}

// productSteady inserts images into a worker that runs, some together at each
// tick, and measures from before their insert to the commit of the last one.
func (b *bench) productSteady(ctx context.Context, together int, every time.Duration, times int) (latencies, error) {
	r, err := b.newRunning(ctx, latencySlots)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	if _, err := insert(ctx, r.db, r.person, b.urls(warmUp, small)); err != nil {
		return nil, err
	}
	if _, err := r.await(ctx, warmUp); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	inserted := map[string]time.Time{} // by image
	var group errgroup.Group
	urls := b.urls(together*times, small)
	err = paced(ctx, every, times, func(n int) {
		group.Go(func() error {
			started := time.Now()
			ids, err := insert(ctx, r.db, r.person, urls[n*together:(n+1)*together])
			mu.Lock()
			defer mu.Unlock()
			for _, id := range ids {
				inserted[id] = started
			}
			return err
		})
	})
	if err := errors.Join(err, group.Wait()); err != nil {
		return nil, err
	}
	list, err := r.await(ctx, together*times)
	if err != nil {
		return nil, err
	}
	last := map[time.Time]time.Duration{} // of those that were inserted together
	for _, a := range list {
		at := inserted[a.image]
		last[at] = max(last[at], a.at.Sub(at))
	}
	var l latencies
	for _, d := range last {
		l = append(l, d)
	}
	return l, nil
}

// peerSteady runs the peer once as shipped and once tuned.
func (b *bench) peerSteady(ctx context.Context, n, rate, group int, show func(peerResult) string) (shipped, tuned string, err error) {
	p := b.newPeer(latencySlots)
	args := []string{"-mode", "steady", "-size", strconv.Itoa(small), "-n", strconv.Itoa(n), "-rate", strconv.Itoa(rate), "-group", strconv.Itoa(group)}
	r, ran, err := p.run(ctx, args...)
	if err != nil || !ran {
		return "", "", err
	}
	fast, _, err := p.run(ctx, append(args, tuning()...)...)
	return show(r), show(fast), err
}

// laneSlots are the slots of the app's default.
const laneSlots = 2

// lanes is the row of an image that somebody waits for, while imports wait and
// keep all slots busy.
func lanes(ctx context.Context, b *bench) error {
	var alone, among []latencies
	for range b.Runs {
		for imports, to := range map[int]*[]latencies{0: &alone, b.Imports: &among} {
			l, err := b.interactive(ctx, imports)
			if err != nil {
				return err
			}
			*to = append(*to, l)
		}
		if err := b.emptyBucket(ctx); err != nil {
			return err
		}
	}
	base, ours := medians(alone, 95), medians(among, 95)
	b.table.add(line{
		what:    fmt.Sprintf("an interactive image while %d imports wait, %d slots, p95 ÷ alone", b.Imports, laneSlots),
		base:    number(base) + " ms",
		ours:    number(ours) + " ms",
		figures: []figure{{value: ours / base, reach: 2}},
	})
	return nil
}

// interactive measures images of requests, five a second, beside imports that
// wait: from the moment a provider has made an image to the commit.
func (b *bench) interactive(ctx context.Context, imports int) (latencies, error) {
	const rate = 5
	r, err := b.newRunning(ctx, laneSlots)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if err := b.fillImports(ctx, r, imports); err != nil {
		return nil, err
	}
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	list, err := r.prepare(ctx, rate*b.Seconds+warmUp)
	if err != nil {
		return nil, err
	}
	took := make(chan latencies, 1)
	made := make(chan moment, len(list))
	go func() { took <- r.follow(ctx, made, len(list)) }()
	var failed error
	err = paced(ctx, time.Second/rate, len(list), func(n int) {
		i := list[n]
		i.image.Status, i.image.SourceURL = records.Generated, b.source.url(n, small)
		made <- moment{i.image.ID, time.Now()}
		failed = errors.Join(failed, r.db.ImageMade(ctx, i.fence, records.ImageChange{Image: &i.image}))
	})
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	l := <-took
	if len(l) < len(list) {
		return nil, fmt.Errorf("%d of %d images were archived", len(l), len(list))
	}
	return l[warmUp:], nil
}

type moment struct {
	image string
	at    time.Time
}

// follow gives the latencies of images that are made meanwhile, and passes
// over the imports that arrive among them.
func (p *product) follow(ctx context.Context, made <-chan moment, n int) (l latencies) {
	begun := map[string]time.Time{}
	quiet := time.NewTimer(silence)
	defer quiet.Stop()
	for len(l) < n {
		select {
		case m := <-made:
			begun[m.image] = m.at
			quiet.Reset(silence)
		case a := <-p.arrived:
			for len(made) > 0 { // it was said before it was made
				m := <-made
				begun[m.image] = m.at
			}
			if at, found := begun[a.image]; found && a.err == nil {
				l = append(l, a.at.Sub(at))
			}
		case <-quiet.C:
			return l
		case <-ctx.Done():
			return l
		}
	}
	return l
}

// making is an image whose request runs.
type making struct {
	fence records.Fence
	image records.Image
}

// prepare makes requests for one image each and claims them, as a provider's
// worker does, so that each image can be made at its moment.
func (r *running) prepare(ctx context.Context, n int) ([]making, error) {
	images := map[string]records.Image{} // by request
	for range n {
		g, list, err := r.db.CreateGeneration(ctx, records.NewGeneration{UserID: r.person, Provider: "demo", Model: "demo", Prompt: "a lighthouse", N: 1})
		if err != nil {
			return nil, err
		}
		images[g.ID] = list[0]
	}
	_, jobs, err := r.db.Advance(ctx, nil, records.ClaimRequest{Kind: records.KindGenerate, Limit: n,
		InstanceID: r.instance, SpoolID: r.spool.ID(), TTL: time.Hour})
	if err != nil {
		return nil, err
	}
	var list []making
	for _, j := range jobs {
		list = append(list, making{j.Fence(), images[*j.Ref]})
	}
	return list, nil
}
