package records

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
)

// tx is a transaction and what has to be told once it is committed.
//
// Rows are locked in one order, so that two transactions never wait for each
// other: jobs, then change_heads by user id, then images by id.
type tx struct {
	*sqlx.Tx
	ctx      context.Context
	postgres bool
	now      Time
	quota    Quota            // where a person has none of their own
	ids      int64            // ordered ids given out
	kinds    map[string]place // whose jobs became due, and the first one's place
	enqueued map[string]bool  // of these, those that any instance may claim
	changed  map[string]bool  // whose images changed
	hooked   map[string]bool  // of these, who has webhooks
}

// tries bounds how often a transaction that PostgreSQL broke off is run again.
const tries = 4

// write runs fn in a transaction. It runs it again if PostgreSQL broke it off
// to resolve a conflict, so fn must only touch what it sets itself.
func (db *DB) write(ctx context.Context, fn func(*tx) error) error {
	if !db.postgres {
		select {
		case db.writer <- struct{}{}:
			defer func() { <-db.writer }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for try := 1; ; try++ {
		err := db.writeOnce(ctx, fn)
		if err == nil || try == tries || !isConflict(err) {
			return err
		}
	}
}

func (db *DB) writeOnce(ctx context.Context, fn func(*tx) error) error {
	sqlTx, err := db.sqlx.BeginTxx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	defer sqlTx.Rollback() // after a commit it does nothing; its error says nothing that fn's does not
	t := db.newTx(ctx, sqlTx)
	if err := fn(t); err != nil {
		return err
	}
	if err := t.notifyOthers(); err != nil {
		return err
	}
	if err := sqlTx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	db.tell(t)
	return nil
}

func (db *DB) newTx(ctx context.Context, sqlTx *sqlx.Tx) *tx {
	return &tx{Tx: sqlTx, ctx: ctx, postgres: db.postgres, now: db.Now(), quota: db.quota, kinds: map[string]place{}, enqueued: map[string]bool{}, changed: map[string]bool{}, hooked: map[string]bool{}}
}

// tell says what a transaction that is committed has changed.
func (db *DB) tell(t *tx) {
	for _, kind := range slices.Sorted(maps.Keys(t.kinds)) {
		db.marks.back(kind, t.kinds[kind])
		db.onJobs(kind)
	}
	for _, user := range slices.Sorted(maps.Keys(t.changed)) {
		db.heads.changed(user)
		db.onChange(user)
		if db.postgres {
			db.announcer.add(user)
		}
	}
}

// ready notes that jobs of a kind became due, for everybody to be told.
func (t *tx) ready(kind string) {
	t.readyAt(kind, front)
	t.enqueued[kind] = true
}

// readyAt notes that a job at a place became due, for this process to be told.
func (t *tx) readyAt(kind string, at place) {
	if first, ok := t.kinds[kind]; !ok || at.compare(first) < 0 {
		t.kinds[kind] = at
	}
}

// isConflict reports a deadlock or a serialization failure.
func isConflict(err error) bool {
	e, ok := errors.AsType[*pq.Error](err)
	return ok && (e.Code == "40P01" || e.Code == "40001")
}

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	res, err := t.ExecContext(t.ctx, t.Rebind(query), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// maxParams bounds the parameters of one statement: SQLite takes 32,766.
const maxParams = 30_000

// insert adds rows in one statement, or a few if they are very many: a round
// trip for each row would cost more than the row. It returns how many were
// added.
func (t *tx) insert(into string, rows [][]any, onConflict string) (added int64, err error) {
	if len(rows) == 0 {
		return 0, nil
	}
	row := `(?` + strings.Repeat(`, ?`, len(rows[0])-1) + `)`
	for part := range slices.Chunk(rows, maxParams/len(rows[0])) {
		n, err := t.exec(`INSERT INTO `+into+` VALUES `+row+strings.Repeat(`, `+row, len(part)-1)+onConflict, slices.Concat(part...)...)
		if err != nil {
			return 0, err
		}
		added += n
	}
	return added, nil
}

// get reads one row; no row is ErrNotFound.
func (t *tx) get(dest any, query string, args ...any) error {
	return notFound(t.GetContext(t.ctx, dest, t.Rebind(query), args...))
}

// all reads rows.
func (t *tx) all(dest any, query string, args ...any) error {
	return t.SelectContext(t.ctx, dest, t.Rebind(query), args...)
}

// in is sqlx.In followed by all.
func (t *tx) in(dest any, query string, args ...any) error {
	query, args, err := sqlx.In(query, args...)
	if err != nil {
		return err
	}
	return t.all(dest, query, args...)
}
