package records

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Webhook is an address that a person wants to be told at.
type Webhook struct {
	ID           string `db:"id"`
	UserID       string `db:"user_id"`
	URL          string `db:"url"`
	Events       string `db:"events"` // a space around each
	Secret       string `db:"secret"`
	OldSecret    string `db:"old_secret"` // signs as well until OldUntil
	OldUntil     Time   `db:"old_until"`
	CreatedAt    Time   `db:"created_at"`
	DeliveredAt  Time   `db:"delivered_at"`
	FailingSince Time   `db:"failing_since"`
	DisabledAt   Time   `db:"disabled_at"`
	Reason       string `db:"reason"` // of the last failure
}

const webhookColumns = `id, user_id, url, events, secret, old_secret, old_until, created_at, delivered_at, failing_since, disabled_at, reason`

// MaxWebhooks is how many a person may have.
const MaxWebhooks = 20

// Errors of webhooks, each a sentence for people.
var (
	ErrBadHookEvent    = errors.New("choose at least one event, each of those that there are")
	ErrTooManyWebhooks = fmt.Errorf("a person has at most %d webhooks", MaxWebhooks)
)

// oldSecretLife is how long the secret before the present one signs as well,
// so that a receiver can change over.
const oldSecretLife = 24 * time.Hour

// newHookSecret has the form of the Standard Webhooks: 256 random bits.
func newHookSecret() string {
	var b [32]byte
	rand.Read(b[:]) // never fails, by its documentation
	return "whsec_" + base64.StdEncoding.EncodeToString(b[:])
}

// CreateWebhook adds a webhook; its Secret is in no later answer. The address
// must have been checked.
func (db *DB) CreateWebhook(ctx context.Context, userID, url string, events []string) (*Webhook, error) {
	events = slices.Compact(slices.Sorted(slices.Values(events)))
	if len(events) == 0 || slices.ContainsFunc(events, func(e string) bool { return !slices.Contains(HookEvents, e) }) {
		return nil, ErrBadHookEvent
	}
	h := &Webhook{ID: NewID(), UserID: userID, URL: url, Events: " " + strings.Join(events, " ") + " ", Secret: newHookSecret()}
	err := db.write(ctx, func(t *tx) error {
		h.CreatedAt = t.now
		// The row is locked, so that many at once do not go over the limit.
		if n, err := t.exec(`UPDATE change_heads SET hooked = TRUE WHERE user_id = ?`, userID); err != nil || n == 0 {
			return cmp.Or(err, ErrNotFound)
		}
		var n int
		if err := t.get(&n, `SELECT count(*) FROM webhooks WHERE user_id = ?`, userID); err != nil {
			return err
		}
		if n >= MaxWebhooks {
			return ErrTooManyWebhooks
		}
		_, err := t.exec(`INSERT INTO webhooks (id, user_id, url, events, secret, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
			h.ID, userID, h.URL, h.Events, h.Secret, h.CreatedAt)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create a webhook: %w", err)
	}
	return h, nil
}

// Webhooks lists a person's webhooks, oldest first.
func (db *DB) Webhooks(ctx context.Context, userID string) ([]Webhook, error) {
	var list []Webhook
	if err := db.all(ctx, &list, `SELECT `+webhookColumns+` FROM webhooks WHERE user_id = ? ORDER BY created_at, id`, userID); err != nil {
		return nil, fmt.Errorf("list webhooks: %w", err)
	}
	return list, nil
}

// Webhook returns one webhook of a person.
func (db *DB) Webhook(ctx context.Context, userID, id string) (*Webhook, error) {
	var h Webhook
	if err := db.get(ctx, &h, `SELECT `+webhookColumns+` FROM webhooks WHERE id = ? AND user_id = ?`, id, userID); err != nil {
		return nil, fmt.Errorf("read webhook %s: %w", id, err)
	}
	return &h, nil
}

// RotateWebhook gives a webhook a new secret and returns it. The old one signs
// as well for a day.
func (db *DB) RotateWebhook(ctx context.Context, userID, id string) (secret string, err error) {
	secret = newHookSecret()
	return secret, db.changeWebhook(ctx, "rotate", userID, id, func(t *tx) (int64, error) {
		return t.exec(`UPDATE webhooks SET old_secret = secret, old_until = ?, secret = ? WHERE id = ? AND user_id = ?`,
			t.now.Add(oldSecretLife), secret, id, userID)
	})
}

// EnableWebhook switches a webhook on again that was switched off.
func (db *DB) EnableWebhook(ctx context.Context, userID, id string) error {
	return db.changeWebhook(ctx, "enable", userID, id, func(t *tx) (int64, error) {
		return t.exec(`UPDATE webhooks SET disabled_at = NULL, failing_since = NULL, reason = '' WHERE id = ? AND user_id = ?`, id, userID)
	})
}

// DeleteWebhook deletes a webhook, its log, and what waits to be delivered.
func (db *DB) DeleteWebhook(ctx context.Context, userID, id string) error {
	return db.changeWebhook(ctx, "delete", userID, id, func(t *tx) (int64, error) {
		_, err := t.exec(`DELETE FROM jobs WHERE kind = ? AND state <> 'running' AND ref IN (
			SELECT id FROM webhook_deliveries WHERE webhook_id = ? AND user_id = ? AND state = 'waiting')`, KindWebhook, id, userID)
		if err != nil {
			return 0, err
		}
		n, err := t.exec(`DELETE FROM webhooks WHERE id = ? AND user_id = ?`, id, userID)
		if err == nil && n > 0 {
			_, err = t.exec(`UPDATE change_heads SET hooked = EXISTS (SELECT 1 FROM webhooks WHERE user_id = ?) WHERE user_id = ?`, userID, userID)
		}
		return n, err
	})
}

// TestWebhook enters a delivery that says nothing but that it is a test.
func (db *DB) TestWebhook(ctx context.Context, userID, id string) (deliveryID string, err error) {
	return deliveryID, db.changeWebhook(ctx, "test", userID, id, func(t *tx) (int64, error) {
		var n int64
		err := t.get(&n, `SELECT count(*) FROM webhooks WHERE id = ? AND user_id = ?`, id, userID)
		if err == nil && n > 0 {
			deliveryID, err = t.deliver(id, telling{userID, HookTest, id})
		}
		return n, err
	})
}

func (db *DB) changeWebhook(ctx context.Context, what, userID, id string, change func(*tx) (int64, error)) error {
	err := db.write(ctx, func(t *tx) error {
		n, err := change(t)
		if err == nil && n == 0 {
			err = ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s webhook %s: %w", what, id, err)
	}
	return nil
}
