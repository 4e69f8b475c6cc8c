package records

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// Quota bounds what one person may have. 0 is no bound.
type Quota struct {
	ImagesPerDay int64 // made or imported, by the day in UTC
	Bytes        int64 // stored
}

// QuotaError says that a person may not have more for now.
type QuotaError struct {
	Limit    int64
	Bytes    bool // of bytes stored; else of images a day
	ResetsAt Time // when there is room again; zero: once something is deleted
}

func (e *QuotaError) Error() string {
	if e.Bytes {
		return fmt.Sprintf("the quota of %d bytes is used up: delete images, or ask an administrator", e.Limit)
	}
	return fmt.Sprintf("the quota of %d images a day is used up until %s", e.Limit, e.ResetsAt.Format(time.RFC3339))
}

// Used is what a person has used of their quota.
type Used struct {
	Quota              // in force: the person's own, or that of the settings
	ImagesToday int64  `db:"made"`
	BytesStored int64  `db:"bytes"`
	ResetsAt    Time   // of the images
	MadeOn      string `db:"made_on"`
	OwnImages   *int64 `db:"quota_images"` // set for this person; nil: as the settings say
	OwnBytes    *int64 `db:"quota_bytes"`
}

const quotaColumns = `made, made_on, (SELECT quota_images FROM users WHERE users.id = user_id) AS quota_images,
	(SELECT quota_bytes FROM users WHERE users.id = user_id) AS quota_bytes`

// complete works out what follows from the columns.
func (u *Used) complete(defaults Quota, now Time) {
	u.Quota = defaults
	if u.OwnImages != nil {
		u.ImagesPerDay = *u.OwnImages
	}
	if u.OwnBytes != nil {
		u.Bytes = *u.OwnBytes
	}
	if u.MadeOn != now.Format(time.DateOnly) {
		u.ImagesToday = 0
	}
	u.ResetsAt = At(now.Truncate(24 * time.Hour)).Add(24 * time.Hour)
}

// Used returns what a person has used.
func (db *DB) Used(ctx context.Context, userID string) (u Used, err error) {
	err = db.get(ctx, &u, `SELECT `+quotaColumns+`, (`+bytesStored+`) AS bytes FROM change_heads WHERE user_id = ?`, userID, userID)
	if err != nil {
		return u, fmt.Errorf("read what user %s has used: %w", userID, err)
	}
	u.complete(db.quota, db.Now())
	return u, nil
}

const bytesStored = `SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM images WHERE user_id = ?`

// charge counts n new images of a person, if they may have them. The change
// number must have been raised before: its row is locked.
func (t *tx) charge(userID string, n int) error {
	today := t.now.Format(time.DateOnly)
	var u Used
	err := t.get(&u, `UPDATE change_heads SET made = CASE WHEN made_on = ? THEN made ELSE 0 END + ?, made_on = ?
		WHERE user_id = ? RETURNING `+quotaColumns, today, n, today, userID)
	if err != nil {
		return fmt.Errorf("count the images of user %s: %w", userID, err)
	}
	u.complete(t.quota, t.now)
	if u.ImagesPerDay > 0 && u.ImagesToday > u.ImagesPerDay {
		return &QuotaError{Limit: u.ImagesPerDay, ResetsAt: u.ResetsAt}
	}
	if u.Bytes == 0 {
		return nil
	}
	if err := t.get(&u.BytesStored, bytesStored, userID); err != nil {
		return fmt.Errorf("measure the images of user %s: %w", userID, err)
	}
	if u.BytesStored >= u.Bytes {
		return &QuotaError{Limit: u.Bytes, Bytes: true}
	}
	return nil
}

// UserChange is what an administrator changes of an account. Nil leaves it as
// it is.
type UserChange struct {
	Role     *Role
	Disabled *bool
	// Quotas of this person; below zero: as the settings say again.
	QuotaImages *int64
	QuotaBytes  *int64
}

// ChangeUser changes an account. Who is disabled is signed out. There is always
// an administrator who is not disabled: else it is ErrLastAdmin.
func (db *DB) ChangeUser(ctx context.Context, id string, c UserChange) error {
	err := db.write(ctx, func(t *tx) error {
		u, err := t.lockUser(id)
		if err != nil {
			return err
		}
		wasAdmin := u.Role == Admin && u.DisabledAt.IsZero()
		u.Role = *cmp.Or(c.Role, &u.Role)
		if c.Disabled != nil {
			u.DisabledAt = Time{}
			if *c.Disabled {
				u.DisabledAt = t.now
			}
		}
		u.QuotaImages, u.QuotaBytes = newQuota(u.QuotaImages, c.QuotaImages), newQuota(u.QuotaBytes, c.QuotaBytes)
		_, err = t.exec(`UPDATE users SET role = ?, disabled_at = ?, quota_images = ?, quota_bytes = ? WHERE id = ?`,
			string(u.Role), u.DisabledAt, u.QuotaImages, u.QuotaBytes, id)
		if err == nil && !u.DisabledAt.IsZero() {
			_, err = t.exec(`DELETE FROM sessions WHERE user_id = ?`, id)
		}
		if err != nil || !wasAdmin {
			return err
		}
		return t.keepAnAdmin()
	})
	if err != nil {
		return fmt.Errorf("change user %s: %w", id, err)
	}
	return nil
}

func newQuota(was, wanted *int64) *int64 {
	switch {
	case wanted == nil:
		return was
	case *wanted < 0:
		return nil
	}
	return wanted
}

// lockUser reads an account, so that nobody else changes any until the end of
// the transaction: of two administrators who disable each other one has to see
// the other's.
func (t *tx) lockUser(id string) (*User, error) {
	var all []string
	if err := t.all(&all, `SELECT id FROM users WHERE role = 'admin' OR id = ? ORDER BY id`+t.forUpdate(), id); err != nil {
		return nil, err
	}
	var u User
	return &u, t.get(&u, `SELECT `+userColumns+` FROM users WHERE id = ?`, id)
}

func (t *tx) keepAnAdmin() error {
	var admins int
	if err := t.get(&admins, `SELECT count(*) FROM users WHERE role = 'admin' AND disabled_at IS NULL`); err != nil {
		return err
	}
	if admins == 0 {
		return ErrLastAdmin
	}
	return nil
}
