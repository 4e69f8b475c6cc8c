package records

import (
	"cmp"
	"context"
	"fmt"
)

// insertImages adds new images of one person, giving each its id, change
// number and first event.
func (t *tx) insertImages(userID string, images []Image) error {
	seq, err := t.bump(userID, len(images))
	if err == nil {
		err = t.charge(userID, len(images))
	}
	if err != nil {
		return err
	}
	rows, events := make([][]any, len(images)), make([]Event, len(images))
	for n := range images {
		i := &images[n]
		i.ID, i.Sidecar, i.Seq, i.CreatedAt, i.UpdatedAt = cmp.Or(i.ID, NewID()), newSidecar(), seq+int64(n), t.now, t.now
		if !i.madeAt.IsZero() {
			i.CreatedAt = i.madeAt
		}
		rows[n] = []any{i.ID, userID, i.GenerationID, i.ImportID, i.importKey, i.Position, i.Seq, string(i.Status), i.Prompt,
			i.NegativePrompt, i.Provider, i.Model, i.Params.text(), i.SourceURL, i.SourceExpiresAt, i.SpoolID, i.MIME, i.Bytes,
			i.Width, i.Height, i.SHA256, i.Sidecar, i.Favorite, i.Reason, i.CreatedAt, i.UpdatedAt}
		events[n] = Event{ImageID: i.ID, Kind: EventAccepted}
		if i.ImportID != nil {
			events[n].Kind = EventImported
		}
	}
	_, err = t.insert(`images (id, user_id, generation_id, import_id, import_key, position, seq, status, prompt,
		negative_prompt, provider, model, params, source_url, source_expires_at, spool_id, mime, bytes,
		width, height, sha256, sidecar, favorite, reason, created_at, updated_at)`, rows, ``)
	if err != nil {
		return fmt.Errorf("insert images: %w", err)
	}
	if err := t.count(userID, len(images)); err != nil {
		return err
	}
	if err := t.indexPrompts(pointers(images)); err != nil {
		return err
	}
	return t.addEvents(events...)
}

func pointers(images []Image) []*Image {
	list := make([]*Image, len(images))
	for n := range images {
		list[n] = &images[n]
	}
	return list
}

func (db *DB) imagesOf(ctx context.Context, column, userID, id string) ([]Image, error) {
	var list []Image
	err := db.all(ctx, &list, `SELECT `+imageColumns+` FROM images
		WHERE `+column+` = ? AND user_id = ? ORDER BY position`, id, userID)
	if err != nil {
		return nil, fmt.Errorf("list the images of %s: %w", id, err)
	}
	return list, nil
}

// ImportItem is one image to be archived from where it is now. Reason set
// means that it cannot be: it ends as archive_failed and says why.
type ImportItem struct {
	ID        string // of the image; default a new one
	URL       string
	SpoolID   string // of the spool that has the bytes already, under ID; they need no URL
	ExpiresAt Time   // of the link; zero: not known
	Prompt    string
	Provider  string
	Model     string
	Params    Params
	Reason    string
	Detail    string // for operators

	NegativePrompt string
	Key            string // of what it comes from: a person has each only once; empty: any number of times
	MadeAt         Time   // zero: now
	Favorite       bool
}

// CreateImport writes one image for each item, in order, with the job that
// archives it, in the lane of bulk work.
func (db *DB) CreateImport(ctx context.Context, userID string, items []ImportItem, key Idempotency) (string, []Image, error) {
	var id string
	err := db.write(ctx, func(t *tx) error {
		id = NewID()
		ref, err := t.once(userID, key, id)
		if err != nil || ref != id {
			id = ref
			return err
		}
		if _, err := t.exec(`INSERT INTO imports (id, user_id, created_at) VALUES (?, ?, ?)`, id, userID, t.now); err != nil {
			return err
		}
		_, err = t.importItems(userID, id, 0, items)
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("create an import: %w", err)
	}
	images, err := db.imagesOf(ctx, `import_id`, userID, id)
	return id, images, err
}
