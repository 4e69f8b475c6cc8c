package records

import (
	"context"
	"fmt"
)

// ImagesAfter lists images in any state by id, after one: those of a person,
// or with an empty user id everybody's, for an operator.
func (db *DB) ImagesAfter(ctx context.Context, userID, after string, limit int) ([]Image, error) {
	var list []Image
	query, args := `SELECT `+imageColumns+` FROM images WHERE id > ?`, []any{after}
	if userID != "" {
		query += ` AND user_id = ?`
		args = append(args, userID)
	}
	if err := db.all(ctx, &list, query+` ORDER BY id LIMIT ?`, append(args, limit)...); err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	return list, nil
}

// CountAll counts images in any state: a person's, or everybody's.
func (db *DB) CountAll(ctx context.Context, userID string) (n int, err error) {
	if err := db.get(ctx, &n, `SELECT count(*) FROM images WHERE ? = '' OR user_id = ?`, userID, userID); err != nil {
		return 0, fmt.Errorf("count images: %w", err)
	}
	return n, nil
}
