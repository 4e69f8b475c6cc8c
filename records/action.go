package records

import (
	"context"
	"errors"
	"fmt"
)

// ErrNotPossible says that the image's state does not allow what was asked.
var ErrNotPossible = errors.New("not possible in this state")

// RetryImage archives an image again that failed, with all attempts before
// it, or makes the next attempt of one that waits come now.
func (db *DB) RetryImage(ctx context.Context, userID, id string) error {
	return db.act(ctx, "retry", userID, id, retryLocks, (*tx).retryImage)
}

// retryLocks are the jobs that a retry touches.
const retryLocks = `state IN ('waiting', 'discarded')`

func (t *tx) retryImage(i *Image) error {
	switch i.Status {
	case RetryWait:
		n, err := t.exec(`UPDATE jobs SET state = 'ready', run_at = ? WHERE kind = ? AND ref = ? AND state = 'waiting'`,
			t.now, KindArchive, i.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return t.retrySooner(i)
		}
		t.ready(KindArchive)
		i.NextAttemptAt = Time{}
	case ArchiveFailed:
		if i.SourceURL == "" && i.SpoolID == "" {
			return ErrNotPossible // nothing is left to archive from
		}
		if _, err := t.exec(`DELETE FROM jobs WHERE kind = ? AND ref = ? AND state = 'discarded'`, KindArchive, i.ID); err != nil {
			return err
		}
		if err := t.enqueueArchive(i, LaneInteractive); err != nil {
			return err
		}
		i.Status, i.Attempt, i.Reason, i.NextAttemptAt, i.ObjectKey = Generated, 0, "", Time{}, ""
	default:
		return ErrNotPossible
	}
	return t.changeImages([]ImageChange{{Image: i, Event: &Event{Kind: EventRetried}}})
}

// retrySooner is for an image whose next attempt does not wait: it has just
// begun, or its job was lost.
func (t *tx) retrySooner(i *Image) error {
	var jobs int
	err := t.get(&jobs, `SELECT count(*) FROM jobs WHERE kind = ? AND ref = ? AND state <> 'discarded'`, KindArchive, i.ID)
	if err != nil || jobs > 0 {
		return err
	}
	return t.enqueueArchive(i, LaneInteractive)
}

// Marks are what a person may set on an image. Nil leaves a mark as it is.
type Marks struct {
	Favorite *bool
	Trashed  *bool
}

// MarkImage sets marks, whatever state the image is in.
func (db *DB) MarkImage(ctx context.Context, userID, id string, m Marks) error {
	return db.act(ctx, "mark", userID, id, "", func(t *tx, i *Image) error { return t.markImage(i, m) })
}

func (t *tx) markImage(i *Image, m Marks) error {
	kind, was := "", *i
	if m.Favorite != nil {
		i.Favorite = *m.Favorite
	}
	if m.Trashed != nil && *m.Trashed == i.TrashedAt.IsZero() {
		i.TrashedAt, kind = Time{}, EventRestored
		if *m.Trashed {
			i.TrashedAt, kind = t.now, EventTrashed
		}
	}
	if i.Favorite == was.Favorite && i.TrashedAt == was.TrashedAt {
		return nil // there is nothing to tell anybody
	}
	seq, err := t.bump(i.UserID, 1)
	if err != nil {
		return err
	}
	_, err = t.exec(`UPDATE images SET favorite = ?, trashed_at = ?, updated_at = ?, seq = ? WHERE id = ? AND user_id = ?`,
		i.Favorite, i.TrashedAt, t.now, seq, i.ID, i.UserID)
	if err == nil {
		err = t.rewriteSidecar(i, seq)
	}
	if err != nil || kind == "" {
		return err
	}
	return t.addEvents(Event{ImageID: i.ID, Kind: kind})
}

// DeleteImage deletes an image for ever. Its objects go by a job that is
// written in the same transaction, so that no crash leaves one behind; its
// spool file goes too.
func (db *DB) DeleteImage(ctx context.Context, userID, id string) error {
	return db.act(ctx, "delete", userID, id, `TRUE`, func(t *tx, i *Image) error { return t.deleteImage(i) })
}

// PurgeImage deletes an image for ever that has been in the trash since a
// moment or longer, and reports whether it was still there.
func (db *DB) PurgeImage(ctx context.Context, userID, id string, trashedBefore Time) (purged bool, err error) {
	err = db.act(ctx, "purge", userID, id, `TRUE`, func(t *tx, i *Image) error {
		purged = !i.TrashedAt.IsZero() && !i.TrashedAt.After(trashedBefore.Time)
		if !purged {
			return nil
		}
		return t.deleteImage(i)
	})
	return purged && err == nil, err
}

func (t *tx) deleteImage(i *Image) error {
	if i.Status == Queued || i.Status == Generating {
		return ErrNotPossible // cancel it first
	}
	if _, err := t.exec(`DELETE FROM jobs WHERE ref = ? AND kind <> ?`, i.ID, KindTrashPurge); err != nil {
		return err
	}
	seq, err := t.bump(i.UserID, 1)
	if err == nil {
		err = t.count(i.UserID, -1)
	}
	if err != nil {
		return err
	}
	if _, err := t.exec(`DELETE FROM images WHERE id = ? AND user_id = ?`, i.ID, i.UserID); err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO deleted_images (id, user_id, seq, deleted_at) VALUES (?, ?, ?, ?)`, i.ID, i.UserID, seq, t.now)
	if err != nil {
		return err
	}
	_, err = t.enqueue(newJob{kind: KindDelete, ref: i.ID, userID: i.UserID, data: i.ObjectKey,
		lane: LaneIdle, spoolID: i.SpoolID})
	return err
}

// act runs fn on one image of a person in a transaction that nobody else's
// change of the image can come between. Jobs is the condition of its jobs that
// fn touches; the others are not locked, since a claim passes over locked ones.
func (db *DB) act(ctx context.Context, what, userID, id, jobs string, fn func(*tx, *Image) error) error {
	err := db.write(ctx, func(t *tx) error {
		if jobs != "" { // before the image, as everybody locks them: see tx
			var locked []string
			if err := t.all(&locked, `SELECT id FROM jobs WHERE ref = ? AND `+jobs+` ORDER BY id`+t.forUpdate(), id); err != nil {
				return err
			}
		}
		var head int64
		if err := t.get(&head, `SELECT seq FROM change_heads WHERE user_id = ?`+t.forUpdate(), userID); err != nil {
			return err
		}
		var i Image
		err := t.get(&i, `SELECT `+imageColumns+` FROM images WHERE id = ? AND user_id = ?`, id, userID)
		if err != nil {
			return err
		}
		return fn(t, &i)
	})
	if err != nil {
		return fmt.Errorf("%s image %s: %w", what, id, err)
	}
	return nil
}
