package generate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"afterimage/jobs"
	"afterimage/records"
)

const (
	// cutAfter is after how many times its provider's limit a generation is
	// ended that is still at work.
	cutAfter = 2
	// lookLate is the pause between looks at one that is late but at work.
	lookLate = time.Minute
	// settleTries is how often a provider is asked about a call of unknown
	// outcome that it cannot be asked about just now.
	settleTries = 5
)

// TimedOut looks at a generation that has been at its provider for long. One
// whose job was lost gets it again, which asks the provider or ends it; one
// whose job does not come to an end is ended, as unknown if it may have been
// paid for.
func (r *Runner) TimedOut(ctx context.Context, job records.Job) error {
	g, _, err := r.DB.GenerationWork(ctx, *job.Ref)
	switch {
	case errors.Is(err, records.ErrNotFound):
		return nil
	case err != nil:
		return err
	case g.Status != records.GenerationGenerating || g.SubmittedAt.IsZero():
		return nil // its state has moved on
	}
	limit, took := r.limitOf(g), r.DB.Now().Sub(g.SubmittedAt.Time)
	if took < limit {
		return jobs.Wait(limit-took, "its provider may take longer")
	}
	lost, err := r.DB.ResumeGeneration(ctx, g)
	switch {
	case err != nil:
		return err
	case lost:
		r.Log.Warn("a generation had lost its job", "generation", g.ID, "provider", g.Provider, "took", took.Round(time.Second))
		return nil
	case took < cutAfter*limit:
		return jobs.Wait(lookLate, "it is still being made")
	}
	r.Log.Error("a generation did not come to an end and was ended", "generation", g.ID, "provider", g.Provider, "took", took.Round(time.Second))
	return r.DB.EndGeneration(ctx, g, ReasonTimeout, fmt.Sprintf("no outcome within %v", took.Round(time.Second)))
}

func (r *Runner) limitOf(g *records.Generation) time.Duration {
	if p := r.providers[g.Provider]; p != nil {
		return cmp.Or(p.Info().Timeout, r.Timeout)
	}
	return r.Timeout
}

// SettleUnknown asks a provider a last time about calls whose outcome nobody
// knows: what it has is archived after all, the rest was not made.
func (r *Runner) SettleUnknown(ctx context.Context, job records.Job) records.Settlement {
	g, images, err := r.DB.GenerationWork(ctx, *job.Ref)
	switch {
	case errors.Is(err, records.ErrNotFound):
		return records.Settlement{Verdict: records.Complete}
	case ctx.Err() != nil:
		return records.Settlement{Verdict: records.Release}
	case err != nil:
		return records.Settlement{Verdict: records.Defer, RunAt: r.DB.Now().Add(retryOurs), Error: "the database did not answer"}
	}
	c := &call{Runner: r, job: job, generation: g, images: images, provider: r.providers[g.Provider]}
	open := c.takeUnknown()
	if len(open) == 0 {
		return records.Settlement{Verdict: records.Complete} // its state has moved on
	}
	if busy, err := r.DB.HasGenerateJob(ctx, g.ID); err != nil || busy {
		return records.Settlement{Verdict: records.Defer, RunAt: r.DB.Now().Add(time.Hour), Error: "it is still being asked about"}
	}
	if c.provider != nil {
		c.info = c.provider.Info()
	}
	switch err := c.askEach(ctx); {
	case ctx.Err() != nil:
		return records.Settlement{Verdict: records.Release}
	case err != nil && job.Attempt+1 < settleTries:
		return jobs.Backoff(r.DB.Now(), job, err)
	case err != nil:
		r.Log.Warn("a call of unknown outcome could not be asked about", "generation", g.ID, "provider", g.Provider, "err", err)
	}
	c.notMade(open)
	return c.done()
}

// takeUnknown takes images of unknown outcome for being made, in memory.
func (c *call) takeUnknown() (open []*records.Image) {
	for n := range c.images {
		if i := &c.images[n]; i.Status == records.Unknown {
			i.Status, i.Reason = records.Generating, ""
			open = append(open, i)
		}
	}
	return open
}

// askEach asks about each call that has a name at its provider. An error means
// that it may be worth to ask again.
func (c *call) askEach(ctx context.Context) (errs error) {
	for n := range c.generation.Calls {
		one := &c.generation.Calls[n]
		task := c.task(*one)
		if task == "" {
			continue
		}
		c.asked = nil
		for _, position := range one.Positions {
			if position >= 0 && position < len(c.images) {
				c.asked = append(c.asked, &c.images[position])
			}
		}
		done, err := c.poll(ctx, task)
		e, said := errors.AsType[*Error](err)
		switch {
		case err == nil && !done:
			errs = errors.Join(errs, errors.New("the provider is still at it"))
		case err == nil, said && !e.Retryable:
			one.Done = true
		default:
			errs = errors.Join(errs, err)
		}
	}
	return errs
}

// notMade settles what the provider did not give for good.
func (c *call) notMade(open []*records.Image) {
	for _, i := range open {
		if i.Status != records.Generating {
			continue
		}
		i.Status, i.Reason = records.GenerateFailed, ReasonUnknownOutcome
		c.settled = append(c.settled, records.ImageChange{Image: i, Event: &records.Event{Kind: records.EventGenerateFailed,
			Reason: ReasonUnknownOutcome, Detail: "a day later the provider does not know of it"}})
	}
}
