package records

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Restorable is an image as the store tells of it, with what it belongs to.
type Restorable struct {
	Image // UserID is left empty: the account has the owner's name
	Origin
}

// Restored counts what a restore added, and what was there already.
type Restored struct {
	Images      int `json:"images"`
	Same        int `json:"same"` // images that were there, just the same
	Users       int `json:"users"`
	Generations int `json:"generations"`
	Imports     int `json:"imports"`
}

// Add adds up two counts.
func (r *Restored) Add(o Restored) {
	r.Images, r.Same, r.Users = r.Images+o.Images, r.Same+o.Same, r.Users+o.Users
	r.Generations, r.Imports = r.Generations+o.Generations, r.Imports+o.Imports
}

// NotTheSameError says that the database holds another image than the store,
// so that it is not the one to be restored.
type NotTheSameError struct{ ID string }

func (e *NotTheSameError) Error() string {
	return fmt.Sprintf("the database has image %s, which is not just as the store tells of it", e.ID)
}

// HasImages reports whether there is any image.
func (db *DB) HasImages(ctx context.Context) (bool, error) {
	var n int
	if err := db.get(ctx, &n, `SELECT count(*) FROM (SELECT 1 FROM images LIMIT 1) AS some_image`); err != nil {
		return false, fmt.Errorf("look for images: %w", err)
	}
	return n > 0, nil
}

// CompareRestored compares the images of the database whose ids lie after one
// id and up to another with all that the store has there, in the order of
// their ids. Any that differs is a *NotTheSameError; the same ones are counted.
func (db *DB) CompareRestored(ctx context.Context, after, upTo string, list []Restorable) (same int, err error) {
	err = db.write(ctx, func(t *tx) error {
		same, _, err = t.compareRestored(after, upTo, list)
		return err
	})
	return same, err
}

// Restore is CompareRestored, and adds what is missing: images with their
// generations and imports, accounts that have no password yet, and jobs for
// thumbnails that are not there. It may be repeated.
func (db *DB) Restore(ctx context.Context, after, upTo string, list []Restorable) (r Restored, err error) {
	err = db.write(ctx, func(t *tx) error {
		r = Restored{} // of an earlier try
		same, missing, err := t.compareRestored(after, upTo, list)
		if err != nil {
			return err
		}
		r.Same, r.Images = same, len(missing)
		if r.Users, err = t.restoreUsers(missing); err != nil {
			return fmt.Errorf("restore accounts: %w", err)
		}
		if r.Generations, r.Imports, err = t.restoreRequests(missing); err != nil {
			return fmt.Errorf("restore generations: %w", err)
		}
		return t.restoreImages(missing)
	})
	return r, err
}

func (t *tx) compareRestored(after, upTo string, list []Restorable) (same int, missing []*Restorable, err error) {
	var rows []struct {
		Image
		Owner string `db:"owner"`
	}
	err = t.all(&rows, `SELECT `+imageColumns+`, (SELECT username FROM users WHERE users.id = images.user_id) AS owner
		FROM images WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`, after, upTo, len(list)+1)
	if err != nil {
		return 0, nil, fmt.Errorf("read images: %w", err)
	}
	there := map[string]bool{}
	for n := range rows {
		i := slices.IndexFunc(list, func(k Restorable) bool { return k.ID == rows[n].ID })
		if i < 0 || !list[i].sameAs(&rows[n].Image, rows[n].Owner) {
			return 0, nil, &NotTheSameError{rows[n].ID}
		}
		there[rows[n].ID] = true
	}
	for n := range list {
		if !there[list[n].ID] {
			missing = append(missing, &list[n])
		}
	}
	return len(rows), missing, nil
}

// sameAs compares what never changes of an archived image. Its owner's marks
// and its thumbnails do.
func (k *Restorable) sameAs(i *Image, owner string) bool {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	return k.Owner == owner && k.Prompt == i.Prompt && k.NegativePrompt == i.NegativePrompt &&
		k.Provider == i.Provider && k.Model == i.Model && k.Params.text() == i.Params.text() &&
		text(k.GenerationID) == text(i.GenerationID) && text(k.ImportID) == text(i.ImportID) && k.Position == i.Position &&
		k.ObjectKey == i.ObjectKey && k.MIME == i.MIME && k.Bytes == i.Bytes && k.SHA256 == i.SHA256 &&
		k.Width == i.Width && k.Height == i.Height && k.CreatedAt == i.CreatedAt && k.ArchivedAt == i.ArchivedAt
}

