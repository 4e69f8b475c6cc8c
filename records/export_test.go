package records

import (
	"context"
	"time"
)

// Hang begins a transaction that locks a job and then does nothing, as a
// process does that is frozen there. It returns what a process finds that
// wakes up.
func (db *DB) Hang(ctx context.Context, jobID string) (wakeUp func() error, err error) {
	tx, err := db.sqlx.Begin()
	if err != nil {
		return nil, err
	}
	_, err = tx.ExecContext(ctx, `UPDATE jobs SET last_error = 'frozen' WHERE id = $1`, jobID)
	return tx.Commit, err
}

// KnowSessions tells the database what Listen would find out, which it cannot
// in a bubble of simulated time.
func (db *DB) KnowSessions(ours bool) {
	db.sessions.Store(sessionsShared)
	if ours {
		db.sessions.Store(sessionsOurs)
	}
}

// AdvanceInOneCall is what Advance tries first on PostgreSQL.
func (db *DB) AdvanceInOneCall(ctx context.Context, list []Settlement, r ClaimRequest) ([]Job, bool) {
	return db.advanceInOneCall(ctx, list, r, front)
}

// AdvanceByStatements is Advance on SQLite, and on PostgreSQL for whatever is
// out of the ordinary.
func (db *DB) AdvanceByStatements(ctx context.Context, list []Settlement, r ClaimRequest) ([]error, []Job, error) {
	return db.advanceByStatements(ctx, list, r, front)
}

// PlaceText is a place as a notification carries it.
func PlaceText(lane, turn int64, deadline Time, id string) string {
	return place{lane, turn, deadline, id}.String()
}

// FrontText is the place before every job.
func FrontText() string { return front.String() }

// ReadPlaceText reads a place and writes it again.
func ReadPlaceText(s string) string { return readPlace(s).String() }

// MarkSlowly changes an image and waits before the commit, as a transaction
// does that has more to write.
func (db *DB) MarkSlowly(ctx context.Context, userID, id string, wait time.Duration) error {
	return db.act(ctx, "mark", userID, id, "", func(t *tx, i *Image) error {
		i.Favorite = !i.Favorite
		seq, err := t.bump(userID, 1)
		if err != nil {
			return err
		}
		if _, err := t.exec(`UPDATE images SET favorite = ?, seq = ? WHERE id = ?`, i.Favorite, seq, id); err != nil {
			return err
		}
		<-time.After(wait)
		return nil
	})
}
