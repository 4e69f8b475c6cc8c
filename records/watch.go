package records

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// warnings are how soon a source must die for its owner to be warned, in the
// order in which they are given.
var warnings = []time.Duration{15 * time.Minute, 5 * time.Minute}

// expiringBatch bounds how many images one warning is about.
const expiringBatch = 500

// Expiring finds images whose source is about to die and whose bytes are
// nowhere with us. It brings them to the front of the queue, notes it in their
// events and returns them. Each is found once for each of the warnings.
func (db *DB) Expiring(ctx context.Context) ([]Image, error) {
	var found []Image
	err := db.write(ctx, func(t *tx) error {
		found = nil
		for level := len(warnings); level > 0; level-- { // the last one stands for those before it
			images, err := t.warn(level, warnings[level-1])
			if err != nil {
				return err
			}
			found = append(found, images...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for sources that are about to die: %w", err)
	}
	return found, nil
}

func (t *tx) warn(level int, within time.Duration) ([]Image, error) {
	var images []Image
	err := t.all(&images, `SELECT `+imageColumns+` FROM images
		WHERE status IN ('generated', 'archiving', 'retry_wait') AND source_expires_at IS NOT NULL
			AND source_expires_at > ? AND source_expires_at <= ? AND warned < ? AND spool_id = '' AND object_key = ''
		ORDER BY source_expires_at, id LIMIT ?`, t.now, t.now.Add(within), level, expiringBatch)
	if err != nil || len(images) == 0 {
		return nil, err
	}
	ids := make([]string, len(images))
	for n := range images {
		ids[n] = images[n].ID
	}
	if err := t.bringForward(ids); err != nil {
		return nil, err
	}
	slices.Sort(ids) // images are locked in this order
	return images, t.noteWarned(images, ids, level)
}

// bringForward puts archive jobs before all others, and has those that wait
// for their next attempt make it now.
func (t *tx) bringForward(images []string) error {
	var held []string
	err := t.in(&held, `SELECT id FROM jobs WHERE kind = 'archive' AND ref IN (?) AND state IN ('ready', 'waiting')
		ORDER BY id`+t.skipLocked(), images)
	for _, id := range held {
		if err == nil {
			_, err = t.exec(`UPDATE jobs SET lane = 0, turn = 0, run_at = ?, state = 'ready' WHERE id = ?`, t.now, id)
		}
	}
	if len(held) > 0 {
		t.ready(KindArchive)
	}
	return err
}

// noteWarned records the warning of each image, as its owner's change.
func (t *tx) noteWarned(images []Image, sorted []string, level int) error {
	owners := map[string]int{}
	byID := map[string]*Image{}
	for n := range images {
		owners[images[n].UserID]++
		byID[images[n].ID] = &images[n]
	}
	next := map[string]int64{}
	for _, user := range slices.Sorted(maps.Keys(owners)) {
		seq, err := t.bump(user, owners[user])
		if err != nil {
			return err
		}
		next[user] = seq
	}
	var tellings []telling
	for _, id := range sorted {
		i := byID[id]
		i.Seq = next[i.UserID]
		next[i.UserID]++
		// Its worker may have secured or stored it since it was read.
		n, err := t.exec(`UPDATE images SET warned = ?, seq = ? WHERE id = ? AND status IN ('generated', 'archiving', 'retry_wait')
			AND spool_id = ''`, level, i.Seq, id)
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		if err := t.addEvents(Event{ImageID: id, Kind: EventExpiring, Reason: i.Reason}); err != nil {
			return err
		}
		tellings = append(tellings, telling{i.UserID, HookImageExpiring, id})
	}
	return t.tell(tellings)
}

// Overdue is what waits for the archive for longer than it should.
type Overdue struct {
	N      int    `db:"n"`      // at most overdueMost
	Oldest Time   `db:"oldest"` // when the first was made
	Reason string `db:"reason"` // what most of them say; empty: they wait for a slot
}

// overdueMost bounds the count: above it the figure says no more.
const overdueMost = 1000

// Overdue looks at unfinished images that were made before a moment.
func (db *DB) Overdue(ctx context.Context, before Time) (o Overdue, err error) {
	var rows []Overdue
	err = db.all(ctx, &rows, `SELECT count(*) AS n, min(created_at) AS oldest, reason FROM (
			SELECT created_at, reason FROM images WHERE status IN ('generated', 'archiving', 'retry_wait') AND created_at < ?
			ORDER BY created_at LIMIT ?) AS late GROUP BY reason ORDER BY count(*) DESC, reason`, before, overdueMost)
	if err != nil {
		return o, fmt.Errorf("look for overdue images: %w", err)
	}
	for n, r := range rows {
		if n == 0 {
			o = r
			continue
		}
		o.N += r.N
		if r.Oldest.Before(o.Oldest.Time) {
			o.Oldest = r.Oldest
		}
	}
	return o, nil
}

// CountExpiring counts images whose source dies within the first warning's
// time and whose bytes are nowhere with us.
func (db *DB) CountExpiring(ctx context.Context) (n int, err error) {
	now := db.Now()
	err = db.get(ctx, &n, `SELECT count(*) FROM images
		WHERE status IN ('generated', 'archiving', 'retry_wait') AND source_expires_at IS NOT NULL
			AND source_expires_at > ? AND source_expires_at <= ? AND spool_id = '' AND object_key = ''`, now, now.Add(warnings[0]))
	if err != nil {
		return 0, fmt.Errorf("count sources that are about to die: %w", err)
	}
	return n, nil
}
