package records

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Role says what a user may do beside their own things.
type Role string

// The roles.
const (
	Admin  Role = "admin"
	Member Role = "member"
)

// User is a person with an account.
type User struct {
	ID           string `db:"id"`
	Username     string `db:"username"`      // lower case
	PasswordHash string `db:"password_hash"` // empty: restored from the store, nobody can sign in yet
	Role         Role   `db:"role"`
	Language     string `db:"language"` // empty: as the browser says
	Theme        string `db:"theme"`    // empty: as the system says
	CreatedAt    Time   `db:"created_at"`
	DisabledAt   Time   `db:"disabled_at"`
	QuotaImages  *int64 `db:"quota_images"` // a day; 0: no bound; nil: as the settings say
	QuotaBytes   *int64 `db:"quota_bytes"`
}

// Errors of accounts, each a sentence for people.
var (
	ErrBadUsername   = errors.New("a username has 1 to 40 letters, digits, dots, dashes or underscores")
	ErrUsernameTaken = errors.New("the username is taken")
	ErrWrongPassword = errors.New("username or password is wrong")
	ErrSetupDone     = errors.New("there is an administrator already")
	ErrLastAdmin     = errors.New("there has to be an administrator")
	ErrSetupToken    = errors.New("the setup link was used or has expired")
)

var usernameForm = regexp.MustCompile(`^[a-z0-9._-]{1,40}$`)

// IsUsername reports whether an account can have this name, in lower case.
func IsUsername(name string) bool { return usernameForm.MatchString(name) }

const userColumns = `id, username, password_hash, role, language, theme, created_at, disabled_at, quota_images, quota_bytes`

// CreateUser adds an account. Usernames are the same in upper and lower case.
func (db *DB) CreateUser(ctx context.Context, username, password string, role Role) (*User, error) {
	return db.CreateUserOnce(ctx, username, password, role, "", Idempotency{})
}

// CreateUserOnce adds an account for somebody who may repeat the request by
// their idempotency key.
func (db *DB) CreateUserOnce(ctx context.Context, username, password string, role Role, byUser string, key Idempotency) (*User, error) {
	u, err := newUser(username, password, role)
	if err != nil {
		return nil, err
	}
	err = db.write(ctx, func(t *tx) error {
		ref, err := t.once(byUser, key, u.ID)
		if err == nil && ref != u.ID {
			return t.get(u, `SELECT `+userColumns+` FROM users WHERE id = ?`, ref)
		}
		if err != nil {
			return err
		}
		return t.insertUser(u)
	})
	if err != nil {
		return nil, fmt.Errorf("create user %s: %w", u.Username, err)
	}
	return u, nil
}

func newUser(username, password string, role Role) (*User, error) {
	username = strings.ToLower(strings.TrimSpace(username))
	if !usernameForm.MatchString(username) {
		return nil, ErrBadUsername
	}
	hash, err := hashPassword(password)
	if err != nil {
		return nil, err
	}
	return &User{ID: NewID(), Username: username, PasswordHash: hash, Role: role}, nil
}

// insertUser adds an account, or gives one its password that was restored from
// the store and has none.
func (t *tx) insertUser(u *User) error {
	err := t.get(u, `INSERT INTO users (id, username, password_hash, role, created_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (username) DO UPDATE SET password_hash = excluded.password_hash, role = excluded.role
			WHERE users.password_hash = ''
		RETURNING `+userColumns, u.ID, u.Username, u.PasswordHash, string(u.Role), t.now)
	if errors.Is(err, ErrNotFound) {
		return ErrUsernameTaken
	}
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO change_heads (user_id, seq) VALUES (?, 0) ON CONFLICT (user_id) DO NOTHING`, u.ID)
	return err
}

// User returns an account by its id.
func (db *DB) User(ctx context.Context, id string) (*User, error) {
	var u User
	if err := db.get(ctx, &u, `SELECT `+userColumns+` FROM users WHERE id = ?`, id); err != nil {
		return nil, fmt.Errorf("read user %s: %w", id, err)
	}
	return &u, nil
}

// UserByName returns an account by its username.
func (db *DB) UserByName(ctx context.Context, username string) (*User, error) {
	var u User
	username = strings.ToLower(strings.TrimSpace(username))
	err := ErrNotFound
	if usernameForm.MatchString(username) { // others PostgreSQL might not even take
		err = db.get(ctx, &u, `SELECT `+userColumns+` FROM users WHERE username = ?`, username)
	}
	if err != nil {
		return nil, fmt.Errorf("read user %q: %w", username, err)
	}
	return &u, nil
}

// Users lists all accounts by name.
func (db *DB) Users(ctx context.Context) ([]User, error) {
	var list []User
	if err := db.all(ctx, &list, `SELECT `+userColumns+` FROM users ORDER BY username`); err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	return list, nil
}

// Authenticate returns the account that has this name and password, or
// ErrWrongPassword. It takes as long for a name that does not exist.
func (db *DB) Authenticate(ctx context.Context, username, password string) (*User, error) {
	u, err := db.UserByName(ctx, username)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	hash := nobodysHash
	if u != nil && u.PasswordHash != "" {
		hash = u.PasswordHash
	}
	ok, err := checkPassword(hash, password)
	if err != nil {
		return nil, err
	}
	if !ok || u == nil || u.PasswordHash == "" || !u.DisabledAt.IsZero() {
		return nil, ErrWrongPassword
	}
	return u, nil
}

// SetPassword changes a password and ends the person's sessions but one,
// whose token is kept; empty ends all.
func (db *DB) SetPassword(ctx context.Context, userID, password, keepToken string) error {
	hash, err := hashPassword(password)
	if err != nil {
		return err
	}
	err = db.write(ctx, func(t *tx) error {
		if _, err := t.exec(`UPDATE users SET password_hash = ? WHERE id = ?`, hash, userID); err != nil {
			return err
		}
		_, err := t.exec(`DELETE FROM sessions WHERE user_id = ? AND token_hash <> ?`, userID, tokenHash(keepToken))
		return err
	})
	if err != nil {
		return fmt.Errorf("change a password: %w", err)
	}
	return nil
}

// SetProfile changes a person's language and theme; empty leaves the choice
// to the browser.
func (db *DB) SetProfile(ctx context.Context, userID, language, theme string) error {
	err := db.write(ctx, func(t *tx) error {
		_, err := t.exec(`UPDATE users SET language = ?, theme = ? WHERE id = ?`, language, theme, userID)
		return err
	})
	if err != nil {
		return fmt.Errorf("change a profile: %w", err)
	}
	return nil
}
