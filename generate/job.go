package generate

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
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
	watchers  watchers
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
	provider   Provider // nil: not set up (any more)
	info       Info
	generation *records.Generation
	images     []records.Image       // all of the generation
	asked      []*records.Image      // by the index of the provider's output
	settled    []records.ImageChange // images that failed alone
}

// run does one generate job.
func (r *Runner) run(ctx context.Context, job records.Job) records.Settlement {
	c, s := r.begin(ctx, job)
	if c == nil {
		return s
	}
	if err := c.recover(ctx); err != nil {
		return c.ended(ctx, err)
	}
	switch {
	case len(c.missing()) == 0:
		return c.done()
	case c.bought():
		return c.failed(&Error{Reason: ReasonUnknownOutcome, Detail: "the process ended during the call"})
	case c.provider == nil:
		return c.failed(&Error{Reason: ReasonModelMissing, Detail: "the provider " + c.generation.Provider + " is not set up (any more)"})
	}
	if err := c.ready(); err != nil {
		return c.ended(ctx, err)
	}
	for c.asked = c.next(); len(c.asked) > 0; c.asked = c.next() {
		if err := c.ask(ctx); err != nil {
			return c.ended(ctx, err)
		}
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
	case ctx.Err() != nil:
		return nil, records.Settlement{Verdict: records.Release}
	case err != nil:
		r.Log.Error("a generation could not be read", "job", job.ID, "generation", *job.Ref, "err", err)
		return nil, records.Settlement{Verdict: records.Defer, RunAt: r.DB.Now().Add(retryOurs), Error: "the database did not answer"}
	case g.Status != records.GenerationGenerating:
		return nil, records.Settlement{Verdict: records.Complete} // its state has moved on
	}
	c := &call{Runner: r, job: job, generation: g, images: images, provider: r.providers[g.Provider]}
	if c.provider != nil {
		c.info = c.provider.Info()
	}
	return c, records.Settlement{}
}

// missing are the images that are neither made nor given up.
func (c *call) missing() (list []*records.Image) {
	for n := range c.images {
		if i := &c.images[n]; i.Status == records.Generating {
			list = append(list, i)
		}
	}
	return list
}

// bought reports that the provider may have been paid for what is missing.
func (c *call) bought() bool {
	return !c.generation.SubmittedAt.IsZero() && !c.info.Repeatable
}

// recover takes up images whose bytes were secured before something kept us
// from recording it.
func (c *call) recover(ctx context.Context) error {
	for _, i := range c.missing() {
		if !c.Spool.Has(i.ID) {
			continue
		}
		kept, err := c.Spool.Stat(i.ID)
		if err != nil {
			return err
		}
		if err := c.recordSpooled(ctx, i, kept); err != nil {
			return err
		}
	}
	return nil
}

// ready makes sure that images can be kept before any is bought.
func (c *call) ready() error {
	draft, err := c.Spool.Create(c.generation.ID)
	if err != nil {
		return err
	}
	return draft.Close()
}

// next is what to ask for in one call: all that is missing, or, where each has
// a seed of its own, those whose seeds follow one another.
func (c *call) next() []*records.Image {
	list := c.missing()
	model, _ := c.info.Model(c.generation.Model)
	if most := cmp.Or(model.PerCall, model.MaxN); most > 0 {
		list = list[:min(most, len(list))]
	}
	if _, seeded := c.generation.Params.Int("seed"); !seeded {
		return list
	}
	for n := 1; n < len(list); n++ {
		if list[n].Position != list[n-1].Position+1 {
			return list[:n]
		}
	}
	return list
}

// ask makes one call, after which none of what it asked for is missing.
func (c *call) ask(ctx context.Context) error {
	if err := c.DB.BeginCall(ctx, c.job.Fence(), c.generation.ID, c.generation.Calls); err != nil {
		return err
	}
	c.generation.SubmittedAt = c.DB.Now()
	callCtx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	_, err := c.provider.Generate(callCtx, c.request(), func(o Output) error { return c.take(ctx, o) })
	if err != nil {
		return err
	}
	c.failMissing(c.asked, &Error{Reason: ReasonProviderError, Detail: "the provider gave fewer images than asked for"})
	return nil
}

// request asks for what the call is about.
func (c *call) request() Request {
	g, first := c.generation, c.asked[0]
	r := Request{Model: g.Model, Prompt: g.Prompt, NegativePrompt: g.NegativePrompt,
		Width: first.Width, Height: first.Height, N: len(c.asked), User: g.UserID, Params: g.Params}
	if seed, ok := g.Params.Int("seed"); ok {
		r.Seed, r.HasSeed = seed+int64(first.Position), true
	}
	return r
}

// panicked settles a job whose handler panicked.
func (r *Runner) panicked(ctx context.Context, job records.Job, err error) records.Settlement {
	c, s := r.begin(ctx, job)
	if c == nil {
		return s
	}
	if err := c.recover(ctx); err != nil {
		return c.ended(ctx, err)
	}
	e := &Error{Reason: ReasonProviderError, Detail: err.Error()}
	switch {
	case len(c.missing()) == 0:
		return c.done()
	case c.bought():
		e.Reason = ReasonUnknownOutcome
	case job.Attempt+1 < maxTries:
		s := jobs.Backoff(r.DB.Now(), job, err)
		s.Images = c.settled
		return s
	}
	return c.failed(e)
}
