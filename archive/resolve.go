package archive

import (
	"context"
	"errors"
	"time"

	"afterimage/fetch"
	"afterimage/records"
)

// Resolve asks whoever made an image for its link once more, without having it
// made again: the link that is known is dead. An empty url means that there is
// no other. expires is when the new link dies; zero: the link itself may say.
// An error means that the provider could not be asked just now; its text is
// shown to operators, so it holds no secrets.
type Resolve func(ctx context.Context, i *records.Image) (url string, expires time.Time, err error)

// askTime bounds the asking for another link.
const askTime = time.Minute

// fromSource gets the bytes from the source. If its link is dead, that is final
// only when the provider was asked again, once.
func (t *task) fromSource(ctx context.Context) (bytes, error) {
	b, err := t.download(ctx)
	dead := t.deadLink(err)
	if dead == nil {
		return b, err
	}
	if err := t.askAgain(ctx, dead); err != nil {
		return nil, err
	}
	return t.download(ctx)
}

// deadLink gives the failure for which another link may help: this one gives
// nothing any more, or gives something else since its time is over. It is nil
// where nobody can be asked.
func (t *task) deadLink(err error) *fetch.Error {
	e, ok := errors.AsType[*fetch.Error](err)
	if !ok || !e.Final || t.Resolve == nil || t.image.ImportID != nil {
		return nil
	}
	expires := t.image.SourceExpiresAt
	over := !expires.IsZero() && t.DB.Now().After(expires.Time)
	if e.Reason == fetch.Expired || e.Reason == fetch.Missing || e.Reason == fetch.NotImage && over {
		return e
	}
	return nil
}

// askAgain gets the image another link. Without one it gives the failure of the
// dead link: final if there is no other, passing if nobody answered.
func (t *task) askAgain(ctx context.Context, dead *fetch.Error) error {
	asking, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	url, expires, err := t.Resolve(asking, t.image)
	e := *dead
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		e.Final = false
		e.Detail += "; asked for another link: " + err.Error()
		return &e
	case url == "" || url == t.image.SourceURL:
		e.Detail += "; asked for another link: there is none"
		return &e
	}
	if at, ok := fetch.Expiry(url); ok && (expires.IsZero() || at.Before(expires)) {
		expires = at
	}
	t.image.SourceURL, t.image.SourceExpiresAt = url, records.At(expires)
	t.log().Info("a dead link was replaced by another of its provider", "reason", e.Reason)
	return nil
}
