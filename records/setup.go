package records

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// setupTTL is how long a setup link works.
const setupTTL = 30 * time.Minute

// NeedsSetup reports whether there is no administrator yet.
func (db *DB) NeedsSetup(ctx context.Context) (bool, error) {
	var n int
	if err := db.get(ctx, &n, `SELECT count(*) FROM users WHERE role = 'admin'`); err != nil {
		return false, fmt.Errorf("look for an administrator: %w", err)
	}
	return n == 0, nil
}

// NewSetupToken returns a token that lets one person create the administrator
// within 30 minutes. Earlier tokens stop working.
func (db *DB) NewSetupToken(ctx context.Context) (string, error) {
	token := newToken()
	err := db.write(ctx, func(t *tx) error {
		if _, err := t.exec(`DELETE FROM setup_tokens`); err != nil {
			return err
		}
		_, err := t.exec(`INSERT INTO setup_tokens (hash, created_at, expires_at) VALUES (?, ?, ?)`,
			tokenHash(token), t.now, t.now.Add(setupTTL))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("make a setup link: %w", err)
	}
	return token, nil
}

// CheckSetupToken returns ErrSetupToken if the token does not work (any more).
func (db *DB) CheckSetupToken(ctx context.Context, token string) error {
	var n int
	err := db.get(ctx, &n, `SELECT count(*) FROM setup_tokens WHERE hash = ? AND expires_at > ?`, tokenHash(token), db.Now())
	if err != nil {
		return fmt.Errorf("look up a setup link: %w", err)
	}
	if n == 0 {
		return ErrSetupToken
	}
	return nil
}

// Setup creates the administrator and uses the token up. Of two at the same
// moment one gets ErrSetupToken.
func (db *DB) Setup(ctx context.Context, token, username, password string) (*User, error) {
	u, err := newUser(username, password, Admin)
	if err != nil {
		return nil, err
	}
	err = db.write(ctx, func(t *tx) error {
		// All of them, so that two people with two links wait for each other too.
		var valid []string
		err := t.all(&valid, `SELECT hash FROM setup_tokens WHERE expires_at > ? ORDER BY hash`+t.forUpdate(), t.now)
		if err != nil {
			return err
		}
		if !slices.Contains(valid, tokenHash(token)) {
			return ErrSetupToken
		}
		if _, err := t.exec(`DELETE FROM setup_tokens`); err != nil {
			return err
		}
		var n int
		if err := t.get(&n, `SELECT count(*) FROM users WHERE role = 'admin'`); err != nil {
			return err
		}
		if n > 0 {
			return ErrSetupDone
		}
		return t.insertUser(u)
	})
	if err != nil {
		return nil, fmt.Errorf("create the administrator: %w", err)
	}
	return u, nil
}
