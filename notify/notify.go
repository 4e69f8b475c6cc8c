// Package notify owns what is told to people who are not looking: webhooks,
// signed as the Standard Webhooks specification says, the daily digest, the end
// of an import and the usage of each day. It knows no routes and no pages: what
// an event says is described by whoever answers programs about it.
package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"afterimage/jobs"
	"afterimage/records"
)

// Config is what a Notifier needs.
type Config struct {
	DB     *records.DB
	Client *http.Client // guarded, and follows no redirect
	// Describe gives what an event says: the data of its message, in the
	// person's language. ErrNotFound: what it is about is gone.
	Describe  func(ctx context.Context, userID, event, ref string) (any, error)
	Retention time.Duration // of the trash, for the digest; 0: for ever
	Log       *slog.Logger
}

// Notifier does the jobs that tell people. Use New.
type Notifier struct{ Config }

// New makes a Notifier.
func New(c Config) *Notifier { return &Notifier{c} }

const (
	// Attempts is how often a delivery is tried: with Backoff over three days,
	// after which a webhook that takes nothing is switched off.
	Attempts = 20
	// Timeout is how long a receiver may take.
	Timeout = 15 * time.Second
)

// Backoff is the pause before the next attempt of a delivery.
var Backoff = jobs.Doubling(30*time.Second, 8*time.Hour)

// message is what a receiver gets.
type message struct {
	Type      string       `json:"type"`
	Timestamp records.Time `json:"timestamp"` // of the event
	Data      any          `json:"data"`
}

// Deliver does one delivery.
func (n *Notifier) Deliver(ctx context.Context, job records.Job) error {
	d, h, err := n.DB.DeliveryWork(ctx, *job.Ref)
	switch {
	case errors.Is(err, records.ErrNotFound):
		return nil // the webhook was deleted
	case err != nil:
		return err
	case d.State == records.DeliveryDelivered:
		return nil
	case !h.DisabledAt.IsZero():
		return n.DB.DropDelivery(ctx, d, "the webhook is switched off")
	}
	if d.Body == "" {
		if d.Body, err = n.describe(ctx, d); err != nil {
			return err
		}
	}
	status, err := n.post(ctx, h, d)
	if err == nil {
		return n.DB.Delivered(ctx, d, status)
	}
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), jobs.ErrStopping) {
		return err // nobody's failure
	}
	return n.failed(ctx, job, d, status, err)
}

// failed records an attempt that failed and says when the next one is.
func (n *Notifier) failed(ctx context.Context, job records.Job, d *records.Delivery, status int, err error) error {
	u := records.Undelivered{Status: status, Error: err.Error(), Last: job.Attempt >= Attempts-1, Gone: status == http.StatusGone}
	off, dbErr := n.DB.NotDelivered(context.WithoutCancel(ctx), d, u)
	if dbErr != nil {
		return errors.Join(err, dbErr)
	}
	if off {
		n.Log.Warn("a webhook was switched off: nothing could be delivered for three days, or its receiver is gone",
			"webhook", d.WebhookID, "user", d.UserID, "status", status)
		return nil
	}
	if a, ok := errors.AsType[*answerError](err); ok && a.after > Backoff(job.Attempt) {
		return jobs.RetryAfter(a.after, err)
	}
	return err
}

// describe makes the message, the same for every attempt.
func (n *Notifier) describe(ctx context.Context, d *records.Delivery) (string, error) {
	data, err := n.Describe(ctx, d.UserID, d.Event, d.Ref)
	if errors.Is(err, records.ErrNotFound) {
		data, err = map[string]string{"id": d.Ref, "status": "deleted"}, nil
	}
	if err != nil {
		return "", fmt.Errorf("describe %s: %w", d.Event, err)
	}
	body, err := json.Marshal(message{d.Event, d.CreatedAt, data})
	if err != nil {
		return "", fmt.Errorf("describe %s: %w", d.Event, err)
	}
	return n.DB.KeepBody(ctx, d.ID, string(body))
}

// FinishImport tells of an import whose last item is done.
func (n *Notifier) FinishImport(ctx context.Context, job records.Job) error {
	done, err := n.DB.FinishImport(ctx, job.UserID, *job.Ref)
	if errors.Is(err, records.ErrNotFound) {
		return nil // its person is gone
	}
	if done {
		n.Log.Info("an import is done", "import", *job.Ref, "user", job.UserID)
	}
	return err
}

// RollUpUsage counts what was made and kept on the days that are over.
func (n *Notifier) RollUpUsage(ctx context.Context, _ records.Job) error {
	_, err := n.DB.RollUpUsage(ctx)
	return err
}
