package records

import (
	"context"
	"fmt"
)

// DeleteUser deletes an account for ever. Its images are handed over to another
// one, or without one deleted too. It disables the account first and then goes
// on in parts: whatever stops it, it can be called again.
func (db *DB) DeleteUser(ctx context.Context, id, handOverTo string) error {
	if err := db.deleteUser(ctx, id, handOverTo); err != nil {
		return fmt.Errorf("delete user %s: %w", id, err)
	}
	return nil
}

func (db *DB) deleteUser(ctx context.Context, id, to string) error {
	if to != "" {
		if to == id {
			return ErrNotPossible
		}
		if _, err := db.User(ctx, to); err != nil {
			return err
		}
	}
	if err := db.ChangeUser(ctx, id, UserChange{Disabled: new(true)}); err != nil {
		return err
	}
	if err := db.cancelAll(ctx, id); err != nil {
		return err
	}
	if to != "" {
		err := db.write(ctx, func(t *tx) error { return t.handOverRequests(id, to) })
		if err != nil {
			return err
		}
	}
	for {
		left, err := db.partWith(ctx, id, to)
		if err != nil {
			return err
		}
		if left == 0 {
			break
		}
	}
	return db.write(ctx, func(t *tx) error {
		var images int
		if err := t.get(&images, `SELECT count(*) FROM images WHERE user_id = ?`, id); err != nil {
			return err
		}
		if images > 0 {
			return ErrNotPossible // one more arrived: a cancelled generation had made it
		}
		if _, err := t.exec(`DELETE FROM jobs WHERE user_id = ? AND kind <> ?`, id, KindDelete); err != nil {
			return err
		}
		_, err := t.exec(`DELETE FROM users WHERE id = ?`, id)
		return err
	})
}

// cancelAll calls off what has not been made yet.
func (db *DB) cancelAll(ctx context.Context, userID string) error {
	var open []string
	err := db.all(ctx, &open, `SELECT id FROM generations WHERE user_id = ? AND status IN ('queued', 'generating')`, userID)
	if err != nil {
		return err
	}
	for _, generation := range open {
		if err := db.CancelGeneration(ctx, userID, generation); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) handOverRequests(from, to string) error {
	for _, table := range []string{"generations", "imports"} {
		if _, err := t.exec(`UPDATE `+table+` SET user_id = ? WHERE user_id = ?`, to, from); err != nil {
			return err
		}
	}
	return nil
}

// partWith deletes or hands over the next images of a person, and returns how
// many it found.
func (db *DB) partWith(ctx context.Context, id, to string) (int, error) {
	var ids []string
	err := db.all(ctx, &ids, `SELECT id FROM images WHERE user_id = ? ORDER BY id LIMIT ?`, id, bulkBatch)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	err = db.write(ctx, func(t *tx) error {
		images, err := t.lockImages(id, ids, BulkDelete)
		if err != nil {
			return err
		}
		if to != "" {
			return t.handOver(images, to)
		}
		for n := range images {
			if err := t.deleteImage(&images[n]); err != nil {
				return err
			}
		}
		return nil
	})
	return len(ids), err
}

// handOver gives images to another person, with their jobs.
func (t *tx) handOver(images []Image, to string) error {
	if len(images) == 0 {
		return nil
	}
	seq, err := t.bump(to, len(images))
	if err == nil {
		err = t.count(to, len(images))
	}
	if err == nil {
		err = t.count(images[0].UserID, -len(images))
	}
	if err != nil {
		return err
	}
	for n := range images {
		i := &images[n]
		i.Seq = seq + int64(n)
		if _, err := t.exec(`UPDATE jobs SET user_id = ? WHERE ref = ?`, to, i.ID); err != nil {
			return err
		}
		_, err := t.exec(`UPDATE images SET user_id = ?, seq = ?, updated_at = ? WHERE id = ? AND user_id = ?`, to, i.Seq, t.now, i.ID, i.UserID)
		if err != nil {
			return err
		}
		i.UserID = to
		if err := t.rewriteSidecar(i, i.Seq); err != nil { // it names the owner
			return err
		}
	}
	return nil
}
