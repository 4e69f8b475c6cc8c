package records

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"
)

// The events that webhooks are told of.
const (
	HookImageArchived    = "image.archived"
	HookImageFailed      = "image.failed"   // made, but not kept
	HookImageExpiring    = "image.expiring" // its source is about to die and we have nothing yet
	HookGenerationFailed = "generation.failed"
	HookImportFinished   = "import.finished"
	HookDigest           = "digest"
	HookTest             = "test" // sent by hand, whatever the webhook wants
)

// HookEvents are those that a webhook may want.
var HookEvents = []string{HookImageArchived, HookImageFailed, HookImageExpiring, HookGenerationFailed, HookImportFinished, HookDigest}

// telling is one thing that happened and that its owner's webhooks may want to
// hear of.
type telling struct {
	userID, event string
	ref           string // what it is about
}

// tellChanges tells of images that were written.
func (t *tx) tellChanges(changes []ImageChange, written []string) error {
	var list []telling
	for _, c := range changes {
		if c.Event == nil || !t.hooked[c.Image.UserID] || !slices.Contains(written, c.Image.ID) {
			continue
		}
		switch c.Event.Kind {
		case EventArchived:
			list = append(list, telling{c.Image.UserID, HookImageArchived, c.Image.ID})
		case EventArchiveFailed:
			list = append(list, telling{c.Image.UserID, HookImageFailed, c.Image.ID})
		}
	}
	return t.tell(list)
}

// refuse records imported items that cannot be archived at all, and tells of
// them.
func (t *tx) refuse(userID string, refused []Event) error {
	if err := t.addEvents(refused...); err != nil || !t.hooked[userID] {
		return err
	}
	list := make([]telling, len(refused))
	for n, e := range refused {
		list[n] = telling{userID, HookImageFailed, e.ImageID}
	}
	return t.tell(list)
}

// tell enters a delivery, and the job that makes it, for each webhook that
// wants to hear of something.
func (t *tx) tell(list []telling) error {
	users := map[string]bool{}
	for _, one := range list {
		users[one.userID] = true
	}
	if len(users) == 0 {
		return nil
	}
	query, args, err := sqlx.In(`SELECT id, user_id, events FROM webhooks WHERE user_id IN (?) AND disabled_at IS NULL ORDER BY id`,
		slices.Sorted(maps.Keys(users)))
	if err != nil {
		return err
	}
	var hooks []Webhook
	if err := t.all(&hooks, query, args...); err != nil {
		return fmt.Errorf("read webhooks: %w", err)
	}
	for _, one := range list {
		for _, h := range hooks {
			if h.UserID == one.userID && strings.Contains(h.Events, " "+one.event+" ") {
				if _, err := t.deliver(h.ID, one); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// deliver enters one delivery and its job.
func (t *tx) deliver(hookID string, one telling) (id string, err error) {
	id = t.orderedID()
	_, err = t.exec(`INSERT INTO webhook_deliveries (id, webhook_id, user_id, event, ref, state, created_at)
		VALUES (?, ?, ?, ?, ?, 'waiting', ?)`, id, hookID, one.userID, one.event, one.ref, t.now)
	if err != nil {
		return "", fmt.Errorf("enter a delivery: %w", err)
	}
	_, err = t.enqueue(newJob{kind: KindWebhook, ref: id, userID: one.userID})
	return id, err
}
