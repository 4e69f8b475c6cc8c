package records

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// sessionTTL is how long a person stays signed in.
const sessionTTL = 30 * 24 * time.Hour

// CreateSession signs a person in and returns the token for their cookie. The
// database keeps only its hash.
func (db *DB) CreateSession(ctx context.Context, userID, userAgent string) (token string, expires Time, err error) {
	token = newToken()
	if len(userAgent) > 300 {
		userAgent = userAgent[:300]
	}
	err = db.write(ctx, func(t *tx) error {
		expires = t.now.Add(sessionTTL)
		if _, err := t.exec(`DELETE FROM sessions WHERE user_id = ? AND expires_at <= ?`, userID, t.now); err != nil {
			return err
		}
		_, err := t.exec(`INSERT INTO sessions (token_hash, user_id, user_agent, created_at, expires_at) VALUES (?, ?, ?, ?, ?)`,
			tokenHash(token), userID, validText(userAgent), t.now, expires)
		return err
	})
	if err != nil {
		return "", Time{}, fmt.Errorf("sign in: %w", err)
	}
	return token, expires, nil
}

// SessionUser returns who is signed in with a token, or ErrNotFound.
func (db *DB) SessionUser(ctx context.Context, token string) (*User, error) {
	var u User
	err := db.get(ctx, &u, `SELECT `+userColumns+` FROM users WHERE disabled_at IS NULL
		AND id = (SELECT user_id FROM sessions WHERE token_hash = ? AND expires_at > ?)`, tokenHash(token), db.Now())
	if err != nil {
		return nil, fmt.Errorf("look up a session: %w", err)
	}
	return &u, nil
}

// Session is a place where a person is signed in.
type Session struct {
	ID        string `db:"id"` // not what signs in: that only the cookie has
	UserAgent string `db:"user_agent"`
	CreatedAt Time   `db:"created_at"`
	ExpiresAt Time   `db:"expires_at"`
}

// Sessions lists where a person is signed in, newest first.
func (db *DB) Sessions(ctx context.Context, userID string) ([]Session, error) {
	var list []Session
	err := db.all(ctx, &list, `SELECT substr(token_hash, 1, 32) AS id, user_agent, created_at, expires_at FROM sessions
		WHERE user_id = ? AND expires_at > ? ORDER BY created_at DESC, token_hash`, userID, db.Now())
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return list, nil
}

// SessionID is the id of the session that has a token.
func SessionID(token string) string { return tokenHash(token)[:32] }

// EndSession signs a person out somewhere.
func (db *DB) EndSession(ctx context.Context, userID, id string) error {
	err := db.write(ctx, func(t *tx) error {
		n, err := t.exec(`DELETE FROM sessions WHERE user_id = ? AND substr(token_hash, 1, 32) = ?`, userID, id)
		if err == nil && n == 0 {
			err = ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("end session %s: %w", id, err)
	}
	return nil
}

// DeleteSession signs out.
func (db *DB) DeleteSession(ctx context.Context, token string) error {
	err := db.write(ctx, func(t *tx) error {
		_, err := t.exec(`DELETE FROM sessions WHERE token_hash = ?`, tokenHash(token))
		return err
	})
	if err != nil {
		return fmt.Errorf("sign out: %w", err)
	}
	return nil
}

// newToken returns 26 characters with 130 random bits.
func newToken() string { return rand.Text() }

// tokenHash is what the database keeps of a token. Tokens are random, so one
// round of SHA-256 is enough.
func tokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
