package http

import (
	"context"
	"time"

	"afterimage/records"
)

const (
	// sampleSlow is how many times as long as a look at the queue took we wait
	// at least before the next: a long queue is not looked at all the time.
	sampleSlow = 50
	// deskTime is how long the database may take to answer the desk.
	deskTime = 5 * time.Second
)

// Sample looks at the queue every few seconds until the context ends, for the
// desk of operators, and keeps what it saw for the charts of the last days.
func (s *Server) Sample(ctx context.Context) {
	next := time.NewTimer(0)
	defer next.Stop()
	began := time.Now().Truncate(records.SampleStep)
	from := time.Now().Truncate(recentStep)
	for {
		select {
		case <-ctx.Done():
			s.keepSample(context.WithoutCancel(ctx), from, time.Now())
			return
		case <-next.C:
		}
		now := time.Now()
		sample, err := s.look(ctx)
		if err == nil {
			s.Metrics.recent.looked(now, sample)
		} else if ctx.Err() == nil {
			s.Log.Warn("the queue could not be looked at", "err", err)
		}
		if step := now.Truncate(records.SampleStep); step.After(began) {
			s.keepSample(ctx, from, step)
			began, from = step, step
		}
		next.Reset(max(recentStep, sampleSlow*time.Since(now)))
	}
}

func (s *Server) keepSample(ctx context.Context, from, until time.Time) {
	sample, ok := s.Metrics.recent.between(from, until)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, deskTime)
	defer cancel()
	if err := s.DB.AddSample(ctx, sample); err != nil {
		s.Log.Warn("the figures of the last minutes are not kept", "err", err)
	}
}

// look reads how the queue is now.
func (s *Server) look(ctx context.Context) (records.Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, deskTime)
	defer cancel()
	f, err := s.DB.Figures(ctx)
	if err != nil {
		return records.Sample{}, err
	}
	n, _, err := s.DB.LiveInstances(ctx)
	return s.sampleOf(f, n), err
}

func (s *Server) sampleOf(f records.Figures, instances int) records.Sample {
	now := s.DB.Now()
	sample := records.Sample{At: now}
	for _, q := range f.Queue {
		n := int64(q.N)
		switch {
		case q.State == records.JobDiscarded:
		case q.Kind == records.KindGenerate:
			sample.Generating += n
		case q.Kind != records.KindArchive:
		case q.State == records.JobWaiting:
			sample.Retrying += n
		default:
			sample.Archiving += n
		}
		if q.Kind == records.KindArchive && q.State == records.JobRunning {
			sample.Running = n
		}
	}
	if s.Watched.Slots != nil {
		for _, slot := range s.Watched.Slots() {
			if slot.Kind == records.KindArchive {
				sample.Slots += int64(slot.Slots * max(1, instances))
			}
		}
	}
	if !f.OldestPending.IsZero() {
		sample.Oldest = max(0, now.Sub(f.OldestPending.Time).Milliseconds())
	}
	return sample
}

// forecast tells how the queue will clear.
type forecast struct {
	PerMinute float64       // images archived, of late
	Waiting   int64         // images that wait for the archive
	Clears    time.Duration // until the queue is empty at this rate; 0: it is, or never
	DieFirst  int           // sources that die before that
}

// forecastTime is what "of late" means.
const forecastTime = 10 * time.Minute

func (s *Server) forecast(ctx context.Context, now records.Sample) (f forecast, err error) {
	f.Waiting = now.Archiving + now.Retrying
	if s.Metrics != nil {
		until := time.Now()
		since := forecastTime
		if up := until.Sub(s.Metrics.started); up < since {
			since = max(up, recentStep)
		}
		late, _ := s.Metrics.recent.between(until.Add(-since), until)
		f.PerMinute = float64(late.Archived) / since.Minutes()
	}
	if f.Waiting == 0 {
		return f, nil
	}
	const never = 365 * 24 * time.Hour
	within := never
	if f.PerMinute > 0 {
		f.Clears = min(never, time.Duration(float64(f.Waiting)/f.PerMinute*float64(time.Minute)))
		within = f.Clears
	}
	f.DieFirst, err = s.DB.DyingWithin(ctx, within)
	return f, err
}
