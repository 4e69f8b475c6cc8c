package generate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"afterimage/fetch"
	"afterimage/records"
)

// Resolve asks the provider of an image once more for its link, without buying
// the image again: the link that is known is dead. An empty url means that
// there is no other. expires is when the new link dies; zero: nobody says. An
// error means that the provider could not be asked just now; it holds no
// secrets.
func (r *Runner) Resolve(ctx context.Context, i *records.Image) (url string, expires time.Time, err error) {
	p, ok := r.providers[i.Provider].(Tasker)
	if !ok || i.GenerationID == nil {
		return "", expires, nil
	}
	g, _, err := r.DB.Generation(ctx, i.UserID, *i.GenerationID)
	if err != nil {
		return "", expires, fmt.Errorf("read what was asked of the provider: %w", err)
	}
	one, ok := g.Calls.Of(i.Position)
	info := p.Info()
	task := Task(one.Task)
	if task == "" && info.NamesTasks {
		task = Task(one.ID)
	}
	if !ok || task == "" {
		return "", expires, nil
	}
	var found Output
	_, err = p.Poll(ctx, task, func(o Output) error {
		if o.Index >= 0 && o.Index < len(one.Positions) && one.Positions[o.Index] == i.Position {
			found = o
		}
		return nil
	})
	if e, said := errors.AsType[*Error](err); said && !e.Retryable {
		return "", expires, nil // the provider no longer has it
	}
	if err != nil || found.URL == "" || strings.HasPrefix(found.URL, "data:") {
		return "", expires, err
	}
	expires = found.Expires
	if _, says := fetch.Expiry(found.URL); !says && expires.IsZero() && info.TTL > 0 {
		expires = r.DB.Now().Add(info.TTL).Time
	}
	return found.URL, expires, nil
}
