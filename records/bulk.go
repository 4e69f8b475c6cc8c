package records

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// BeginImport writes an import that grows: see AddToImport.
func (db *DB) BeginImport(ctx context.Context, userID string) (id string, err error) {
	err = db.write(ctx, func(t *tx) error {
		id = NewID()
		_, err := t.exec(`INSERT INTO imports (id, user_id, created_at) VALUES (?, ?, ?)`, id, userID, t.now)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("begin an import: %w", err)
	}
	return id, nil
}

// AddToImport adds one image for each item, in order, the first at a position,
// with the job that archives it. Items whose key the person has already, from
// whatever import, are left out, unless that could not be kept
// and its bytes come along now. It returns the images that it added, and which
// item each is of.
func (db *DB) AddToImport(ctx context.Context, userID, importID string, position int, items []ImportItem) (images []Image, of []int, err error) {
	err = db.write(ctx, func(t *tx) error {
		images, of = nil, nil // of an earlier try
		var head int64        // so that nobody else adds the same meanwhile
		if err := t.get(&head, `SELECT seq FROM change_heads WHERE user_id = ?`+t.forUpdate(), userID); err != nil {
			return err
		}
		if err := t.freeFailedKeys(userID, items); err != nil {
			return err
		}
		have, err := t.importKeys(userID, items)
		if err != nil {
			return err
		}
		var fresh []ImportItem
		for n, item := range items {
			if item.Key != "" && have[item.Key] {
				continue
			}
			have[item.Key] = true
			fresh, of = append(fresh, item), append(of, n)
		}
		if len(fresh) == 0 {
			return nil
		}
		images, err = t.importItems(userID, importID, position, fresh)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("add to an import: %w", err)
	}
	return images, of, nil
}

// freeFailedKeys lets what could not be kept be imported once more where its
// bytes come along this time. An address that failed has a Retry of its own.
func (t *tx) freeFailedKeys(userID string, items []ImportItem) error {
	var keys []string
	for _, item := range items {
		if item.Key != "" && item.SpoolID != "" {
			keys = append(keys, item.Key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	query, args, err := sqlx.In(`UPDATE images SET import_key = '' WHERE user_id = ? AND import_key IN (?) AND status = 'archive_failed'`, userID, keys)
	if err != nil {
		return err
	}
	_, err = t.exec(query, args...)
	return err
}

// importKeys says which of the items' keys a person has.
func (t *tx) importKeys(userID string, items []ImportItem) (map[string]bool, error) {
	have := map[string]bool{}
	var keys, found []string
	for _, item := range items {
		if item.Key != "" {
			keys = append(keys, item.Key)
		}
	}
	if len(keys) == 0 {
		return have, nil
	}
	err := t.in(&found, `SELECT import_key FROM images WHERE user_id = ? AND import_key <> '' AND import_key IN (?)`, userID, keys)
	for _, key := range found {
		have[key] = true
	}
	return have, err
}

// importItems writes one image for each item, and the jobs.
func (t *tx) importItems(userID, importID string, position int, items []ImportItem) ([]Image, error) {
	images := make([]Image, len(items))
	for n, item := range items {
		images[n] = Image{ID: item.ID, UserID: userID, ImportID: &importID, Position: position + n, Status: Generated,
			Prompt: item.Prompt, NegativePrompt: item.NegativePrompt, Provider: item.Provider, Model: item.Model, Params: item.Params,
			SourceURL: item.URL, SourceExpiresAt: item.ExpiresAt, SpoolID: item.SpoolID, Favorite: item.Favorite,
			importKey: item.Key, madeAt: item.MadeAt}
		if item.Reason != "" {
			images[n].Status, images[n].Reason, images[n].SourceURL = ArchiveFailed, item.Reason, ""
		}
	}
	if err := t.insertImages(userID, images); err != nil {
		return nil, err
	}
	var jobs []newJob
	var refused []Event
	for n := range images {
		if items[n].Reason != "" {
			refused = append(refused, Event{ImageID: images[n].ID, Kind: EventArchiveFailed, Reason: items[n].Reason, Detail: items[n].Detail})
		} else {
			jobs = append(jobs, archiveJob(&images[n], LaneBulk))
		}
	}
	if err := t.takeTurns(userID, jobs); err != nil {
		return nil, err
	}
	if _, err := t.enqueue(jobs...); err != nil {
		return nil, err
	}
	return images, t.refuse(userID, refused)
}

// ImportState counts the images of an import by status.
func (db *DB) ImportState(ctx context.Context, userID, importID string) (map[Status]int, error) {
	var rows []struct {
		Status Status `db:"status"`
		N      int    `db:"n"`
	}
	err := db.all(ctx, &rows, `SELECT status, count(*) AS n FROM images WHERE import_id = ? AND user_id = ? GROUP BY status`, importID, userID)
	if err != nil {
		return nil, fmt.Errorf("count the images of import %s: %w", importID, err)
	}
	counts := map[Status]int{}
	for _, r := range rows {
		counts[r.Status] = r.N
	}
	return counts, nil
}

// ImportFailures lists images of an import that failed after a change number,
// in the order in which they did.
func (db *DB) ImportFailures(ctx context.Context, userID, importID string, after int64, limit int) ([]Image, error) {
	var list []Image
	err := db.all(ctx, &list, `SELECT `+imageColumns+` FROM images WHERE import_id = ? AND user_id = ?
		AND status = 'archive_failed' AND seq > ? ORDER BY seq LIMIT ?`, importID, userID, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list the failures of import %s: %w", importID, err)
	}
	return list, nil
}