// restoreUsers sets the images' owners. An account that is not there is made
// without a password.
func (t *tx) restoreUsers(list []*Restorable) (made int, err error) {
	ids := map[string]string{}
	for _, k := range list {
		id, known := ids[k.Owner]
		if !known {
			err := t.get(&id, `SELECT id FROM users WHERE username = ?`, k.Owner)
			if errors.Is(err, ErrNotFound) {
				u := &User{ID: NewID(), Username: k.Owner, Role: Member}
				err, id, made = t.insertUser(u), u.ID, made+1
			}
			if err != nil {
				return 0, err
			}
			ids[k.Owner] = id
		}
		k.UserID = id
	}
	return made, nil
}

// restoreRequests adds the generations and imports of images. A generation may
// have more images than were kept.
func (t *tx) restoreRequests(list []*Restorable) (generations, imports int, err error) {
	var rows, importRows [][]any
	seen := map[string]bool{}
	for _, k := range list {
		if g := k.Generation; g != nil && !seen[g.ID] {
			seen[g.ID] = true
			rows = append(rows, []any{g.ID, k.UserID, string(GenerationSucceeded), g.Provider, g.Model, g.Prompt, g.NegativePrompt,
				g.Params.text(), g.N, g.CreatedAt, g.SubmittedAt, g.FinishedAt})
		}
		if k.ImportID != nil && !seen[*k.ImportID] {
			seen[*k.ImportID] = true
			importRows = append(importRows, []any{*k.ImportID, k.UserID, k.ImportedAt})
		}
	}
	g, err := t.insert(`generations (id, user_id, status, provider, model, prompt, negative_prompt, params, n,
		created_at, submitted_at, finished_at)`, rows, ` ON CONFLICT (id) DO NOTHING`)
	if err != nil {
		return 0, 0, err
	}
	i, err := t.insert(`imports (id, user_id, created_at)`, importRows, ` ON CONFLICT (id) DO NOTHING`)
	return int(g), int(i), err
}

// restoreImages adds images, in the order of their ids, which is that of their
// making.
func (t *tx) restoreImages(list []*Restorable) error {
	changes := make([]ImageChange, len(list))
	for n, k := range list {
		changes[n] = ImageChange{Image: &k.Image}
	}
	if err := t.number(changes); err != nil {
		return err
	}
	var rows, events [][]any
	var jobs []newJob
	var restored []*Image
	for _, k := range list {
		i := &k.Image
		restored = append(restored, i)
		rows = append(rows, []any{i.ID, i.UserID, i.GenerationID, i.ImportID, i.Position, i.Seq, string(i.Status), i.Prompt, i.NegativePrompt,
			i.Provider, i.Model, i.Params.text(), i.SourceExpiresAt, i.ObjectKey, i.ObjectETag, i.MIME, i.Bytes, i.Width, i.Height, i.SHA256,
			i.Thumb, i.Placeholder, i.Sidecar, i.Attempt, i.Reason, i.ProviderMessage, i.Favorite, i.TrashedAt, i.CreatedAt, i.UpdatedAt, i.ArchivedAt})
		begun := EventAccepted
		if i.ImportID != nil {
			begun = EventImported
		}
		events = append(events, []any{t.orderedID(), i.ID, begun, 0, "", i.CreatedAt},
			[]any{t.orderedID(), i.ID, EventArchived, i.Attempt, "", i.ArchivedAt})
		if i.Status != Archived {
			events = append(events, []any{t.orderedID(), i.ID, EventArchiveFailed, 0, i.Reason, t.now})
		} else if i.Thumb == ThumbNotYet {
			jobs = append(jobs, newJob{kind: KindThumbnail, ref: i.ID, userID: i.UserID, lane: LaneIdle})
		}
	}
	_, err := t.insert(`images (id, user_id, generation_id, import_id, position, seq, status, prompt, negative_prompt,
		provider, model, params, source_expires_at, object_key, object_etag, mime, bytes, width, height, sha256,
		thumb, placeholder, sidecar, attempt, reason, provider_message, favorite, trashed_at, created_at, updated_at, archived_at)`, rows, ``)
	if err == nil {
		err = t.indexPrompts(restored)
	}
	if err == nil {
		_, err = t.insert(`image_events (id, image_id, kind, attempt, reason, at)`, events, ``)
	}
	if err == nil {
		_, err = t.enqueue(jobs...)
	}
	if err != nil {
		return fmt.Errorf("restore images: %w", err)
	}
	return nil
}
