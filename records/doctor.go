package records

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/lib/pq"
)

// Version names the database and its version: "PostgreSQL 16.3", "SQLite 3.50.4".
func (db *DB) Version(ctx context.Context) (string, error) {
	name, query := "SQLite ", `SELECT sqlite_version()`
	if db.postgres {
		name, query = "PostgreSQL ", `SELECT current_setting('server_version')`
	}
	var version string
	if err := db.get(ctx, &version, query); err != nil {
		return "", fmt.Errorf("ask for the database's version: %w", err)
	}
	version, _, _ = strings.Cut(version, " ") // Debian adds its own
	return name + version, nil
}

// ClockAhead is how far the database's clock is ahead of ours; see SyncClock.
func (db *DB) ClockAhead() time.Duration { return time.Duration(db.offset.Load()) }

// Notifies reports whether a notification of PostgreSQL comes back to who
// listens. Behind a pooler in transaction mode none does. SQLite needs none.
func (db *DB) Notifies(ctx context.Context) (bool, error) {
	if !db.postgres {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*listenProof)
	defer cancel()
	own := "afterimage_doctor_" + strings.ToLower(rand.Text())
	listener := pq.NewListener(db.url, listenAgainMin, listenAgainMax, nil)
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	defer listener.Close()
	if err := listener.Listen(own); err != nil {
		return false, fmt.Errorf("listen: %w", err)
	}
	if _, err := db.sqlx.ExecContext(ctx, `SELECT pg_notify($1, '')`, own); err != nil {
		return false, fmt.Errorf("notify: %w", err)
	}
	proof := time.NewTimer(listenProof)
	defer proof.Stop()
	for {
		select {
		case n, open := <-listener.Notify:
			if n != nil {
				return true, nil
			}
			if !open {
				return false, context.Cause(ctx)
			}
		case <-proof.C:
			return false, nil
		}
	}
}
