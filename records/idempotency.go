package records

import (
	"errors"
	"fmt"
	"time"
)

// Idempotency makes a repeated request return what the first one made. The
// zero value does not.
type Idempotency struct {
	Key         string
	RequestHash string // of what was asked for, to tell a repeat from a mistake
}

// ErrKeyReused says that an idempotency key came back with another request.
var ErrKeyReused = errors.New("the idempotency key was used for another request")

// idempotencyTTL is how long a key is remembered.
const idempotencyTTL = 24 * time.Hour

// once returns ref if the key is new, and otherwise what its first request
// made. Two requests at the same moment wait for each other at the row.
func (t *tx) once(userID string, k Idempotency, ref string) (string, error) {
	if k.Key == "" {
		return ref, nil
	}
	_, err := t.exec(`DELETE FROM idempotency_keys WHERE user_id = ? AND key = ? AND created_at < ?`,
		userID, k.Key, t.now.Add(-idempotencyTTL))
	if err != nil {
		return "", fmt.Errorf("forget an old idempotency key: %w", err)
	}
	n, err := t.exec(`INSERT INTO idempotency_keys (user_id, key, request_hash, ref, created_at)
		VALUES (?, ?, ?, ?, ?) ON CONFLICT (user_id, key) DO NOTHING`, userID, k.Key, k.RequestHash, ref, t.now)
	if err != nil {
		return "", fmt.Errorf("record an idempotency key: %w", err)
	}
	if n == 1 {
		return ref, nil
	}
	var first struct {
		RequestHash string `db:"request_hash"`
		Ref         string `db:"ref"`
	}
	err = t.get(&first, `SELECT request_hash, ref FROM idempotency_keys WHERE user_id = ? AND key = ?`, userID, k.Key)
	if err != nil {
		return "", fmt.Errorf("read an idempotency key: %w", err)
	}
	if first.RequestHash != k.RequestHash {
		return "", ErrKeyReused
	}
	return first.Ref, nil
}
