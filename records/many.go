package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jmoiron/sqlx"
)

// BulkAction is what is done to many images at once.
type BulkAction string

// The actions. Each does to an image what the method for one does.
const (
	BulkFavorite   BulkAction = "favorite"
	BulkUnfavorite BulkAction = "unfavorite"
	BulkTrash      BulkAction = "trash"
	BulkRestore    BulkAction = "restore"
	BulkRetry      BulkAction = "retry"
	BulkDelete     BulkAction = "delete" // for ever
)

// BulkActions are all of them.
var BulkActions = []BulkAction{BulkFavorite, BulkUnfavorite, BulkTrash, BulkRestore, BulkRetry, BulkDelete}

// bulkBatch is how many images one transaction changes, so that others get
// their turn.
const bulkBatch = 100

// Bulk does something to images of a person, in parts: if it fails in the
// middle, those before it are done. It returns how many it did, and for those
// that it did not ErrNotFound or ErrNotPossible.
func (db *DB) Bulk(ctx context.Context, userID string, ids []string, action BulkAction) (done int, skipped map[string]error, err error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	skipped = map[string]error{}
	for part := range slices.Chunk(ids, bulkBatch) {
		n, not := 0, map[string]error{}
		err := db.write(ctx, func(t *tx) (err error) {
			n, not, err = t.bulk(userID, part, action)
			return err
		})
		if err != nil {
			return done, skipped, fmt.Errorf("%s %d images: %w", action, len(ids), err)
		}
		done += n
		for id, why := range not {
			skipped[id] = why
		}
	}
	return done, skipped, nil
}

func (t *tx) bulk(userID string, ids []string, action BulkAction) (done int, skipped map[string]error, err error) {
	images, err := t.lockImages(userID, ids, action)
	if err != nil {
		return 0, nil, err
	}
	skipped = map[string]error{}
	for _, id := range ids {
		skipped[id] = ErrNotFound
	}
	for n := range images {
		switch err := t.bulkOne(&images[n], action); {
		case errors.Is(err, ErrNotPossible):
			skipped[images[n].ID] = ErrNotPossible
		case err != nil:
			return 0, nil, err
		default:
			delete(skipped, images[n].ID)
			done++
		}
	}
	return done, skipped, nil
}

// lockImages reads images by their ids, so that nobody else changes them until
// the end of the transaction; in the order in which everybody locks: see tx.
func (t *tx) lockImages(userID string, ids []string, action BulkAction) (images []Image, err error) {
	if jobs := map[BulkAction]string{BulkRetry: retryLocks, BulkDelete: `TRUE`}[action]; jobs != "" {
		var locked []string
		if err := t.in(&locked, `SELECT id FROM jobs WHERE ref IN (?) AND `+jobs+` ORDER BY id`+t.forUpdate(), ids); err != nil {
			return nil, err
		}
	}
	var head int64
	if err := t.get(&head, `SELECT seq FROM change_heads WHERE user_id = ?`+t.forUpdate(), userID); err != nil {
		return nil, err
	}
	query, args, err := sqlx.In(`SELECT `+imageColumns+` FROM images WHERE id IN (?) AND user_id = ? ORDER BY id`, ids, userID)
	if err == nil {
		err = t.all(&images, query, args...)
	}
	return images, err
}

func (t *tx) bulkOne(i *Image, action BulkAction) error {
	switch action {
	case BulkFavorite:
		return t.markImage(i, Marks{Favorite: new(true)})
	case BulkUnfavorite:
		return t.markImage(i, Marks{Favorite: new(false)})
	case BulkTrash:
		return t.markImage(i, Marks{Trashed: new(true)})
	case BulkRestore:
		return t.markImage(i, Marks{Trashed: new(false)})
	case BulkRetry:
		return t.retryImage(i)
	case BulkDelete:
		return t.deleteImage(i)
	}
	return fmt.Errorf("there is no action %q", action)
}

// ImagesByID returns those images of a person that are there, in the order of
// the ids. Ids that are none are passed over; the list is empty only if the ids
// are, or none of them is there.
func (db *DB) ImagesByID(ctx context.Context, userID string, ids []string) (list []Image, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	query, args, err := sqlx.In(`SELECT `+imageColumns+` FROM images WHERE id IN (?) AND user_id = ?`, ids, userID)
	if err == nil {
		err = db.all(ctx, &list, query, args...)
	}
	if err != nil {
		return nil, fmt.Errorf("read %d images: %w", len(ids), err)
	}
	place := map[string]int{}
	for n, id := range ids {
		place[id] = n
	}
	slices.SortFunc(list, func(a, b Image) int { return cmp.Compare(place[a.ID], place[b.ID]) })
	return list, nil
}
