package generate

import (
	"context"
	"errors"
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
	case errors.Is(err, records.ErrLeaseLost):
		return records.Settlement{Verdict: records.Release} // called off or taken over: it changes nothing
	case stopped && !c.bought():
		return c.settle(records.Release)
	case said && e.Retryable && stopped:
		c.generation.SubmittedAt = records.Time{} // nothing was bought
		return c.settle(records.Release)
	case said && (e.Retryable || e.Reason == ReasonUnknownOutcome && c.info.Repeatable):
		return c.later(e)
	case said:
		return c.failed(e)
	case c.bought() && !c.secured():
		return c.failed(&Error{Reason: ReasonUnknownOutcome, Detail: "the call was cut off", Err: err})
	case stopped:
		return c.settle(records.Release) // what is secured is recorded by the next run
	case errors.Is(err, context.DeadlineExceeded) && !disk:
		return c.failed(&Error{Reason: ReasonTimeout, Detail: "no answer within " + c.Timeout.String(), Err: err})
	}
	// A provider's own failures are *Error: this is our database or our disk.
	s := c.settle(records.Defer)
	s.RunAt, s.Error = c.DB.Now().Add(retryOurs), err.Error()
	return s
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

// later makes the call again after a while, if it has tries left.
func (c *call) later(e *Error) records.Settlement {
	if c.job.Attempt+1 >= maxTries {
		return c.failed(e)
	}
	if e.Retryable {
		c.generation.SubmittedAt = records.Time{} // nothing was bought
	}
	s := c.settle(records.Retry)
	s.RunAt = c.DB.Now().Add(max(e.RetryAfter, firstWait<<c.job.Attempt))
	s.Error = e.Error()
	c.Log.Warn("images are asked for again later", "generation", c.generation.ID, "provider", c.generation.Provider,
		"reason", e.Reason, "err", e, "next", s.RunAt.Format(time.RFC3339))
	return s
}

// failed ends all images that are not there yet.
func (c *call) failed(e *Error) records.Settlement {
	c.failMissing(c.missing(), e)
	c.generation.ProviderMessage = e.Message
	return c.done()
}

// done ends the generation: every image has its own state.
func (c *call) done() records.Settlement {
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
			return c.settle(records.Complete)
		}
	}
	return c.settle(records.Complete)
}

func (c *call) settle(v records.Verdict) records.Settlement {
	s := records.Settlement{Verdict: v, Generation: c.generation, Images: c.settled}
	if v != records.Complete && c.secured() {
		s.SpoolID = c.Spool.ID() // only who has the bytes can go on
	}
	return s
}
