package records

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
)

// Image is one image from the moment it was asked for. A request for n images
// is n rows with n states.
type Image struct {
	ID              string  `db:"id"`
	UserID          string  `db:"user_id"`
	GenerationID    *string `db:"generation_id"`
	ImportID        *string `db:"import_id"`
	Position        int     `db:"position"`
	Seq             int64   `db:"seq"` // the owner's change number when it last changed
	Status          Status  `db:"status"`
	Prompt          string  `db:"prompt"`
	NegativePrompt  string  `db:"negative_prompt"`
	Provider        string  `db:"provider"`
	Model           string  `db:"model"`
	Params          Params  `db:"params"`
	SourceURL       string  `db:"source_url"` // never shown to anybody
	SourceExpiresAt Time    `db:"source_expires_at"`
	SpoolID         string  `db:"spool_id"` // the spool that holds the bytes; empty: none does
	ObjectKey       string  `db:"object_key"`
	ObjectETag      string  `db:"object_etag"`
	MIME            string  `db:"mime"`
	Bytes           int64   `db:"bytes"`
	Width           int     `db:"width"` // as asked for until the bytes are there
	Height          int     `db:"height"`
	SHA256          string  `db:"sha256"`      // lower-case hex
	Thumb           string  `db:"thumb"`       // one of the Thumb constants
	Placeholder     string  `db:"placeholder"` // base64 of a thumbhash
	Sidecar         string  `db:"sidecar"`     // the part of its sidecar's key that nobody can guess
	Attempt         int     `db:"attempt"`     // the number of the attempt that runs or ran last
	NextAttemptAt   Time    `db:"next_attempt_at"`
	Reason          string  `db:"reason"`
	ProviderMessage string  `db:"provider_message"`
	Favorite        bool    `db:"favorite"`
	TrashedAt       Time    `db:"trashed_at"`
	CreatedAt       Time    `db:"created_at"`
	UpdatedAt       Time    `db:"updated_at"`
	ArchivedAt      Time    `db:"archived_at"`
	DeletedAt       Time    `db:"deleted_at"` // only in a history: it is gone

	importKey string // only when it is inserted
	madeAt    Time   // only when it is inserted; zero: now
}

// Secured reports whether the bytes are safe on our side: in the store or in
// a spool.
func (i *Image) Secured() bool {
	return i.SpoolID != "" || i.ObjectKey != "" && i.Status != ArchiveFailed // a failed one keeps the key of an object that is damaged
}

// Retryable reports whether Retry has anything to do: a next attempt waits, or
// it failed and there is still something to archive from.
func (i *Image) Retryable() bool {
	return i.Status == RetryWait || i.Status == ArchiveFailed && (i.SourceURL != "" || i.SpoolID != "")
}

// Params are what a generation was asked for beside its prompt, as JSON.
type Params map[string]any

// Scan implements sql.Scanner.
func (p *Params) Scan(src any) error { return scanJSON(src, p) }

// text is the column's value; what came from JSON always is JSON.
func (p Params) text() string {
	if len(p) == 0 {
		return "{}"
	}
	b, err := json.Marshal(p)
	if err != nil {
		return "{}"
	}
	return string(b)
}

const imageColumns = `id, user_id, generation_id, import_id, position, seq, status, prompt, negative_prompt,
	provider, model, params, source_url, source_expires_at, spool_id, object_key, object_etag, mime, bytes,
	width, height, sha256, thumb, placeholder, sidecar, attempt, next_attempt_at, reason, provider_message, favorite, trashed_at,
	created_at, updated_at, archived_at`

// Image returns one image of a person.
func (db *DB) Image(ctx context.Context, userID, id string) (*Image, error) {
	var i Image
	err := db.get(ctx, &i, `SELECT `+imageColumns+` FROM images WHERE id = ? AND user_id = ?`, id, userID)
	if err != nil {
		return nil, fmt.Errorf("read image %s: %w", id, err)
	}
	return &i, nil
}

// ImageByLink returns an image by its address alone: who has the unguessable
// id may see the bytes, as AFTERIMAGE_IMAGE_ACCESS=link promises. Nothing but
// the bytes may be shown for it.
func (db *DB) ImageByLink(ctx context.Context, id string) (*Image, error) {
	var i Image
	if err := db.get(ctx, &i, `SELECT `+imageColumns+` FROM images WHERE id = ?`, id); err != nil {
		return nil, fmt.Errorf("read image %s: %w", id, err)
	}
	return &i, nil
}

// Int is a whole number among the params.
func (p Params) Int(name string) (int64, bool) {
	switch v := p[name].(type) {
	case float64: // as JSON gives it
		return int64(v), v == float64(int64(v))
	case int64:
		return v, true
	}
	return 0, false
}

// With is a copy of the params with one set; an empty value leaves them as
// they are.
func (p Params) With(name string, value any) Params {
	if value == "" || value == int64(0) {
		return p
	}
	q := maps.Clone(p)
	if q == nil {
		q = Params{}
	}
	q[name] = value
	return q
}
