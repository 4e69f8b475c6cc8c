package http

import (
	"math"
	"sync"
	"time"

	"afterimage/records"
)

const (
	// recentStep is the time of one bucket.
	recentStep = 5 * time.Second
	// recentBuckets are an hour.
	recentBuckets = int(time.Hour / recentStep)
	// durations are counted in classes, each a quarter longer than the one
	// before, from 10 ms to over an hour.
	durationClasses = 60
	durationFirst   = 10 * time.Millisecond
	durationGrowth  = 1.25
)

// recent is the last hour of this process, in buckets of a few seconds. What
// is older is in the database.
type recent struct {
	mu      sync.Mutex
	buckets [recentBuckets]moment
}

type moment struct {
	step   int64 // since 1970: of which hour it is
	looked bool  // the queue was looked at
	records.Sample
	took [durationClasses]uint32
}

// at is the bucket of a time, emptied if it is of an hour ago.
func (g *recent) at(now time.Time) *moment {
	step := now.UnixNano() / int64(recentStep)
	b := &g.buckets[step%int64(recentBuckets)]
	if b.step != step {
		*b = moment{step: step}
		b.At = records.At(time.Unix(0, step*int64(recentStep)))
	}
	return b
}

// archived counts an image that was archived, so long after it was made.
func (g *recent) archived(now time.Time, bytes int64, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.at(now)
	b.Archived++
	b.Bytes += bytes
	b.took[durationClass(took)]++
}

// looked keeps how the queue is.
func (g *recent) looked(now time.Time, s records.Sample) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.at(now)
	b.looked = true
	b.Generating, b.Archiving, b.Retrying, b.Running, b.Slots, b.Oldest = s.Generating, s.Archiving, s.Retrying, s.Running, s.Slots, s.Oldest
}

// between sums up the time from one moment until another, which is not in it.
// Ok tells whether anything is known of it.
func (g *recent) between(from, until time.Time) (s records.Sample, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var took [durationClasses]uint32
	s.At = records.At(from)
	for step := from.UnixNano() / int64(recentStep); step*int64(recentStep) < until.UnixNano(); step++ {
		b := &g.buckets[step%int64(recentBuckets)]
		if b.step != step {
			continue
		}
		ok = true
		addSample(&s, b.Sample)
		for n := range took {
			took[n] += b.took[n]
		}
	}
	s.P50, s.P95 = quantile(&took, .5).Milliseconds(), quantile(&took, .95).Milliseconds()
	return s, ok
}

// addSample adds a time beside or after another: sums of what is counted, the
// most of what is looked at.
func addSample(s *records.Sample, more records.Sample) {
	s.Archived += more.Archived
	s.Bytes += more.Bytes
	for _, f := range []struct{ to, from *int64 }{
		{&s.Generating, &more.Generating}, {&s.Archiving, &more.Archiving}, {&s.Retrying, &more.Retrying}, {&s.Running, &more.Running},
		{&s.Slots, &more.Slots}, {&s.Oldest, &more.Oldest}, {&s.P50, &more.P50}, {&s.P95, &more.P95},
	} {
		*f.to = max(*f.to, *f.from)
	}
}

func durationClass(d time.Duration) int {
	class := math.Ceil(math.Log(float64(max(d, 1))/float64(durationFirst)) / math.Log(durationGrowth))
	return int(min(max(class, 0), durationClasses-1))
}

// quantile is what so many of the durations are not longer than, to a quarter;
// 0 if there are none.
func quantile(took *[durationClasses]uint32, q float64) time.Duration {
	var all uint32
	for _, n := range took {
		all += n
	}
	if all == 0 {
		return 0
	}
	rank, seen := uint32(math.Ceil(q*float64(all))), uint32(0)
	for class, n := range took {
		if seen += n; seen >= rank {
			return time.Duration(float64(durationFirst) * math.Pow(durationGrowth, float64(class)-.5)) // its middle
		}
	}
	return 0
}
