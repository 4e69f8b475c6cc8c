package records

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The scopes of an API key.
const (
	ScopeImagesRead  = "images:read"
	ScopeImagesWrite = "images:write" // implies images:read
	ScopeOpsRead     = "ops:read"
	ScopeOpsWrite    = "ops:write"
)

// Scopes are all scopes.
var Scopes = []string{ScopeImagesRead, ScopeImagesWrite, ScopeOpsRead, ScopeOpsWrite}

// Errors of API keys, each a sentence for people.
var (
	ErrBadScope   = errors.New("a scope is one of " + strings.Join(Scopes, ", "))
	ErrBadKeyName = errors.New("the name of a key has 1 to 60 characters")
	ErrBadKeyTTL  = errors.New("a key cannot expire before it is made")
)

// keyMark begins every key, so that leaked ones can be searched for.
const keyMark = "afi_"

// APIKey lets a program act for a person within its scopes.
type APIKey struct {
	ID         string `db:"id"`
	UserID     string `db:"user_id"`
	Name       string `db:"name"`
	Prefix     string `db:"prefix"` // the part that may be shown
	Scopes     string `db:"scopes"` // separated by a space
	CreatedAt  Time   `db:"created_at"`
	ExpiresAt  Time   `db:"expires_at"` // zero: never
	LastUsedAt Time   `db:"last_used_at"`
	RevokedAt  Time   `db:"revoked_at"`
}

// Allows reports whether the key has a scope, by itself or by one that implies
// it.
func (k *APIKey) Allows(scope string) bool {
	has := strings.Fields(k.Scopes)
	return slices.Contains(has, scope) ||
		scope == ScopeImagesRead && slices.Contains(has, ScopeImagesWrite) ||
		scope == ScopeOpsRead && slices.Contains(has, ScopeOpsWrite)
}

const keyColumns = `id, user_id, name, prefix, scopes, created_at, expires_at, last_used_at, revoked_at`

// CreateKey makes a key and returns its secret, which is shown once and not
// kept. A ttl of 0 means that it does not expire.
func (db *DB) CreateKey(ctx context.Context, userID, name string, scopes []string, ttl time.Duration) (*APIKey, string, error) {
	return db.CreateKeyOnce(ctx, userID, name, scopes, ttl, Idempotency{})
}

// CreateKeyOnce is CreateKey for a request that may be repeated. The repeat
// returns the key that the first one made, without its secret.
func (db *DB) CreateKeyOnce(ctx context.Context, userID, name string, scopes []string, ttl time.Duration, key Idempotency) (*APIKey, string, error) {
	name = strings.TrimSpace(name)
	if n := utf8.RuneCountInString(name); n < 1 || n > 60 || !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		return nil, "", ErrBadKeyName
	}
	if len(scopes) == 0 || slices.ContainsFunc(scopes, func(s string) bool { return !slices.Contains(Scopes, s) }) {
		return nil, "", ErrBadScope
	}
	if ttl < 0 {
		return nil, "", ErrBadKeyTTL
	}
	secret := keyMark + newToken() + newToken()[:6]
	k := &APIKey{ID: NewID(), UserID: userID, Name: name, Prefix: secret[:len(keyMark)+4], Scopes: strings.Join(scopes, " ")}
	err := db.write(ctx, func(t *tx) error {
		ref, err := t.once(userID, key, k.ID)
		if err == nil && ref != k.ID {
			secret = ""
			return t.get(k, `SELECT `+keyColumns+` FROM api_keys WHERE id = ? AND user_id = ?`, ref, userID)
		}
		if err != nil {
			return err
		}
		k.CreatedAt = t.now
		if ttl > 0 {
			k.ExpiresAt = t.now.Add(ttl)
		}
		_, err = t.exec(`INSERT INTO api_keys (id, user_id, name, prefix, hash, scopes, created_at, expires_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, k.ID, userID, k.Name, k.Prefix, tokenHash(secret), k.Scopes, k.CreatedAt, k.ExpiresAt)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("create an API key: %w", err)
	}
	return k, secret, nil
}

// KeyUser returns the key that has this secret and whose it is, or ErrNotFound
// if it does not exist, was revoked or has expired.
func (db *DB) KeyUser(ctx context.Context, secret string) (*APIKey, *User, error) {
	if !strings.HasPrefix(secret, keyMark) {
		return nil, nil, fmt.Errorf("look up an API key: %w", ErrNotFound)
	}
	var k APIKey
	err := db.get(ctx, &k, `SELECT `+keyColumns+` FROM api_keys
		WHERE hash = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)`, tokenHash(secret), db.Now())
	if err != nil {
		return nil, nil, fmt.Errorf("look up an API key: %w", err)
	}
	u, err := db.User(ctx, k.UserID)
	if err == nil && !u.DisabledAt.IsZero() {
		err = ErrNotFound
	}
	if err != nil {
		return nil, nil, fmt.Errorf("look up an API key: %w", err)
	}
	return &k, u, nil
}

// keyUseStep is how exactly the last use of a key is kept: a write for every
// request would cost more than the request.
const keyUseStep = time.Minute

// TouchKey records that a key was used, at most once a minute.
func (db *DB) TouchKey(ctx context.Context, k *APIKey) error {
	if db.Now().Sub(k.LastUsedAt.Time) < keyUseStep {
		return nil
	}
	err := db.write(ctx, func(t *tx) error {
		_, err := t.exec(`UPDATE api_keys SET last_used_at = ? WHERE id = ?`, t.now, k.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("record the use of an API key: %w", err)
	}
	return nil
}

// Keys lists a person's keys, newest first, revoked ones left out.
func (db *DB) Keys(ctx context.Context, userID string) ([]APIKey, error) {
	var list []APIKey
	err := db.all(ctx, &list, `SELECT `+keyColumns+` FROM api_keys
		WHERE user_id = ? AND revoked_at IS NULL ORDER BY created_at DESC, id DESC`, userID)
	if err != nil {
		return nil, fmt.Errorf("list API keys: %w", err)
	}
	return list, nil
}

// RevokeKey makes a key stop working at once.
func (db *DB) RevokeKey(ctx context.Context, userID, id string) error {
	err := db.write(ctx, func(t *tx) error {
		n, err := t.exec(`UPDATE api_keys SET revoked_at = ? WHERE id = ? AND user_id = ? AND revoked_at IS NULL`, t.now, id, userID)
		if err == nil && n == 0 {
			err = ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("revoke API key %s: %w", id, err)
	}
	return nil
}
