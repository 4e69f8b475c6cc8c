package records

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lib/pq"
)

// channel is the name under which instances on one PostgreSQL tell each other
// of new jobs.
const channel = "afterimage_jobs"

// notifyOthers tells other instances at the commit which kinds have new jobs:
// one notification a transaction, since the commit of each takes a lock that
// the whole database shares.
func (t *tx) notifyOthers() error {
	if !t.postgres || len(t.enqueued) == 0 {
		return nil
	}
	kinds := slices.Sorted(maps.Keys(t.enqueued))
	for n, kind := range kinds {
		kinds[n] = kind + " " + t.kinds[kind].String()
	}
	if _, err := t.exec(`SELECT pg_notify(?, ?)`, channel, strings.Join(kinds, ",")); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	return nil
}

// Waits between tries to connect again.
const (
	listenAgainMin = 100 * time.Millisecond
	listenAgainMax = 5 * time.Second
)

// listenProof is how long our own notification may take to come back before
// we take it that a pooler swallows them.
const listenProof = 3 * time.Second

// sessions is whether a connection of ours is a session of PostgreSQL that
// nobody else uses in between. Only then there are notifications and locks that
// outlive a transaction. It is found out by whether our own notification comes
// back.
type sessions = int32

const (
	sessionsUnknown sessions = iota
	sessionsOurs
	sessionsShared // a pooler hands them out by transaction
)

// Listen calls OnJobs's function for jobs that other instances enqueue, and
// OnChange's for images that they change, until the context ends. On SQLite, where there are none, it only waits. Through a
// pooler in transaction mode nothing arrives: that is said once, and new work
// of other instances is found by the poll.
func (db *DB) Listen(ctx context.Context, log *slog.Logger) {
	if !db.postgres {
		<-ctx.Done()
		return
	}
	var connected atomic.Bool
	listener := pq.NewListener(db.url, listenAgainMin, listenAgainMax, func(event pq.ListenerEventType, err error) {
		connected.Store(event == pq.ListenerEventConnected || event == pq.ListenerEventReconnected)
		if err != nil {
			log.Warn("the connection for notifications is broken", "event", int(event), "err", err)
		}
	})
	// Listen waits until it is connected, whatever the context says.
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	defer listener.Close()
	// It comes back when it is connected. An error comes again through the
	// callback, and listening with it.
	if err := listener.Listen(channel); err != nil {
		log.Warn("the database does not notify", "err", err)
	}
	if err := listener.Listen(changeChannel); err != nil {
		log.Warn("the database does not notify", "err", err)
	}
	var announcing sync.WaitGroup
	announcing.Go(func() { db.announce(ctx) })
	defer announcing.Wait()
	sent := db.prove(ctx)
	proof := time.NewTimer(listenProof)
	defer proof.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-proof.C:
			if !sent || !connected.Load() { // nothing could have come back
				sent = db.prove(ctx)
				proof.Reset(listenProof)
				continue
			}
			log.Warn("notifications do not arrive, as behind a pooler in transaction mode: work of other instances is found by the poll")
			db.sessions.Store(sessionsShared)
		case n := <-listener.Notify:
			db.heard(n)
			switch {
			case n != nil:
				proof.Stop()
				db.sessions.Store(sessionsOurs) // perhaps it was only late
			case db.sessions.Load() == sessionsUnknown: // what we sent may have been lost with the connection
				sent = db.prove(ctx)
				proof.Reset(listenProof)
			}
		}
	}
}

// prove sends a notification that only shows that they arrive, and reports
// whether the database took it.
func (db *DB) prove(ctx context.Context) bool {
	_, err := db.sqlx.ExecContext(ctx, `SELECT pg_notify($1, '')`, channel)
	return err == nil
}

// heard passes on what another instance, or this one, has told. Nil stands for
// a new connection: what was told meanwhile is lost, so everybody looks.
func (db *DB) heard(n *pq.Notification) {
	if n == nil {
		for _, kind := range []string{KindGenerate, KindArchive, KindDelete, KindThumbnail} {
			db.marks.back(kind, front)
			db.onJobs(kind)
		}
		db.heardOfAll()
		return
	}
	if n.Channel == changeChannel {
		db.heardChange(n)
		return
	}
	for told := range strings.SplitSeq(n.Extra, ",") {
		if kind, at, _ := strings.Cut(told, " "); kind != "" {
			db.marks.back(kind, readPlace(at))
			db.onJobs(kind)
		}
	}
}
