package generate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"afterimage/records"
	"afterimage/storage"
)

const (
	// maxTries is how often a call is made that certainly had no outcome.
	maxTries = 5
	// firstWait is before the second try; it doubles with each.
	firstWait = 5 * time.Second
	// retryOurs is the pause after our own database or disk failed.
	retryOurs = 5 * time.Second
)

// ended sorts the error that ended the call.
func (c *call) ended(ctx context.Context, err error) records.Settlement {
	e, said := errors.AsType[*Error](err)
	_, disk := errors.AsType[*storage.Error](err)
	stopped := ctx.Err() != nil
	switch {
	case errors.Is(err, records.ErrLeaseLost) || errors.Is(context.Cause(ctx), records.ErrLeaseLost):
		c.calledOff(ctx)
		return records.Settlement{Verdict: records.Release} // called off or taken over: it changes nothing
	case stopped && (!c.bought() || c.openTask()):
		return c.settle(records.Release) // a task goes on, and the next run with it
	case said && e.Retryable && stopped:
		c.unsay()
		return c.settle(records.Release)
	case said && (e.Retryable || e.Reason == ReasonUnknownOutcome && c.info.Repeatable):
		return c.later(e)
	case said:
		return c.failed(e)
	case c.openTask():
		return c.ours(err)
	case c.bought() && !c.secured():
		return c.failed(&Error{Reason: ReasonUnknownOutcome, Detail: "the call was cut off", Err: err})
	case stopped:
		return c.settle(records.Release) // what is secured is recorded by the next run
	case errors.Is(err, context.DeadlineExceeded) && !disk:
		return c.failed(&Error{Reason: ReasonTimeout, Detail: "no answer within " + c.timeout().String(), Err: err})
	}
	return c.ours(err)
}

// ours waits for our database or our disk: a provider's own failures are
// *Error.
func (c *call) ours(err error) records.Settlement {
	s := c.settle(records.Defer)
	s.RunAt, s.Error = c.DB.Now().Add(retryOurs), err.Error()
	return s
}

// unsay forgets a call of which the provider said that nothing was made.
func (c *call) unsay() {
	calls := c.generation.Calls
	if n := len(calls); n > 0 && !calls[n-1].Done {
		c.generation.Calls = calls[:n-1]
	}
	if !slices.ContainsFunc(c.generation.Calls, func(one records.Call) bool { return !one.Done }) {
		c.generation.SubmittedAt = records.Time{}
	}
}

// secured reports that bytes are in the spool that no row knows of yet.
func (c *call) secured() bool {
	for _, i := range c.missing() {
		if c.Spool.Has(i.ID) {
			return true
		}
	}
	return false
}

// patience is how long a generation waits for a provider that says each time
// when to come back.
const patience = time.Hour

// later makes the call again after a while, if it has tries left. Who comes
// back when he was told to has not used up one.
func (c *call) later(e *Error) records.Settlement {
	verdict := records.Retry
	if e.RetryAfter > 0 && c.DB.Now().Before(c.generation.CreatedAt.Add(patience).Time) {
		verdict = records.Defer
	} else if c.job.Attempt+1 >= maxTries {
		return c.failed(e)
	}
	if e.Retryable {
		c.unsay()
	}
	s := c.settle(verdict)
	s.RunAt = c.DB.Now().Add(max(cmp.Or(e.RetryAfter, firstWait<<c.job.Attempt), c.gates[c.info.Name].left()))
	s.Error = e.Error()
	c.Log.Warn("images are asked for again later", "generation", c.generation.ID, "provider", c.generation.Provider,
		"reason", e.Reason, "err", e, "next", s.RunAt.Format(time.RFC3339))
	return s
}

// failed ends all images that are not there yet.
func (c *call) failed(e *Error) records.Settlement {
	c.failMissing(c.missing(), e)
	c.generation.ProviderMessage = e.Message
	if one := c.current(); one != nil && c.task(*one) == "" {
		one.Done = true
	}
	return c.done()
}

// done ends the generation: every image has its own state. Where an outcome is
// unknown and the provider can be asked, somebody looks again later.
func (c *call) done() records.Settlement {
	c.dropInputs()
	c.sumUp()
	unknown := slices.ContainsFunc(c.images, func(i records.Image) bool { return i.Status == records.Unknown })
	if unknown && c.askable() {
		s := c.settle(records.Defer)
		s.RunAt, s.Error = c.DB.Now().Add(askUnknownAgain), "the outcome is unknown"
		return s
	}
	return c.settle(records.Complete)
}

// sumUp is what the images' states mean for the generation.
func (c *call) sumUp() {
	g := c.generation
	g.FinishedAt, g.Status, g.Reason = c.DB.Now(), records.GenerationFailed, ""
	for n := range c.images {
		switch i := &c.images[n]; i.Status {
		case records.GenerateFailed, records.Canceled:
			if g.Status == records.GenerationFailed {
				g.Reason = i.Reason
			}
		case records.Unknown:
			g.Status, g.Reason = records.GenerationUnknown, i.Reason
		default: // made, whatever became of it
			g.Status, g.Reason, g.ProviderMessage = records.GenerationSucceeded, "", ""
			return
		}
	}
}

func (c *call) settle(v records.Verdict) records.Settlement {
	s := records.Settlement{Verdict: v, Generation: c.generation, Images: c.settled}
	if v != records.Complete && c.secured() {
		s.SpoolID = c.Spool.ID() // only who has the bytes can go on
	}
	return s
}
