package records

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// headFresh is how long a change number that was read is believed without
// having been told of a change. It bounds how late a change of another
// instance is seen whose notification was lost.
const headFresh = time.Second

// heads remembers each person's change number, so that who asks whether there
// is anything new costs the database nothing.
type heads struct {
	mu sync.Mutex
	of map[string]*knownHead
}

type knownHead struct {
	historyHead
	at      time.Time // when it was read; zero: not to be believed
	version int       // rises with each change, so that a read from before it is not kept
}

// changed makes the next question about a person go to the database.
func (h *heads) changed(userID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k := h.of[userID]; k != nil {
		k.at = time.Time{}
		k.version++
	}
}

// allChanged does so for everybody.
func (h *heads) allChanged() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range h.of {
		k.at = time.Time{}
		k.version++
	}
}

// known returns what is remembered of a person, and the version to keep a read
// under.
func (h *heads) known(userID string) (head historyHead, version int, fresh bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.of[userID]
	if k == nil {
		if h.of == nil {
			h.of = map[string]*knownHead{}
		}
		k = &knownHead{}
		h.of[userID] = k
	}
	return k.historyHead, k.version, !k.at.IsZero() && time.Since(k.at) < headFresh
}

func (h *heads) keep(userID string, version int, head historyHead, asked time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k := h.of[userID]; k != nil && k.version == version {
		k.historyHead, k.at = head, asked
	}
}

type historyHead struct {
	Seq   int64 `db:"seq"`
	Floor int64 `db:"floor"` // deletions up to here are forgotten
}

// head is a person's change number, from memory while it is fresh.
func (db *DB) head(ctx context.Context, userID string) (historyHead, error) {
	head, version, fresh := db.heads.known(userID)
	if fresh {
		return head, nil
	}
	asked := time.Now()
	head, err := db.readHead(ctx, userID)
	if err == nil {
		db.heads.keep(userID, version, head, asked)
	}
	return head, err
}

func (db *DB) readHead(ctx context.Context, userID string) (h historyHead, err error) {
	if err := db.get(ctx, &h, `SELECT seq, floor FROM change_heads WHERE user_id = ?`, userID); err != nil {
		return h, fmt.Errorf("read the change number: %w", err)
	}
	return h, nil
}
