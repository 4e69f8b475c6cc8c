package records

import (
	"context"
	"fmt"
)

// Kept is what has to be known of an image to look after its objects.
type Kept struct {
	ID         string `db:"id"`
	UserID     string `db:"user_id"`
	Status     Status `db:"status"`
	SourceURL  string `db:"source_url"` // never shown to anybody
	SpoolID    string `db:"spool_id"`
	ObjectKey  string `db:"object_key"`
	Bytes      int64  `db:"bytes"`
	Width      int    `db:"width"`
	Height     int    `db:"height"`
	SHA256     string `db:"sha256"`
	Thumb      string `db:"thumb"`
	Sidecar    string `db:"sidecar"`
	ArchivedAt Time   `db:"archived_at"`
	CheckedAt  Time   `db:"checked_at"` // when it was known to be whole last
}

const keptColumns = `id, user_id, status, source_url, spool_id, object_key, bytes, width, height, sha256, thumb, sidecar,
	archived_at, ` + checkedAt + ` AS checked_at`

// checkedAt is the index images_verify, word for word.
const checkedAt = `COALESCE(verified_at, archived_at, created_at)`

// Kept is what has to be known of an image to verify it by hand.
func (i *Image) Kept() Kept {
	return Kept{ID: i.ID, UserID: i.UserID, Status: i.Status, SourceURL: i.SourceURL, SpoolID: i.SpoolID, ObjectKey: i.ObjectKey,
		Bytes: i.Bytes, Width: i.Width, Height: i.Height, SHA256: i.SHA256, Thumb: i.Thumb, Sidecar: i.Sidecar, ArchivedAt: i.ArchivedAt}
}

// OldestChecked lists archived images of everybody, the one first whose object
// was read back longest ago, after a given one (zero: from the start) and not
// those that were checked at before or later.
func (db *DB) OldestChecked(ctx context.Context, after Kept, before Time, limit int) ([]Kept, error) {
	var list []Kept
	query, args := `SELECT `+keptColumns+` FROM images WHERE status = 'archived' AND `+checkedAt+` < ?`, []any{before}
	if after.ID != "" {
		query += ` AND (` + checkedAt + `, id) > (?, ?)`
		args = append(args, after.CheckedAt, after.ID)
	}
	err := db.all(ctx, &list, query+` ORDER BY `+checkedAt+`, id LIMIT ?`, append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("list what to verify: %w", err)
	}
	return list, nil
}

// Damaged lists images whose object was found damaged or missing, by id.
func (db *DB) Damaged(ctx context.Context, after string, limit int) ([]Kept, error) {
	var list []Kept
	err := db.all(ctx, &list, `SELECT `+keptColumns+` FROM images
		WHERE status = 'archive_failed' AND object_key <> '' AND id > ? ORDER BY id LIMIT ?`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list damaged images: %w", err)
	}
	return list, nil
}

// CountDamaged is how many images of everybody Damaged would list.
func (db *DB) CountDamaged(ctx context.Context) (n int, err error) {
	err = db.get(ctx, &n, `SELECT count(*) FROM images WHERE status = 'archive_failed' AND object_key <> ''`)
	if err != nil {
		return 0, fmt.Errorf("count damaged images: %w", err)
	}
	return n, nil
}

// CountArchived is how many images of everybody are archived.
func (db *DB) CountArchived(ctx context.Context) (n int, err error) {
	if err := db.get(ctx, &n, `SELECT count(*) FROM images WHERE status = 'archived'`); err != nil {
		return 0, fmt.Errorf("count archived images: %w", err)
	}
	return n, nil
}

// MarkVerified notes that objects were read back and are whole. People do not
// see it: it is no change of the image.
func (db *DB) MarkVerified(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	err := db.write(ctx, func(t *tx) error {
		var free []string // the others are being changed, and are verified another time
		err := t.in(&free, `SELECT id FROM images WHERE id IN (?) AND status = 'archived' ORDER BY id`+t.skipLocked(), ids)
		if err != nil || len(free) == 0 {
			return err
		}
		var done []string
		return t.in(&done, `UPDATE images SET verified_at = ? WHERE id IN (?) RETURNING id`, t.now, free)
	})
	if err != nil {
		return fmt.Errorf("record what was verified: %w", err)
	}
	return nil
}

// Damage is what was found wrong with the object of an archived image.
type Damage struct {
	Kept    Kept // as it was when its object was read
	Reason  string
	Detail  string // for operators
	SpoolID string // the spool that still has the bytes; empty: none
}

// Lose records that an archived image's object is missing or not what was
// stored. If there is a source or a spool file to archive it from once more,
// that is enqueued and again is true; else the image has failed and says why,
// and keeps the key, so that an object that is put back can be verified.
// ErrNotPossible: the image has changed since.
func (db *DB) Lose(ctx context.Context, d Damage) (again bool, err error) {
	err = db.act(ctx, "give up the object of", d.Kept.UserID, d.Kept.ID, `state IN ('waiting', 'discarded')`, func(t *tx, i *Image) error {
		if i.Status != Archived || i.ObjectKey != d.Kept.ObjectKey || i.SHA256 != d.Kept.SHA256 {
			return ErrNotPossible
		}
		// What is archived stays so for everybody else, see writeImages.
		if _, err := t.exec(`UPDATE images SET status = 'archive_failed' WHERE id = ? AND user_id = ?`, i.ID, i.UserID); err != nil {
			return err
		}
		i.Status, i.Reason, i.Attempt = ArchiveFailed, d.Reason, 0
		event := &Event{Kind: EventDamaged, Reason: d.Reason, Detail: d.Detail}
		if again = i.SourceURL != "" || d.SpoolID != ""; again {
			i.Status, i.Reason, i.SpoolID = Generated, "", d.SpoolID
			i.ObjectKey, i.ObjectETag, i.ArchivedAt = "", "", Time{}
			if _, err := t.exec(`DELETE FROM jobs WHERE kind = ? AND ref = ? AND state = 'discarded'`, KindArchive, i.ID); err != nil {
				return err
			}
			if err := t.enqueueArchive(i, LaneInteractive); err != nil {
				return err
			}
		}
		return t.changeImages([]ImageChange{{Image: i, Event: event}})
	})
	return again, err
}

// Recover records that the object of an image that was damaged is whole again:
// somebody put it back. ErrNotPossible: the image has changed since.
func (db *DB) Recover(ctx context.Context, k Kept) error {
	return db.act(ctx, "recover", k.UserID, k.ID, "", func(t *tx, i *Image) error {
		if i.Status != ArchiveFailed || i.ObjectKey != k.ObjectKey || i.SHA256 != k.SHA256 {
			return ErrNotPossible
		}
		if _, err := t.exec(`UPDATE images SET verified_at = ? WHERE id = ? AND user_id = ?`, t.now, i.ID, i.UserID); err != nil {
			return err
		}
		i.Status, i.Reason, i.Attempt = Archived, "", 1
		return t.changeImages([]ImageChange{{Image: i, Event: &Event{Kind: EventVerified}}})
	})
}

// NoteVerified records in what happened to an image that it was verified
// because somebody asked.
func (db *DB) NoteVerified(ctx context.Context, k Kept) error {
	return db.act(ctx, "verify", k.UserID, k.ID, "", func(t *tx, i *Image) error {
		if _, err := t.exec(`UPDATE images SET verified_at = ? WHERE id = ? AND user_id = ?`, t.now, i.ID, i.UserID); err != nil {
			return err
		}
		return t.addEvents(Event{ImageID: i.ID, Kind: EventVerified})
	})
}
