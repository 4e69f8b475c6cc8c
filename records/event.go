package records

import (
	"context"
	"fmt"
)

// Event is one line of what happened to an image.
type Event struct {
	ID        string `db:"id"`
	ImageID   string `db:"image_id"`
	Kind      string `db:"kind"`
	Attempt   int    `db:"attempt"`
	Reason    string `db:"reason"`
	Detail    string `db:"detail"`     // for operators: status, host, what a check found; no secrets
	StartedAt Time   `db:"started_at"` // of an attempt
	At        Time   `db:"at"`
}

// The kinds of event.
const (
	EventAccepted       = "accepted"
	EventImported       = "imported"
	EventGenerated      = "generated"
	EventAttemptFailed  = "attempt_failed"
	EventPaused         = "paused" // secured on this machine's disk, the store did not take it
	EventArchived       = "archived"
	EventArchiveFailed  = "archive_failed"
	EventGenerateFailed = "generate_failed"
	EventInterrupted    = "interrupted" // the process ended in the middle
	EventRetried        = "retried"     // somebody asked for it
	EventCanceled       = "canceled"
	EventUnknown        = "unknown"
	EventExpiring       = "expiring" // its source is about to die
	EventTrashed        = "trashed"
	EventRestored       = "restored"
	EventVerified       = "verified" // its object was read back because somebody asked, or is whole again
	EventDamaged        = "damaged"  // its object is missing or not what was stored
)

// maxDetail bounds an event's detail in bytes.
const maxDetail = 2000

// addEvents records events in their order; each names its image.
func (t *tx) addEvents(events ...Event) error {
	rows := make([][]any, len(events))
	for n, e := range events {
		rows[n] = t.eventValues(e)
	}
	_, err := t.insert(`image_events (`+eventColumns+`)`, rows, ``)
	if err != nil {
		return fmt.Errorf("record events: %w", err)
	}
	return nil
}

const eventColumns = `id, image_id, kind, attempt, reason, detail, started_at, at`

func (t *tx) eventValues(e Event) []any {
	detail := e.Detail[:min(len(e.Detail), maxDetail)]
	return []any{t.orderedID(), e.ImageID, e.Kind, e.Attempt, e.Reason, validText(detail), e.StartedAt, t.now}
}

// Events lists what happened to one image of a person, oldest first.
func (db *DB) Events(ctx context.Context, userID, imageID string) ([]Event, error) {
	var list []Event
	err := db.all(ctx, &list, `SELECT e.id, e.image_id, e.kind, e.attempt, e.reason, e.detail, e.started_at, e.at
		FROM image_events e JOIN images i ON i.id = e.image_id
		WHERE e.image_id = ? AND i.user_id = ? ORDER BY e.id`, imageID, userID)
	if err != nil {
		return nil, fmt.Errorf("list events of image %s: %w", imageID, err)
	}
	return list, nil
}
