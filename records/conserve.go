package records

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"
)

// Difference is one thing that the records and themselves, or the store, do
// not agree about.
type Difference struct {
	What string // as "object missing"
	ID   string // of the image, the person or the object
}

func (d Difference) String() string { return d.What + " " + d.ID }

// Conservation checks the records by themselves: each person has as many images
// as were made less those deleted, each counted once, trashed or not; each
// archived one says where its object is; each unfinished one has a job. It
// returns the first differences of each sort, and how many there are.
func (db *DB) Conservation(ctx context.Context, most int) (found []Difference, total int, err error) {
	settled := db.Now().Add(-conservationGrace)
	for _, check := range []struct {
		what, query string
		args        []any
	}{
		{"images miscounted of user", `SELECT h.user_id AS id FROM change_heads h
			WHERE h.images <> (SELECT count(*) FROM images i WHERE i.user_id = h.user_id) ORDER BY h.user_id`, nil},
		{"archived without an object", `SELECT id FROM images WHERE status = 'archived'
			AND (object_key = '' OR bytes <= 0 OR sha256 = '' OR archived_at IS NULL) ORDER BY id`, nil},
		{"unfinished without a job", `SELECT id FROM images WHERE status IN ('generated', 'archiving', 'retry_wait') AND updated_at < ?
			AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.ref = images.id AND jobs.kind = 'archive') ORDER BY id`, []any{settled}},
	} {
		var ids []string
		if err := db.all(ctx, &ids, check.query, check.args...); err != nil {
			return nil, 0, fmt.Errorf("check conservation: %s: %w", check.what, err)
		}
		total += len(ids)
		for _, id := range ids[:min(len(ids), most)] {
			found = append(found, Difference{check.what, id})
		}
	}
	return found, total, nil
}

// conservationGrace is how long something may be on its way before it is
// missed.
const conservationGrace = 10 * time.Minute

// Holding is what the records say of an archived image's object.
type Holding struct {
	ID        string `db:"id"`
	UserID    string `db:"user_id"`
	ObjectKey string `db:"object_key"`
	Bytes     int64  `db:"bytes"`
}

// HoldingsAfter lists archived images in the order of their ids, after one.
func (db *DB) HoldingsAfter(ctx context.Context, after string, limit int) ([]Holding, error) {
	var list []Holding
	err := db.all(ctx, &list, `SELECT id, user_id, object_key, bytes FROM images
		WHERE status = 'archived' AND id > ? ORDER BY id LIMIT ?`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list archived images: %w", err)
	}
	return list, nil
}

// Share says which of n daily parts an id belongs to, 0 to n-1.
func Share(id string, n int) int {
	h := fnv.New32a()
	h.Write([]byte(id))
	return int(h.Sum32() % uint32(n))
}
