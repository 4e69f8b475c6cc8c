package generate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"afterimage/fetch"
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

// takeBytes secures an image that cannot be had a second time, before anybody
// is told that it is there.
func (c *call) takeBytes(ctx context.Context, i *records.Image, o Output) error {
	body := &io.LimitedReader{R: o.Body, N: c.MaxBytes + 1}
	if _, err := c.Spool.Write(i.ID, body); err != nil {
		return err
	}
	if body.N == 0 {
		c.fail(i, &Error{Reason: ReasonProviderError,
			Detail: fmt.Sprintf("the image is larger than %d bytes (IMAGE_ARCHIVE_MAX_BYTES)", c.MaxBytes)})
		return c.Spool.Remove(i.ID)
	}
	return c.recordSpooled(ctx, i)
}

// recordSpooled records an image whose bytes are in the spool, unless they are
// no image.
func (c *call) recordSpooled(ctx context.Context, i *records.Image) error {
	file, err := c.Spool.Open(i.ID)
	if err != nil {
		return err
	}
	defer file.Close()
	kept, err := c.Spool.Stat(i.ID)
	if err != nil {
		return err
	}
	found, err := c.Fetch.Identify(file, kept.Size)
	if bad, ok := errors.AsType[*fetch.Error](err); ok {
		c.fail(i, &Error{Reason: ReasonProviderError, Detail: bad.Error()})
		return c.Spool.Remove(i.ID)
	}
	if err != nil {
		return err
	}
	i.SpoolID, i.MIME, i.Width, i.Height = c.Spool.ID(), found.MIME, found.Width, found.Height
	i.Bytes, i.SHA256 = kept.Size, fmt.Sprintf("%x", kept.SHA256)
	return c.record(ctx, i)
}

// takeLink records where the image can be fetched, and until when.
func (c *call) takeLink(ctx context.Context, i *records.Image, o Output) error {
	expires := o.Expires
	if at, ok := fetch.Expiry(o.URL); ok && (expires.IsZero() || at.Before(expires)) {
		expires = at
	}
	if expires.IsZero() && c.info.TTL > 0 {
		expires = c.DB.Now().Add(c.info.TTL).Time
	}
	i.SourceURL, i.SourceExpiresAt = o.URL, records.At(expires)
	return c.record(ctx, i)
}

func (c *call) record(ctx context.Context, i *records.Image) error {
	i.Status = records.Generated
	event := &records.Event{Kind: records.EventGenerated, StartedAt: c.generation.CreatedAt}
	if err := c.DB.ImageMade(ctx, c.job.Fence(), records.ImageChange{Image: i, Event: event}); err != nil {
		i.Status = records.Generating
		return err
	}
	c.made++
	c.Log.Info("image made", "image", i.ID, "generation", c.generation.ID, "provider", c.info.Name)
	return nil
}

// fail ends one image without one.
func (c *call) fail(i *records.Image, e *Error) {
	i.Status, i.Reason, i.ProviderMessage = records.GenerateFailed, e.Reason, e.Message
	kind := records.EventGenerateFailed
	if e.Reason == ReasonUnknownOutcome {
		i.Status, kind = records.Unknown, records.EventUnknown
	}
	c.settled = append(c.settled, records.ImageChange{Image: i, Event: &records.Event{Kind: kind, Reason: e.Reason, Detail: e.Error()}})
	c.Log.Warn("an image was not made", "image", i.ID, "generation", c.generation.ID, "provider", c.info.Name, "reason", e.Reason, "err", e)
}

// ended sorts the error that ended the call.
func (c *call) ended(ctx context.Context, err error) records.Settlement {
	if errors.Is(err, records.ErrLeaseLost) {
		return records.Settlement{Verdict: records.Release} // called off or taken over: it changes nothing
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return c.refused(e)
	}
	paid := !c.info.Repeatable && !c.generation.SubmittedAt.IsZero()
	if ctx.Err() != nil && !paid {
		return c.settle(records.Release, c.generation)
	}
	if _, ok := errors.AsType[*storage.Error](err); ok && !paid { // our disk: wait
		s := c.settle(records.Defer, c.generation)
		s.RunAt, s.Error = c.DB.Now().Add(retryOurs), err.Error()
		return s
	}
	return c.failed(&Error{Reason: ReasonUnknownOutcome, Detail: "the call was cut off", Err: err})
}

// refused follows what the provider said: again later, or not at all.
func (c *call) refused(e *Error) records.Settlement {
	if !e.Retryable || c.job.Attempt+1 >= maxTries {
		return c.failed(e)
	}
	c.generation.SubmittedAt = records.Time{} // nothing was bought
	s := c.settle(records.Retry, c.generation)
	s.RunAt = c.DB.Now().Add(max(e.RetryAfter, firstWait<<c.job.Attempt))
	s.Error = e.Error()
	c.Log.Warn("a provider asked to wait", "generation", c.generation.ID, "provider", c.info.Name, "reason", e.Reason, "next", s.RunAt.Format(time.RFC3339))
	return s
}

// failed ends all images that are not there yet.
func (c *call) failed(e *Error) records.Settlement {
	for _, i := range c.missing {
		if i.Status == records.Generating {
			c.fail(i, e)
		}
	}
	g := c.generation
	g.Reason, g.ProviderMessage = e.Reason, e.Message
	return c.done()
}

// done ends the generation: every image has its own state.
func (c *call) done() records.Settlement {
	for _, i := range c.missing { // promised, and not given
		if i.Status == records.Generating {
			c.fail(i, &Error{Reason: ReasonProviderError, Detail: "the provider gave fewer images than asked for"})
		}
	}
	g := c.generation
	g.FinishedAt = c.DB.Now()
	switch {
	case c.made > 0:
		g.Status, g.Reason, g.ProviderMessage = records.GenerationSucceeded, "", ""
	default:
		g.Status = records.GenerationFailed
		for _, change := range c.settled {
			g.Reason = change.Image.Reason
			if change.Image.Status == records.Unknown {
				g.Status = records.GenerationUnknown
			}
		}
	}
	return c.settle(records.Complete, g)
}

func (c *call) settle(v records.Verdict, g *records.Generation) records.Settlement {
	return records.Settlement{Verdict: v, Generation: g, Images: c.settled}
}
