package records

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// resetTTL is how long a link for a new password works.
const resetTTL = 24 * time.Hour

// ErrResetToken says that a link for a new password does not work (any more).
var ErrResetToken = errors.New("the link was used or has expired")

// NewResetToken returns a token with which a person can choose a new password
// once, within a day. Earlier ones of the person stop working.
func (db *DB) NewResetToken(ctx context.Context, userID string) (token string, expires Time, err error) {
	token = newToken()
	err = db.write(ctx, func(t *tx) error {
		expires = t.now.Add(resetTTL)
		if _, err := t.exec(`DELETE FROM reset_tokens WHERE user_id = ? OR expires_at <= ?`, userID, t.now); err != nil {
			return err
		}
		_, err := t.exec(`INSERT INTO reset_tokens (hash, user_id, expires_at) VALUES (?, ?, ?)`, tokenHash(token), userID, expires)
		return err
	})
	if err != nil {
		return "", Time{}, fmt.Errorf("make a link for a new password: %w", err)
	}
	return token, expires, nil
}

// ResetUser returns whose password a token changes, or ErrResetToken.
func (db *DB) ResetUser(ctx context.Context, token string) (*User, error) {
	var u User
	err := db.get(ctx, &u, `SELECT `+userColumns+` FROM users WHERE disabled_at IS NULL
		AND id = (SELECT user_id FROM reset_tokens WHERE hash = ? AND expires_at > ?)`, tokenHash(token), db.Now())
	if errors.Is(err, ErrNotFound) {
		err = ErrResetToken
	}
	if err != nil {
		return nil, fmt.Errorf("look up a link for a new password: %w", err)
	}
	return &u, nil
}

// ResetPassword sets a new password, uses the token up and ends all sessions of
// the person.
func (db *DB) ResetPassword(ctx context.Context, token, password string) (*User, error) {
	u, err := db.ResetUser(ctx, token)
	if err != nil {
		return nil, err
	}
	hash, err := hashPassword(password)
	if err != nil {
		return nil, err
	}
	err = db.write(ctx, func(t *tx) error {
		n, err := t.exec(`DELETE FROM reset_tokens WHERE hash = ?`, tokenHash(token))
		if err == nil && n == 0 {
			err = ErrResetToken // of two at the same moment one was faster
		}
		if err == nil {
			_, err = t.exec(`UPDATE users SET password_hash = ? WHERE id = ?`, hash, u.ID)
		}
		if err == nil {
			_, err = t.exec(`DELETE FROM sessions WHERE user_id = ?`, u.ID)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("set a new password: %w", err)
	}
	return u, nil
}
