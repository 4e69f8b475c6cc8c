package generate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"afterimage/fetch"
	"afterimage/records"
	"afterimage/storage"
)

// take records one output as soon as it is there, so that it is archived while
// the others are still being made.
func (c *call) take(ctx context.Context, o Output) error {
	switch {
	case o.Progress > 0:
		c.progress(ctx, o.Progress)
		return nil
	case o.Partial:
		return c.showPartial(o)
	}
	if o.Index < 0 || o.Index >= len(c.asked) || c.asked[o.Index].Status != records.Generating {
		c.Log.Warn("a provider gave an image that was not asked for, or twice", "generation", c.generation.ID,
			"provider", c.info.Name, "index", o.Index, "asked", len(c.asked))
		return nil // the others are still welcome
	}
	i := c.asked[o.Index]
	i.Params = i.Params.With("revised_prompt", o.RevisedPrompt).With("seed", o.Seed)
	switch {
	case o.Err != nil:
		c.fail(i, o.Err)
		return nil
	case o.Body != nil:
		return c.takeBytes(ctx, i, o.Body)
	case len(o.URL) >= 5 && strings.EqualFold(o.URL[:5], "data:"):
		return c.takeDataURL(ctx, i, o.URL)
	case o.URL != "":
		return c.takeLink(ctx, i, o)
	}
	c.fail(i, &Error{Reason: ReasonProviderError, Detail: "the provider gave neither a link nor bytes"})
	return nil
}

// oversizeError ends a body that is larger than an image may be.
type oversizeError struct{ max int64 }

func (e oversizeError) Error() string {
	return fmt.Sprintf("the image is larger than %d bytes (IMAGE_ARCHIVE_MAX_BYTES)", e.max)
}

// boundedBody fails when there is more than it allows, so that nothing of it is
// kept.
type boundedBody struct {
	r         io.Reader
	left, max int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, oversizeError{b.max}
	}
	return n, err
}

// takeBytes secures an image that cannot be had a second time, before anybody
// is told that it is there.
func (c *call) takeBytes(ctx context.Context, i *records.Image, body io.Reader) error {
	kept, err := c.Spool.Write(i.ID, &boundedBody{r: body, left: c.MaxBytes, max: c.MaxBytes})
	if err != nil {
		return c.notSecured(ctx, i, err)
	}
	err = c.recordSpooled(ctx, i, kept)
	if errors.Is(err, records.ErrLeaseLost) || errors.Is(context.Cause(ctx), records.ErrLeaseLost) {
		c.dropUnwanted(context.WithoutCancel(ctx), i)
	}
	return err
}

