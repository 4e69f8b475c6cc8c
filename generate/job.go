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
	Store     storage.Store // holds the images that people start from
	Slots     int           // of a provider that does not say how many, default 4
	Timeout   time.Duration // of one that does not say how long a call may take, default 15 min
	MaxBytes  int64         // of one image, default 64 MiB
	Log       *slog.Logger
}

// Runner makes the images that were asked for.
type Runner struct {
	Config
	providers map[string]Provider
	gates     map[string]*gate
	watchers  watchers
}

// New makes a Runner.
func New(c Config) *Runner {
	c.Slots = cmp.Or(c.Slots, 4)
	c.Timeout = cmp.Or(c.Timeout, 15*time.Minute)
	c.MaxBytes = cmp.Or(c.MaxBytes, 64<<20)
	r := &Runner{Config: c, providers: map[string]Provider{}, gates: map[string]*gate{}}
	for _, p := range c.Providers {
		info := p.Info()
		r.providers[info.Name] = p
		r.gates[info.Name] = &gate{slots: cmp.Or(info.Slots, c.Slots)}
	}
	return r
}

// Kinds are the kinds of job that this package does: one, with a pool for each
// provider, so that one that hangs or is throttled does not slow the others
// down, and a pool for the jobs of providers that are no longer set up.
func (r *Runner) Kinds() []jobs.Kind {
	kind := jobs.Kind{Name: records.KindGenerate, Cancels: true, Run: r.run, Failed: r.panicked}
	kind.Pool, kind.Slots = records.PoolRest, 1
	kinds := []jobs.Kind{kind}
	for name, g := range r.gates {
		kind.Pool, kind.Slots, kind.Limit = name, g.slots, g.limit
		kinds = append(kinds, kind)
	}
	return kinds
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
	if err := c.resume(ctx); err != nil {
		return c.ended(ctx, err)
	}
	switch {
	case len(c.missing()) == 0:
		return c.done()
	case c.provider == nil:
		return c.failed(&Error{Reason: ReasonModelMissing, Detail: "the provider " + c.generation.Provider + " is not set up (any more)"})
	}
	if err := c.ready(); err != nil {
		return c.ended(ctx, err)
	}
	for c.asked = c.next(); len(c.asked) > 0; c.asked = c.next() {
		if err := c.ask(ctx); err != nil && !c.isolate(ctx, err) {
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
	}
	c := &call{Runner: r, job: job, generation: g, images: images, provider: r.providers[g.Provider]}
	if c.provider != nil {
		c.info = c.provider.Info()
	}
	switch {
	case g.Status == records.GenerationGenerating:
		return c, records.Settlement{}
	case g.Status != records.GenerationCanceled && c.takeUpUnknown():
		return c, records.Settlement{}
	case g.Status != records.GenerationUnknown:
		c.cancelTasks(ctx, g.Calls)
	}
	return nil, records.Settlement{Verdict: records.Complete} // its state has moved on
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
	case c.openTask() && job.Attempt+1 < maxTries:
		return jobs.Backoff(r.DB.Now(), job, err)
	case c.bought():
		e.Reason = ReasonUnknownOutcome
	case job.Attempt+1 < maxTries:
		s := jobs.Backoff(r.DB.Now(), job, err)
		s.Images = c.settled
		return s
	}
	return c.failed(e)
}
