package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// bump raises a person's change number by n and returns the first of the new
// numbers. The row stays locked until the commit, so numbers become visible in
// their order.
func (t *tx) bump(userID string, n int) (int64, error) {
	var head struct {
		Seq    int64 `db:"seq"`
		Hooked bool  `db:"hooked"`
	}
	err := t.get(&head, `UPDATE change_heads SET seq = seq + ? WHERE user_id = ? RETURNING seq, hooked`, n, userID)
	if err != nil {
		return 0, fmt.Errorf("raise the change number of user %s: %w", userID, err)
	}
	t.changed[userID], t.hooked[userID] = true, head.Hooked
	return head.Seq - int64(n) + 1, nil
}

// count keeps the second count of a person's images, next to the rows
// themselves. Their change number must have been raised before.
func (t *tx) count(userID string, n int) error {
	if _, err := t.exec(`UPDATE change_heads SET images = images + ? WHERE user_id = ?`, n, userID); err != nil {
		return fmt.Errorf("count the images of user %s: %w", userID, err)
	}
	return nil
}

// History is a part of a person's changes.
type History struct {
	Images  []Image // as they are now, in the order of their latest change; DeletedAt set: gone
	Seq     int64   // where the next part begins
	HasMore bool
}

// ErrCursorExpired says that deletions since a change number are forgotten:
// whoever wants to follow has to start anew.
var ErrCursorExpired = errors.New("the history does not go back that far")

// History returns what changed after a change number, 0 for the present
// state. States in between may be missing; the latest one never is. With
// nothing new it does not ask the database.
func (db *DB) History(ctx context.Context, userID string, since int64, limit int) (History, error) {
	h := History{Seq: since}
	// Both tables are read up to one number: what changes between the two
	// reads comes with a later part, instead of being passed over.
	head, err := db.head(ctx, userID)
	if err != nil {
		return h, err
	}
	if since > 0 && since < head.Floor {
		return h, fmt.Errorf("read the history: %w", ErrCursorExpired)
	}
	if head.Seq <= since {
		return h, nil
	}
	var changed, deleted []Image
	err = db.all(ctx, &changed, `SELECT `+imageColumns+` FROM images
		WHERE user_id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`, userID, since, head.Seq, limit+1)
	if err != nil {
		return h, fmt.Errorf("read the history: %w", err)
	}
	if since > 0 { // who starts has nothing to forget
		if deleted, err = db.deletions(ctx, userID, since, head.Seq, limit+1); err != nil {
			return h, err
		}
	}
	list := slices.Concat(changed, deleted)
	slices.SortFunc(list, func(a, b Image) int { return cmp.Compare(a.Seq, b.Seq) })
	if len(list) > limit {
		list, h.HasMore = list[:limit], true
	}
	h.Images, h.Seq = list, head.Seq
	if h.HasMore {
		h.Seq = list[limit-1].Seq
	}
	return h, nil
}

// deletions are the images that went after a change number, up to another one.
func (db *DB) deletions(ctx context.Context, userID string, since, upTo int64, limit int) (list []Image, err error) {
	err = db.all(ctx, &list, `SELECT id, user_id, seq, deleted_at FROM deleted_images
		WHERE user_id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`, userID, since, upTo, limit)
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	// Now and not before: some may have been forgotten a moment ago.
	head, err := db.readHead(ctx, userID)
	if err == nil && since < head.Floor {
		err = fmt.Errorf("read the history: %w", ErrCursorExpired)
	}
	return list, err
}

// HistoryHead is the number of a person's latest change.
func (db *DB) HistoryHead(ctx context.Context, userID string) (int64, error) {
	head, err := db.head(ctx, userID)
	return head.Seq, err
}
