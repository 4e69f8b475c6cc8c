package records

import (
	"context"
	"fmt"
	"slices"

	"github.com/jmoiron/sqlx"
)

// KeptAfter lists archived images of everybody by id, after one.
func (db *DB) KeptAfter(ctx context.Context, after string, limit int) ([]Kept, error) {
	var list []Kept
	err := db.all(ctx, &list, `SELECT `+keptColumns+` FROM images WHERE status = 'archived' AND id > ? ORDER BY id LIMIT ?`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list archived images: %w", err)
	}
	return list, nil
}

// lookupBatch is how many ids one statement looks up.
const lookupBatch = 500

// KeptByID looks up images of everybody in any state. Those that do not exist
// are not in the answer.
func (db *DB) KeptByID(ctx context.Context, ids []string) (map[string]Kept, error) {
	found := make(map[string]Kept, len(ids))
	for part := range slices.Chunk(ids, lookupBatch) {
		var list []Kept
		if err := db.in(ctx, &list, `SELECT `+keptColumns+` FROM images WHERE id IN (?)`, part); err != nil {
			return nil, fmt.Errorf("look up images: %w", err)
		}
		for _, k := range list {
			found[k.ID] = k
		}
	}
	return found, nil
}

// Busy says about which of the images a job is to be done or is being done.
func (db *DB) Busy(ctx context.Context, ids []string) (map[string]bool, error) {
	busy := map[string]bool{}
	for part := range slices.Chunk(ids, lookupBatch) {
		var refs []string
		if err := db.in(ctx, &refs, `SELECT ref FROM jobs WHERE ref IN (?) AND state <> 'discarded'`, part); err != nil {
			return nil, fmt.Errorf("look up jobs: %w", err)
		}
		for _, ref := range refs {
			busy[ref] = true
		}
	}
	return busy, nil
}

// in is sqlx.In followed by all.
func (db *DB) in(ctx context.Context, dest any, query string, args ...any) error {
	query, args, err := sqlx.In(query, args...)
	if err != nil {
		return err
	}
	return db.all(ctx, dest, query, args...)
}

// Redo has the sidecar of an archived image written again, and its thumbnails
// drawn again if they are what is missing.
func (db *DB) Redo(ctx context.Context, k Kept, thumbs bool) error {
	return db.act(ctx, "redo", k.UserID, k.ID, `kind = '`+KindThumbnail+`'`, func(t *tx, i *Image) error {
		if i.Status != Archived {
			return ErrNotPossible
		}
		seq, err := t.bump(i.UserID, 1)
		if err == nil && thumbs {
			_, err = t.exec(`UPDATE images SET thumb = '', placeholder = '', seq = ?, updated_at = ? WHERE id = ? AND user_id = ?`,
				seq, t.now, i.ID, i.UserID)
		}
		if err != nil {
			return err
		}
		return t.rewriteSidecar(i, seq)
	})
}