// notSecured sorts why the bytes of an image are not in the spool. What can be
// made again ends the call; else only this image is lost.
func (c *call) notSecured(ctx context.Context, i *records.Image, err error) error {
	if tooLarge, ok := errors.AsType[oversizeError](err); ok {
		c.fail(i, &Error{Reason: ReasonProviderError, Detail: tooLarge.Error()})
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Reason != ReasonUnknownOutcome {
		c.fail(i, e) // the provider's own word on these bytes
		return nil
	}
	if c.info.Repeatable || ctx.Err() != nil {
		return err
	}
	c.fail(i, &Error{Reason: ReasonUnknownOutcome, Detail: "it was made, but could not be kept: " + err.Error(), Err: err})
	return nil
}

// dropUnwanted removes the bytes of an image that was called off meanwhile. If
// only the claim was lost, whoever has it now may need them.
func (c *call) dropUnwanted(ctx context.Context, i *records.Image) {
	now, err := c.DB.ImageByLink(ctx, i.ID)
	gone := errors.Is(err, records.ErrNotFound)
	if err != nil && !gone || !gone && now.Status != records.Canceled {
		return
	}
	if err := c.Spool.Remove(i.ID); err != nil {
		c.Log.Error("a file could not be removed from the spool", "image", i.ID, "err", err)
	}
}

// recordSpooled records an image whose bytes are in the spool, unless they are
// no image.
func (c *call) recordSpooled(ctx context.Context, i *records.Image, kept storage.Spooled) error {
	file, err := c.Spool.Open(i.ID)
	if err != nil {
		return err
	}
	defer file.Close()
	found, err := c.Fetch.Identify(file, kept.Size)
	if bad, ok := errors.AsType[*fetch.Error](err); ok {
		c.fail(i, &Error{Reason: ReasonProviderError, Detail: bad.Error()})
		return c.Spool.Remove(i.ID)
	}
	if err != nil {
		return &storage.Error{Reason: storage.ReasonError, Op: "read spool", Key: i.ID, Err: err}
	}
	i.SpoolID, i.MIME, i.Width, i.Height = c.Spool.ID(), found.MIME, found.Width, found.Height
	i.Bytes, i.SHA256 = kept.Size, fmt.Sprintf("%x", kept.SHA256)
	return c.record(ctx, i)
}

// takeDataURL secures an image that a link carries in itself: a row is no
// place for it.
func (c *call) takeDataURL(ctx context.Context, i *records.Image, link string) error {
	var body bytes.Buffer
	_, err := c.Fetch.Get(ctx, fetch.Source{URL: link}, &body)
	if bad, ok := errors.AsType[*fetch.Error](err); ok {
		c.fail(i, &Error{Reason: ReasonProviderError, Detail: bad.Error()})
		return nil
	}
	if err != nil {
		return err
	}
	return c.takeBytes(ctx, i, &body)
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

// recordTries is how often the database is asked to record an image, with
// growing pauses of three minutes in all. The provider waits meanwhile: the
// image is in nobody's hands but ours.
const recordTries = 10

func (c *call) record(ctx context.Context, i *records.Image) error {
	made := *i
	made.Status = records.Generated
	event := &records.Event{Kind: records.EventGenerated, StartedAt: c.generation.CreatedAt}
	err := c.insist(ctx, "an image could not be recorded", func() error {
		return c.DB.ImageMade(ctx, c.job.Fence(), records.ImageChange{Image: &made, Event: event})
	})
	if err != nil {
		return err
	}
	*i = made
	c.Log.Info("image made", "image", i.ID, "generation", c.generation.ID, "provider", c.info.Name)
	return nil
}

// insist tries a write again until the database takes it.
func (c *call) insist(ctx context.Context, what string, write func() error) error {
	for try := 1; ; try++ {
		err := write()
		if err == nil || errors.Is(err, records.ErrLeaseLost) || ctx.Err() != nil || try == recordTries {
			return err
		}
		c.Log.Error(what, "generation", c.generation.ID, "try", try, "err", err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(time.Second<<try, 30*time.Second)):
		}
	}
}

// fail ends one image without one.
func (c *call) fail(i *records.Image, e *Error) {
	if e.Reason == ReasonUnknownOutcome && slices.Contains(c.reopened, i) {
		i.Status, i.Reason = records.Unknown, e.Reason // as before: there is nothing to tell
		return
	}
	i.Status, i.Reason, i.ProviderMessage = records.GenerateFailed, e.Reason, e.Message
	kind := records.EventGenerateFailed
	if e.Reason == ReasonUnknownOutcome {
		i.Status, kind = records.Unknown, records.EventUnknown
	}
	c.settled = append(c.settled, records.ImageChange{Image: i, Event: &records.Event{Kind: kind, Reason: e.Reason, Detail: e.Error()}})
	c.Log.Warn("an image was not made", "image", i.ID, "generation", c.generation.ID, "provider", c.info.Name, "reason", e.Reason, "err", e)
}

// failMissing ends those of a list that have no end yet.
func (c *call) failMissing(list []*records.Image, e *Error) {
	for _, i := range list {
		if i.Status == records.Generating {
			c.fail(i, e)
		}
	}
}
