package records

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"
)

// silentAfter is how old an instance's last beat must be before its work is
// taken over because its advisory lock is free. A database that restarts frees
// every lock, so the lock alone proves nothing.
const silentAfter = 3 * time.Second

// Presence keeps an instance known as alive. On PostgreSQL it holds a session
// advisory lock, which the server frees within milliseconds when the process
// dies, on a connection of its own. It takes it when Listen has found out that
// sessions are ours: behind a pooler the lock would stay on a session that
// others use, and outlive us. There the beat alone tells who lives.
type Presence struct {
	db       *DB
	instance Instance

	mu    sync.Mutex // what follows
	conn  *sql.Conn  // holds the lock; nil on SQLite, behind a pooler, and while it is lost
	since time.Time  // when the lock was got, or was found to be of no use; zero: neither yet
}

// NewPresence is for an instance that was started.
func (db *DB) NewPresence(i Instance) *Presence {
	return &Presence{db: db, instance: i}
}

// lockOf is an instance's advisory lock.
func lockOf(id string) int64 {
	h := fnv.New64a()
	h.Write([]byte("afterimage instance " + id))
	return int64(h.Sum64())
}

// Beat says that the instance lives, and takes over the work of instances
// that do not: their lock is free and they were silent for 3 s, or they were
// silent for 30 s, as a frozen process is. It returns how many jobs it gave
// back to the queue.
func (p *Presence) Beat(ctx context.Context) (rescued int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.db.Beat(ctx, p.instance); err != nil {
		return 0, err
	}
	if !p.db.postgres {
		return 0, nil
	}
	if err := p.hold(ctx); err != nil {
		return 0, err
	}
	// After our own reconnect the others may not have had the time to say
	// that they live.
	if p.since.IsZero() || time.Since(p.since) < silentAfter {
		return 0, nil
	}
	return p.db.takeOver(ctx, p.instance.ID)
}

// hold makes sure that the lock is ours.
func (p *Presence) hold(ctx context.Context) error {
	switch p.db.sessions.Load() {
	case sessionsUnknown:
		return nil
	case sessionsShared:
		p.drop() // taken before we knew
		if p.since.IsZero() {
			p.since = time.Now()
		}
		return nil
	}
	if p.conn != nil {
		if p.conn.PingContext(ctx) == nil {
			return nil
		}
		p.drop()
	}
	conn, err := p.db.sqlx.DB.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect for the instance's lock: %w", err)
	}
	var got bool
	if err := conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, lockOf(p.instance.ID)).Scan(&got); err != nil {
		return errors.Join(fmt.Errorf("take the instance's lock: %w", err), conn.Close())
	}
	if !got { // by a session of ours that the server does not know yet to be dead
		return conn.Close()
	}
	p.conn, p.since = conn, time.Now()
	return nil
}

func (p *Presence) drop() {
	if p.conn == nil {
		return
	}
	p.conn.Raw(func(any) error { return driver.ErrBadConn }) // not back into the pool with the lock on it
	p.conn.Close()
	p.conn = nil
}

// Close lets go of the lock.
func (p *Presence) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop()
}

// takeOver gives back the work of instances that are dead.
func (db *DB) takeOver(ctx context.Context, self string) (rescued int, err error) {
	var silent []struct {
		ID     string `db:"id"`
		BeatAt Time   `db:"beat_at"`
	}
	now := db.Now()
	err = db.all(ctx, &silent, `SELECT id, beat_at FROM instances WHERE beat_at < ? AND id <> ?`, now.Add(-silentAfter), self)
	if err != nil {
		return 0, fmt.Errorf("look for silent instances: %w", err)
	}
	for _, i := range silent {
		frozen := i.BeatAt.Before(now.Add(-deadAfter).Time)
		if db.sessions.Load() == sessionsShared && !frozen {
			continue // no lock tells
		}
		n, err := db.takeOverOne(ctx, i.ID, frozen)
		if err != nil {
			return rescued, err
		}
		rescued += n
	}
	return rescued, nil
}

func (db *DB) takeOverOne(ctx context.Context, id string, frozen bool) (n int, err error) {
	err = db.write(ctx, func(t *tx) error {
		var free bool
		if err := t.get(&free, `SELECT pg_try_advisory_xact_lock(?)`, lockOf(id)); err != nil {
			return err
		}
		if !free && !frozen {
			return nil
		}
		if n, err = t.giveBack(`instance_id = ?`, id); err != nil {
			return err
		}
		_, err := t.exec(`DELETE FROM instances WHERE id = ?`, id)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("take over the work of instance %s: %w", id, err)
	}
	return n, nil
}
