package records

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Delivery is one event on its way to one webhook.
type Delivery struct {
	ID         string `db:"id"` // the receiver sees it as webhook-id: the same in each attempt
	WebhookID  string `db:"webhook_id"`
	UserID     string `db:"user_id"`
	Event      string `db:"event"`
	Ref        string `db:"ref"`  // what it is about
	Body       string `db:"body"` // as it was first sent; empty: not yet
	State      string `db:"state"`
	Attempt    int    `db:"attempt"`
	Status     int    `db:"status"` // HTTP, of the last attempt; 0: no answer
	Error      string `db:"error"`
	CreatedAt  Time   `db:"created_at"`
	FinishedAt Time   `db:"finished_at"`
}

// The states of a delivery.
const (
	DeliveryWaiting   = "waiting"
	DeliveryDelivered = "delivered"
	DeliveryFailed    = "failed" // given up
)

const deliveryColumns = `id, webhook_id, user_id, event, ref, body, state, attempt, status, error, created_at, finished_at`

// deadHookAfter is for how long each delivery must have failed until a webhook
// is switched off.
const deadHookAfter = 3 * 24 * time.Hour

// Deliveries lists what was sent to a person's webhook, newest first.
func (db *DB) Deliveries(ctx context.Context, userID, webhookID, before string, limit int) ([]Delivery, error) {
	if _, err := db.Webhook(ctx, userID, webhookID); err != nil {
		return nil, err
	}
	query, args := `SELECT `+deliveryColumns+` FROM webhook_deliveries WHERE webhook_id = ? AND user_id = ?`, []any{webhookID, userID}
	if before != "" {
		query, args = query+` AND id < ?`, append(args, before)
	}
	var list []Delivery
	if err := db.all(ctx, &list, query+` ORDER BY id DESC LIMIT ?`, append(args, limit)...); err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	return list, nil
}

// DeliveryWork returns a delivery and its webhook for the worker that a job
// sent there.
func (db *DB) DeliveryWork(ctx context.Context, id string) (*Delivery, *Webhook, error) {
	var d Delivery
	if err := db.get(ctx, &d, `SELECT `+deliveryColumns+` FROM webhook_deliveries WHERE id = ?`, id); err != nil {
		return nil, nil, fmt.Errorf("read delivery %s: %w", id, err)
	}
	h, err := db.Webhook(ctx, d.UserID, d.WebhookID)
	return &d, h, err
}

// KeepBody keeps what is sent, so that each attempt sends the same, and
// returns it: an attempt before this one may have been faster.
func (db *DB) KeepBody(ctx context.Context, id, body string) (kept string, err error) {
	err = db.write(ctx, func(t *tx) error {
		if _, err := t.exec(`UPDATE webhook_deliveries SET body = ? WHERE id = ? AND body = ''`, validText(body), id); err != nil {
			return err
		}
		return t.get(&kept, `SELECT body FROM webhook_deliveries WHERE id = ?`, id)
	})
	if err != nil {
		return "", fmt.Errorf("keep the body of delivery %s: %w", id, err)
	}
	return kept, nil
}

// Delivered records that a receiver took a delivery: its webhook is alive.
func (db *DB) Delivered(ctx context.Context, d *Delivery, status int) error {
	err := db.write(ctx, func(t *tx) error {
		_, err := t.exec(`UPDATE webhook_deliveries SET state = 'delivered', attempt = attempt + 1, status = ?, error = '', finished_at = ?
			WHERE id = ? AND state <> 'delivered'`, status, t.now, d.ID)
		if err == nil {
			_, err = t.exec(`UPDATE webhooks SET delivered_at = ?, failing_since = NULL, reason = '' WHERE id = ? AND disabled_at IS NULL`,
				t.now, d.WebhookID)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("record delivery %s: %w", d.ID, err)
	}
	return nil
}

// Undelivered is an attempt that failed.
type Undelivered struct {
	Status int // HTTP; 0: no answer
	Error  string
	Last   bool // no attempt is left
	Gone   bool // the receiver wants no more of it
}

// NotDelivered records an attempt that failed. It switches the webhook off if
// nothing was delivered for three days, or the receiver says so, and reports
// whether it is off now.
func (db *DB) NotDelivered(ctx context.Context, d *Delivery, u Undelivered) (off bool, err error) {
	err = db.write(ctx, func(t *tx) error {
		off = false
		var failing Time
		err := t.get(&failing, `UPDATE webhooks SET failing_since = coalesce(failing_since, ?), reason = ? WHERE id = ?
			RETURNING failing_since`, t.now, validText(u.Error), d.WebhookID)
		if errors.Is(err, ErrNotFound) {
			return nil // deleted meanwhile, and its deliveries with it
		}
		if err != nil {
			return err
		}
		if off = u.Gone || t.now.Sub(failing.Time) >= deadHookAfter; off {
			if _, err := t.exec(`UPDATE webhooks SET disabled_at = coalesce(disabled_at, ?) WHERE id = ?`, t.now, d.WebhookID); err != nil {
				return err
			}
		}
		state, finished := DeliveryWaiting, Time{}
		if u.Last || off {
			state, finished = DeliveryFailed, t.now
		}
		_, err = t.exec(`UPDATE webhook_deliveries SET state = ?, attempt = attempt + 1, status = ?, error = ?, finished_at = ?
			WHERE id = ? AND state = 'waiting'`, state, u.Status, validText(u.Error), finished, d.ID)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("record a failed attempt of delivery %s: %w", d.ID, err)
	}
	return off, nil
}

// DropDelivery ends a delivery that is not made, since its webhook is off.
func (db *DB) DropDelivery(ctx context.Context, d *Delivery, why string) error {
	err := db.write(ctx, func(t *tx) error {
		_, err := t.exec(`UPDATE webhook_deliveries SET state = 'failed', error = ?, finished_at = ? WHERE id = ? AND state = 'waiting'`,
			why, t.now, d.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("end delivery %s: %w", d.ID, err)
	}
	return nil
}
