package generate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"afterimage/records"
)

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
	reopened   []*records.Image      // whose outcome was unknown before
	told       time.Time             // when progress was written last
}

// current is the call that was begun last.
func (c *call) current() *records.Call {
	if n := len(c.generation.Calls); n > 0 {
		return &c.generation.Calls[n-1]
	}
	return nil
}

// bought reports that the provider may have been paid for something that is
// missing.
func (c *call) bought() bool {
	if c.info.Repeatable {
		return false
	}
	if len(c.generation.Calls) == 0 {
		return !c.generation.SubmittedAt.IsZero()
	}
	return slices.ContainsFunc(c.generation.Calls, func(one records.Call) bool { return !one.Done })
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
	req, err := c.request()
	if err != nil {
		return err
	}
	one := records.Call{ID: req.ID, At: c.DB.Now()}
	for _, i := range c.asked {
		one.Positions = append(one.Positions, i.Position)
	}
	calls := append(slices.Clone(c.generation.Calls), one)
	if err := c.DB.BeginCall(ctx, c.job.Fence(), c.generation.ID, calls); err != nil {
		return err
	}
	c.generation.Calls, c.generation.SubmittedAt = calls, one.At
	callCtx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	task, err := c.provider.Generate(callCtx, req, func(o Output) error { return c.take(ctx, o) })
	c.gates[c.info.Name].told(err)
	if err != nil {
		return err
	}
	if task != "" {
		return c.accepted(ctx, task)
	}
	c.current().Done = true
	c.failMissing(c.asked, &Error{Reason: ReasonProviderError, Detail: "the provider gave fewer images than asked for"})
	return nil
}

func (c *call) timeout() time.Duration { return cmp.Or(c.info.Timeout, c.Timeout) }

// isolate ends the images of one call among several, when the others may still
// succeed. It reports whether it did.
func (c *call) isolate(ctx context.Context, err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Retryable || ctx.Err() != nil {
		return false
	}
	switch e.Reason {
	case ReasonProviderError, ReasonUnknownOutcome, ReasonTimeout:
	default:
		return false // the next one would meet it as well
	}
	asked := 0
	for _, i := range c.asked {
		if i.Status == records.Generating {
			asked++
		}
	}
	if len(c.missing()) == asked {
		return false
	}
	c.failMissing(c.asked, e)
	if !c.openTask() {
		c.current().Done = true
	}
	return true
}

// request asks for what the call is about.
func (c *call) request() (Request, error) {
	g, first := c.generation, c.asked[0]
	r := Request{ID: records.NewID(), Model: g.Model, Prompt: g.Prompt, NegativePrompt: g.NegativePrompt,
		Width: first.Width, Height: first.Height, N: len(c.asked), User: g.UserID, Params: g.Params}
	if seed, ok := g.Params.Int("seed"); ok {
		r.Seed, r.HasSeed = seed+int64(first.Position), true
	}
	if user, ok := g.Params["user"].(string); ok { // as a program names its own people
		r.User = user
	}
	if n, ok := g.Params.Int("partial_images"); ok {
		r.Partials = int(n)
	}
	return r, c.addInputs(&r)
}
