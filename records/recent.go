package records

import (
	"context"
	"fmt"
)

// recentGenerations is how many requests are looked through for prompts that
// differ.
const recentGenerations = 100

// RecentPrompts returns the different prompts that a person used last, newest
// first.
func (db *DB) RecentPrompts(ctx context.Context, userID string, limit int) ([]string, error) {
	var list []string
	err := db.all(ctx, &list, `SELECT prompt FROM (
			SELECT prompt, created_at FROM generations WHERE user_id = ? ORDER BY created_at DESC LIMIT ?
		) AS recent GROUP BY prompt ORDER BY max(created_at) DESC, prompt LIMIT ?`, userID, recentGenerations, limit)
	if err != nil {
		return nil, fmt.Errorf("list recent prompts: %w", err)
	}
	return list, nil
}

// TrashSize is how many images a person has in the trash and how many bytes
// they take.
func (db *DB) TrashSize(ctx context.Context, userID string) (n int, bytes int64, err error) {
	var size struct {
		N     int   `db:"n"`
		Bytes int64 `db:"bytes"`
	}
	err = db.get(ctx, &size, `SELECT count(*) AS n, CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes FROM images
		WHERE user_id = ? AND trashed_at IS NOT NULL`, userID)
	if err != nil {
		return 0, 0, fmt.Errorf("measure the trash: %w", err)
	}
	return size.N, size.Bytes, nil
}

// Ahead counts the requests, of whomever, that are made before one of this
// person that waits. It is 0 once that one has begun.
func (db *DB) Ahead(ctx context.Context, userID, generationID string) (int, error) {
	var n int
	err := db.get(ctx, &n, `SELECT count(*) FROM jobs WHERE kind = ? AND state = 'ready'
		AND id < (SELECT id FROM jobs WHERE kind = ? AND ref = ? AND user_id = ? AND state = 'ready')`,
		KindGenerate, KindGenerate, generationID, userID)
	if err != nil {
		return 0, fmt.Errorf("count who is ahead of generation %s: %w", generationID, err)
	}
	return n, nil
}
