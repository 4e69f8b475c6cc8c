package records

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
)

// newSidecar is 130 random bits, in letters that an object's key may have.
func newSidecar() string { return strings.ToLower(rand.Text()) }

// Origin is whose an image is and where it comes from.
type Origin struct {
	Owner      string      // the username
	Generation *Generation // nil: it was imported
	ImportedAt Time        // zero: it was not imported
}

// Origin reads an image's origin.
func (db *DB) Origin(ctx context.Context, i *Image) (o Origin, err error) {
	err = db.get(ctx, &o.Owner, `SELECT username FROM users WHERE id = ?`, i.UserID)
	if err == nil && i.GenerationID != nil {
		o.Generation = &Generation{}
		err = db.get(ctx, o.Generation, `SELECT `+generationColumns+` FROM generations WHERE id = ? AND user_id = ?`, *i.GenerationID, i.UserID)
	}
	if err == nil && i.ImportID != nil {
		err = db.get(ctx, &o.ImportedAt, `SELECT created_at FROM imports WHERE id = ? AND user_id = ?`, *i.ImportID, i.UserID)
	}
	if err != nil {
		return o, fmt.Errorf("read where image %s comes from: %w", i.ID, err)
	}
	return o, nil
}

// GiveSidecar gives an image the part of its sidecar's key that every image
// has from its start, unless a person with an SQL shell wrote it.
func (db *DB) GiveSidecar(ctx context.Context, i *Image) error {
	if i.Sidecar != "" {
		return nil
	}
	err := db.write(ctx, func(t *tx) error {
		_, err := t.exec(`UPDATE images SET sidecar = ? WHERE id = ? AND user_id = ? AND sidecar = ''`, newSidecar(), i.ID, i.UserID)
		if err != nil {
			return err
		}
		return t.get(&i.Sidecar, `SELECT sidecar FROM images WHERE id = ? AND user_id = ?`, i.ID, i.UserID)
	})
	if err != nil {
		return fmt.Errorf("name the sidecar of image %s: %w", i.ID, err)
	}
	return nil
}

// rewriteSidecar has the sidecar of an archived image say what has just
// changed. Each change has a job of its own, since one that runs may have read
// the row before.
func (t *tx) rewriteSidecar(i *Image, seq int64) error {
	if i.Status != Archived {
		return nil // it has none yet
	}
	_, err := t.enqueue(newJob{kind: KindThumbnail, ref: i.ID, userID: i.UserID, lane: LaneIdle,
		dedupe: fmt.Sprintf("%s:%s:%d", KindThumbnail, i.ID, seq)})
	return err
}
