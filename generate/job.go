package generate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"afterimage/fetch"
	"afterimage/jobs"
	"afterimage/records"
	"afterimage/storage"
)

// Config is what a Runner needs. Zero values mean the defaults.
type Config struct {
	DB        *records.DB
	Spool     *storage.Spool
	Fetch     *fetch.Client
	Providers []Provider
	Slots     int           // default 4
	Timeout   time.Duration // for one call, default 15 min: giving up early throws paid images away
	MaxBytes  int64         // of one image, default 64 MiB
	Log       *slog.Logger
}

// Runner makes the images that were asked for.
type Runner struct {
	Config
	providers map[string]Provider
}

// New makes a Runner.
func New(c Config) *Runner {
	c.Slots = cmp.Or(c.Slots, 4)
	c.Timeout = cmp.Or(c.Timeout, 15*time.Minute)
	c.MaxBytes = cmp.Or(c.MaxBytes, 64<<20)
	r := &Runner{Config: c, providers: map[string]Provider{}}
	for _, p := range c.Providers {
		r.providers[p.Info().Name] = p
	}
	return r
}

// Kinds are the kinds of job that this package does.
func (r *Runner) Kinds() []jobs.Kind {
	return []jobs.Kind{{Name: records.KindGenerate, Slots: r.Slots, Run: r.run, Failed: r.panicked}}
}

// call is one try to make what is still missing of one generation.
type call struct {
	*Runner
	job        records.Job
	provider   Provider
	info       Info
	generation *records.Generation
	missing    []*records.Image // by the index of the provider's output
	made       int
	settled    []records.ImageChange // images that failed alone
}

// run does one generate job.
func (r *Runner) run(ctx context.Context, job records.Job) records.Settlement {
	c, s := r.begin(ctx, job)
	if c == nil {
		return s
	}
	if c.provider == nil {
		return c.failed(&Error{Reason: ReasonModelMissing, Detail: "the provider " + c.generation.Provider + " is not set up (any more)"})
	}
	if err := c.recover(ctx); err != nil {
		return c.ended(ctx, err)
	}
	if !c.generation.SubmittedAt.IsZero() && !c.info.Repeatable {
		// The process ended after the provider may have been paid.
		return c.failed(&Error{Reason: ReasonUnknownOutcome, Detail: "the process ended during the call"})
	}
	if len(c.missing) == 0 {
		return c.done()
	}
	if err := r.DB.BeginCall(ctx, job.Fence(), c.generation.ID); err != nil {
		return c.ended(ctx, err)
	}
	c.generation.SubmittedAt = r.DB.Now()
	callCtx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	err := c.provider.Generate(callCtx, c.request(), func(o Output) error { return c.take(ctx, o) })
	if err != nil {
		return c.ended(ctx, err)
	}
	return c.done()
}

// begin reads what the job is about. Without a call there is nothing to do but
// to settle.
func (r *Runner) begin(ctx context.Context, job records.Job) (*call, records.Settlement) {
	g, images, err := r.DB.GenerationWork(ctx, *job.Ref)
	switch {
	case errors.Is(err, records.ErrNotFound):
		r.Log.Error("a generate job is about a generation that does not exist; it was discarded", "job", job.ID, "generation", *job.Ref)
		return nil, records.Settlement{Verdict: records.Discard, Error: "the generation does not exist"}
	case err != nil:
		r.Log.Error("a generation could not be read", "job", job.ID, "generation", *job.Ref, "err", err)
		return nil, records.Settlement{Verdict: records.Defer, RunAt: r.DB.Now().Add(retryOurs), Error: "the database did not answer"}
	case g.Status != records.GenerationGenerating:
		return nil, records.Settlement{Verdict: records.Complete} // its state has moved on
	}
	c := &call{Runner: r, job: job, generation: g, provider: r.providers[g.Provider]}
	if c.provider != nil {
		c.info = c.provider.Info()
	}
	for n := range images {
		switch images[n].Status {
		case records.Generating:
			c.missing = append(c.missing, &images[n])
		case records.GenerateFailed, records.Canceled, records.Unknown:
		default:
			c.made++
		}
	}
	return c, records.Settlement{}
}

// recover takes up images whose bytes were secured before a crash kept us from
// recording it.
func (c *call) recover(ctx context.Context) error {
	for _, i := range slices.Clone(c.missing) {
		if !c.Spool.Has(i.ID) {
			continue
		}
		if err := c.recordSpooled(ctx, i); err != nil {
			return err
		}
		c.missing = slices.DeleteFunc(c.missing, func(m *records.Image) bool { return m == i })
	}
	return nil
}

// request asks for what is missing.
func (c *call) request() Request {
	g, first := c.generation, c.missing[0]
	r := Request{Model: g.Model, Prompt: g.Prompt, NegativePrompt: g.NegativePrompt,
		Width: first.Width, Height: first.Height, N: len(c.missing), User: g.UserID, Params: g.Params}
	if seed, ok := g.Params.Int("seed"); ok {
		r.Seed, r.HasSeed = seed+int64(first.Position), true
	}
	return r
}

// take records one output as soon as it is there, so that it is archived while
// the others are still being made.
func (c *call) take(ctx context.Context, o Output) error {
	if o.Index < 0 || o.Index >= len(c.missing) || c.missing[o.Index].Status != records.Generating {
		return fmt.Errorf("the provider %s gave image %d of %d", c.info.Name, o.Index, len(c.missing))
	}
	i := c.missing[o.Index]
	if o.RevisedPrompt != "" || o.Seed != 0 {
		i.Params = i.Params.With("revised_prompt", o.RevisedPrompt).With("seed", o.Seed)
	}
	switch {
	case o.Err != nil:
		c.fail(i, o.Err)
		return nil
	case o.Body != nil:
		return c.takeBytes(ctx, i, o)
	default:
		return c.takeLink(ctx, i, o)
	}
}

// panicked settles a job whose handler panicked.
func (r *Runner) panicked(ctx context.Context, job records.Job, err error) records.Settlement {
	c, s := r.begin(ctx, job)
	if c == nil {
		return s
	}
	if c.info.Repeatable && job.Attempt+1 < maxTries {
		return jobs.Backoff(r.DB.Now(), job, err)
	}
	return c.failed(&Error{Reason: ReasonUnknownOutcome, Detail: err.Error()})
}
