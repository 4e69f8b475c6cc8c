package records

import (
	"context"
	"fmt"
	"strings"
)

// ImageFilter selects images of one person. Zero values select everything
// that is not in the trash.
type ImageFilter struct {
	Statuses     []Status
	Search       string // part of the prompt, upper and lower case alike
	Provider     string
	GenerationID string
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
	var list []Image
	err := db.all(ctx, &list, `SELECT `+imageColumns+` FROM images WHERE `+where+`
		ORDER BY created_at DESC, id DESC LIMIT ?`, append(args, f.Limit)...)
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	return list, nil
}

// CountImages counts a person's images by status.
func (db *DB) CountImages(ctx context.Context, userID string, f ImageFilter) (map[Status]int, error) {
	where, args := f.where(userID)
	var rows []struct {
		Status Status `db:"status"`
		N      int    `db:"n"`
	}
	if err := db.all(ctx, &rows, `SELECT status, count(*) AS n FROM images WHERE `+where+` GROUP BY status`, args...); err != nil {
		return nil, fmt.Errorf("count images: %w", err)
	}
	counts := make(map[Status]int, len(rows))
	for _, r := range rows {
		counts[r.Status] = r.N
	}
	return counts, nil
}

// likeEscape makes a LIKE pattern mean what it says.
var likeEscape = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

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
	if f.Search != "" {
		add(`lower(prompt) LIKE lower(?) ESCAPE '!'`, "%"+likeEscape.Replace(validText(f.Search))+"%")
	}
	if f.Provider != "" {
		add(`provider = ?`, f.Provider)
	}
	if f.GenerationID != "" {
		add(`generation_id = ?`, f.GenerationID)
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
