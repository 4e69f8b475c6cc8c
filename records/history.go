package records

import (
	"context"
	"fmt"
	"slices"
)

// bump raises a person's change number by n and returns the first of the new
// numbers. The row stays locked until the commit, so numbers become visible in
// their order.
func (t *tx) bump(userID string, n int) (int64, error) {
	var seq int64
	err := t.get(&seq, `UPDATE change_heads SET seq = seq + ? WHERE user_id = ? RETURNING seq`, n, userID)
	if err != nil {
		return 0, fmt.Errorf("raise the change number of user %s: %w", userID, err)
	}
	t.changed[userID] = true
	return seq - int64(n) + 1, nil
}

// History is a part of a person's changes.
type History struct {
	Images  []Image // as they are now, in the order of their latest change; DeletedAt set: gone
	Seq     int64   // where the next part begins
	HasMore bool
}

// History returns what changed after a change number, 0 for the present
// state. States in between may be missing; the latest one never is.
func (db *DB) History(ctx context.Context, userID string, since int64, limit int) (History, error) {
	h := History{Seq: since}
	// Both tables are read up to one number: what changes between the two
	// reads comes with a later part, instead of being passed over.
	head, err := db.HistoryHead(ctx, userID)
	if err != nil || head <= since {
		return h, err
	}
	var changed, deleted []Image
	err = db.all(ctx, &changed, `SELECT `+imageColumns+` FROM images
		WHERE user_id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`, userID, since, head, limit+1)
	if err != nil {
		return h, fmt.Errorf("read the history: %w", err)
	}
	if since > 0 { // who starts has nothing to forget
		err = db.all(ctx, &deleted, `SELECT id, user_id, seq, deleted_at FROM deleted_images
			WHERE user_id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`, userID, since, head, limit+1)
		if err != nil {
			return h, fmt.Errorf("read the history: %w", err)
		}
	}
	list := slices.Concat(changed, deleted)
	slices.SortFunc(list, func(a, b Image) int { return int(a.Seq - b.Seq) })
	if len(list) > limit {
		list, h.HasMore = list[:limit], true
	}
	h.Images, h.Seq = list, head
	if h.HasMore {
		h.Seq = list[limit-1].Seq
	}
	return h, nil
}

// HistoryHead is the number of a person's latest change.
func (db *DB) HistoryHead(ctx context.Context, userID string) (int64, error) {
	var seq int64
	if err := db.get(ctx, &seq, `SELECT seq FROM change_heads WHERE user_id = ?`, userID); err != nil {
		return 0, fmt.Errorf("read the change number: %w", err)
	}
	return seq, nil
}
