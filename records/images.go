package records

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// ImageFilter selects images of one person. Zero values select everything
// that is not in the trash.
type ImageFilter struct {
	Statuses     []Status
	Search       string // words, or parts of words, that the prompt all has
	Provider     string
	GenerationID string
	ImportID     string
	From, To     Time // created at or after From and before To
	Favorite     bool // only favorites
	Trashed      bool // only what is in the trash
	Before       Place
	Limit        int
}

// Place is a place in the list of images, which runs from the newest to the
// oldest. The zero Place is before the newest.
type Place struct {
	CreatedAt Time
	ID        string
}

// Place is where the image stands in the list.
func (i *Image) Place() Place { return Place{i.CreatedAt, i.ID} }

// Images lists a person's images, newest first. A page goes on after the last
// one of the page before, so it is stable while new images arrive.
func (db *DB) Images(ctx context.Context, userID string, f ImageFilter) ([]Image, error) {
	where, args := f.where(userID)
	if f.Before.ID != "" {
		where += ` AND (created_at < ? OR (created_at = ? AND id < ?))`
		args = append(args, f.Before.CreatedAt, f.Before.CreatedAt, f.Before.ID)
	}
	if s := newSearch(f.Search); len(s.terms) > 0 {
		return db.searchImages(ctx, s, where, args, f.Limit)
	}
	var list []Image
	err := db.all(ctx, &list, `SELECT `+imageColumns+` FROM images WHERE `+where+newestFirst, append(args, f.Limit)...)
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	return list, nil
}

const newestFirst = ` ORDER BY created_at DESC, id DESC LIMIT ?`

// searchNear is how many images are looked through one by one before the index
// is asked. What many have is found among them; what few have the index finds
// fast, and has to sort but a few.
const searchNear = 2000

func (db *DB) searchImages(ctx context.Context, s search, where string, args []any, limit int) (list []Image, err error) {
	like, words := s.like(`w.text`)
	near := slices.Concat(args, []any{searchNear}, words, []any{limit})
	err = db.all(ctx, &list, `SELECT `+imageColumns+` FROM (SELECT * FROM images WHERE `+where+newestFirst+`) AS near
		WHERE EXISTS (SELECT 1 FROM image_words w WHERE w.image_id = near.id AND `+like+`)`+newestFirst, near...)
	if err == nil && len(list) < limit {
		list = nil
		with, found := s.found(db.postgres)
		err = db.all(ctx, &list, with+` SELECT `+imageColumns+` FROM found CROSS JOIN images
			WHERE id = image_id AND `+where+newestFirst, slices.Concat(found, args, []any{limit})...)
	}
	if err != nil {
		return nil, fmt.Errorf("search images: %w", err)
	}
	return list, nil
}

// CountImages counts a person's images by status.
func (db *DB) CountImages(ctx context.Context, userID string, f ImageFilter) (map[Status]int, error) {
	where, args := f.where(userID)
	with, from := ``, `images`
	if s := newSearch(f.Search); len(s.terms) > 0 {
		var found []any
		with, found = s.found(db.postgres)
		from, where, args = `found CROSS JOIN images`, `id = image_id AND `+where, slices.Concat(found, args)
	}
	var rows []struct {
		Status Status `db:"status"`
		N      int    `db:"n"`
	}
	err := db.all(ctx, &rows, with+` SELECT status, count(*) AS n FROM `+from+` WHERE `+where+` GROUP BY status`, args...)
	if err != nil {
		return nil, fmt.Errorf("count images: %w", err)
	}
	counts := make(map[Status]int, len(rows))
	for _, r := range rows {
		counts[r.Status] = r.N
	}
	return counts, nil
}

func (f ImageFilter) where(userID string) (string, []any) {
	where, args := []string{`user_id = ?`}, []any{userID}
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if f.Trashed {
		add(`trashed_at IS NOT NULL`)
	} else {
		add(`trashed_at IS NULL`)
	}
	if len(f.Statuses) > 0 {
		values := make([]any, len(f.Statuses))
		for i, s := range f.Statuses {
			values[i] = string(s)
		}
		add(`status IN (?`+strings.Repeat(`, ?`, len(values)-1)+`)`, values...)
	}
	if f.Provider != "" {
		add(`provider = ?`, f.Provider)
	}
	if f.GenerationID != "" {
		add(`generation_id = ?`, f.GenerationID)
	}
	if f.ImportID != "" {
		add(`import_id = ?`, f.ImportID)
	}
	if !f.From.IsZero() {
		add(`created_at >= ?`, f.From)
	}
	if !f.To.IsZero() {
		add(`created_at < ?`, f.To)
	}
	if f.Favorite {
		add(`favorite`)
	}
	return strings.Join(where, " AND "), args
}

// Neighbours returns the ids of the images before and after one in the list
// of what is not in the trash; empty at either end.
func (db *DB) Neighbours(ctx context.Context, i *Image) (newer, older string, err error) {
	at := []any{i.UserID, i.CreatedAt, i.CreatedAt, i.ID}
	err = db.get(ctx, &newer, `SELECT coalesce((SELECT id FROM images
		WHERE user_id = ? AND trashed_at IS NULL AND (created_at > ? OR (created_at = ? AND id > ?))
		ORDER BY created_at, id LIMIT 1), '')`, at...)
	if err == nil {
		err = db.get(ctx, &older, `SELECT coalesce((SELECT id FROM images
			WHERE user_id = ? AND trashed_at IS NULL AND (created_at < ? OR (created_at = ? AND id < ?))
			ORDER BY created_at DESC, id DESC LIMIT 1), '')`, at...)
	}
	if err != nil {
		return "", "", fmt.Errorf("find the neighbours of image %s: %w", i.ID, err)
	}
	return newer, older, nil
}
