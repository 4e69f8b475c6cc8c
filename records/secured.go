package records

import (
	"context"
	"fmt"
)

// NoteSecured writes of the image of a running job that its bytes lie in a
// spool, while the job goes on. The job is not bound to that spool: as long as
// the source lives, whoever takes the job over may ask it.
// ErrLeaseLost: the claim is no longer ours, and nothing was written.
func (db *DB) NoteSecured(ctx context.Context, j Job, i *Image) error {
	err := db.write(ctx, func(t *tx) error {
		var ours []string
		if err := t.all(&ours, `SELECT id FROM jobs WHERE `+fenced+t.forUpdate(), j.Fence().args()...); err != nil {
			return err
		}
		if len(ours) == 0 {
			return ErrLeaseLost
		}
		return t.changeImages([]ImageChange{{Image: i}})
	})
	if err != nil {
		return fmt.Errorf("note that image %s is secured: %w", i.ID, err)
	}
	return nil
}
