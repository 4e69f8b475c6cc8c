package records

import (
	"context"
	"fmt"
)

// Alarm is something that is wrong for as long as it is, for operators.
type Alarm struct {
	Name     string `db:"name" json:"name"`
	Detail   string `db:"detail" json:"detail"`
	N        int    `db:"n" json:"n"` // how many things it is about
	RaisedAt Time   `db:"raised_at" json:"raised_at"`
	SeenAt   Time   `db:"seen_at" json:"seen_at"`
}

// The alarms.
const (
	AlarmOverdue      = "archive_overdue" // images wait for the archive for over an hour
	AlarmExpiring     = "source_expiring" // sources are about to die before we have the bytes
	AlarmConservation = "conservation"    // database and store do not agree
	AlarmVerify       = "verify"          // objects are not what they were
)

// maxAlarm bounds an alarm's text in bytes.
const maxAlarm = 4000

// Raise says that something is wrong, or still is. It reports whether that is
// news: an alarm is logged once.
func (db *DB) Raise(ctx context.Context, name string, n int, detail string) (news bool, err error) {
	detail = validText(detail[:min(len(detail), maxAlarm)])
	err = db.write(ctx, func(t *tx) error {
		raised, err := t.exec(`INSERT INTO alarms (name, detail, n, raised_at, seen_at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (name) DO NOTHING`, name, detail, n, t.now, t.now)
		if news = raised == 1; err != nil || news {
			return err
		}
		_, err = t.exec(`UPDATE alarms SET detail = ?, n = ?, seen_at = ? WHERE name = ?`, detail, n, t.now, name)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("raise the alarm %s: %w", name, err)
	}
	return news, nil
}

// Clear says that something is right again, and reports whether it was not.
func (db *DB) Clear(ctx context.Context, name string) (was bool, err error) {
	var known int
	if err := db.get(ctx, &known, `SELECT count(*) FROM alarms WHERE name = ?`, name); err != nil || known == 0 {
		return false, err
	}
	err = db.write(ctx, func(t *tx) error {
		n, err := t.exec(`DELETE FROM alarms WHERE name = ?`, name)
		was = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("clear the alarm %s: %w", name, err)
	}
	return was, nil
}

// Alarms lists what is wrong, oldest first.
func (db *DB) Alarms(ctx context.Context) ([]Alarm, error) {
	var list []Alarm
	if err := db.all(ctx, &list, `SELECT name, detail, n, raised_at, seen_at FROM alarms ORDER BY raised_at, name`); err != nil {
		return nil, fmt.Errorf("list alarms: %w", err)
	}
	return list, nil
}
