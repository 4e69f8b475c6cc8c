package records

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// changeImages writes images and their events, raising each owner's change
// number once for each. What is archived stays so: a second job about the same
// image, written by hand, must not undo it.
func (t *tx) changeImages(changes []ImageChange) error {
	sortChanges(changes)
	if err := t.number(changes); err != nil {
		return err
	}
	thumbs, rest := splitThumbs(changes)
	for part := range slices.Chunk(rest, changeBatch) {
		if err := t.writeImages(part); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(thumbs, changeBatch) {
		if err := t.writeThumbs(part); err != nil {
			return err
		}
	}
	return nil
}

// sortChanges puts changes into the order in which rows are locked.
func sortChanges(changes []ImageChange) {
	slices.SortFunc(changes, func(a, b ImageChange) int {
		return cmp.Or(cmp.Compare(a.Image.UserID, b.Image.UserID), cmp.Compare(a.Image.ID, b.Image.ID))
	})
}

// number gives each change its owner's next change number.
func (t *tx) number(changes []ImageChange) error {
	perUser := map[string]int{}
	for _, c := range changes {
		perUser[c.Image.UserID]++
	}
	next := map[string]int64{}
	for _, user := range slices.Sorted(maps.Keys(perUser)) {
		seq, err := t.bump(user, perUser[user])
		if err != nil {
			return err
		}
		next[user] = seq
	}
	for _, c := range changes {
		c.Image.Seq = next[c.Image.UserID]
		next[c.Image.UserID]++
	}
	return nil
}

// changeBatch is how many images one statement writes.
const changeBatch = 200

// changedColumns are what a job writes of an image. In the first row of a
// VALUES list PostgreSQL has to be told what is not text.
const (
	changedColumns = `id, user_id, seq, status, source_url, source_expires_at, spool_id, object_key, object_etag, mime, bytes,
		width, height, sha256, params, attempt, next_attempt_at, reason, provider_message, updated_at, archived_at`
	changedFirst = `(?, ?, int, ?, ?, time, ?, ?, ?, ?, int, int, int, ?, ?, int, time, ?, ?, time, time)`
	changedRow   = `, (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

func (i *Image) changedValues() []any {
	return []any{i.ID, i.UserID, i.Seq, string(i.Status), validText(i.SourceURL), i.SourceExpiresAt, i.SpoolID, i.ObjectKey,
		validText(i.ObjectETag), validText(i.MIME), i.Bytes, i.Width, i.Height, i.SHA256, i.Params.text(), i.Attempt,
		i.NextAttemptAt, i.Reason, validText(i.ProviderMessage), i.UpdatedAt, i.ArchivedAt}
}

// typed makes parameters of the words int and time. SQLite keeps times as text.
func (t *tx) typed(row string) string {
	moment := `CAST(? AS TEXT)`
	if t.postgres {
		moment = `CAST(? AS TIMESTAMPTZ)`
	}
	return strings.NewReplacer(`int`, `CAST(? AS BIGINT)`, `time`, moment).Replace(row)
}

// writeImages writes images in one statement and then their events. PostgreSQL's
// function complete_and_claim does the same.
func (t *tx) writeImages(changes []ImageChange) error {
	var args []any
	for _, c := range changes {
		c.Image.UpdatedAt = t.now
		args = append(args, c.Image.changedValues()...)
	}
	var written []string
	err := t.all(&written, `WITH c (`+changedColumns+`) AS (VALUES `+t.typed(changedFirst)+strings.Repeat(changedRow, len(changes)-1)+`)
		UPDATE images SET seq = c.seq, status = c.status, source_url = c.source_url,
			source_expires_at = c.source_expires_at, spool_id = c.spool_id, object_key = c.object_key,
			object_etag = c.object_etag, mime = c.mime, bytes = c.bytes, width = c.width, height = c.height,
			sha256 = c.sha256, params = c.params, attempt = c.attempt, next_attempt_at = c.next_attempt_at,
			reason = c.reason, provider_message = c.provider_message, updated_at = c.updated_at, archived_at = c.archived_at,
			thumb = CASE WHEN c.sha256 = images.sha256 THEN images.thumb ELSE '' END -- archived once more, it may look different
		FROM c
		WHERE images.id = c.id AND images.user_id = c.user_id AND images.status <> 'archived'
		RETURNING images.id`, args...)
	if err != nil {
		return fmt.Errorf("write images: %w", err)
	}
	var events []Event
	for _, c := range changes { // what was deleted or archived meanwhile has nothing to tell
		if c.Event != nil && slices.Contains(written, c.Image.ID) {
			e := *c.Event
			e.ImageID = c.Image.ID
			events = append(events, e)
		}
	}
	if err := t.addEvents(events...); err != nil {
		return err
	}
	return t.tellChanges(changes, written)
}
