package records

import (
	"fmt"
	"time"
)

// Attempt tells one request of a client from its repeats, where the client
// repeats by itself and names no idempotency key. The zero value tells nothing.
type Attempt struct {
	// Fingerprint is a hash of what is asked for and by which key.
	Fingerprint string

	// Join chooses among earlier requests with this fingerprint that were not
	// in vain, oldest first, the one that this is a repeat of; empty: none. Nil:
	// it is a first attempt. It must not use the database.
	Join func(earlier []string) string
}

// AttemptTTL is how long after a request a client may repeat it by itself.
const AttemptTTL = time.Hour

// join returns id for a new request, and otherwise what the first attempt made.
// What has certainly failed is no reason not to try again.
func (t *tx) join(userID string, a Attempt, id string) (string, error) {
	if a.Fingerprint == "" {
		return id, nil
	}
	// Attempts of one person wait for each other here: a repeat that overtakes
	// its first attempt would buy a second picture.
	var seq int64
	if err := t.get(&seq, `SELECT seq FROM change_heads WHERE user_id = ?`+t.forUpdate(), userID); err != nil {
		return "", fmt.Errorf("lock the change number of user %s: %w", userID, err)
	}
	if a.Join == nil {
		return id, nil
	}
	var earlier []string
	err := t.all(&earlier, `SELECT id FROM generations WHERE user_id = ? AND fingerprint = ? AND created_at > ?
		AND status NOT IN ('failed', 'canceled') ORDER BY created_at, id`, userID, a.Fingerprint, t.now.Add(-AttemptTTL))
	if err != nil {
		return "", fmt.Errorf("look for an earlier attempt: %w", err)
	}
	if first := a.Join(earlier); first != "" {
		return first, nil
	}
	return id, nil
}
