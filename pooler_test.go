//go:build unix

package main

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"afterimage/records"
)

// TestBehindAPooler: PgBouncer in transaction mode swallows LISTEN and would
// keep an advisory lock on a session of somebody else's. Both are found out at
// the start and said once, and work of others is found by the poll.
func TestBehindAPooler(t *testing.T) {
	s := newSeveral(t)
	direct := s.address
	s.address = ownPooler(t, direct)
	s.source.letGo()
	const poll = 3 * time.Second
	// The later setting counts.
	first := s.instance("IMAGE_ARCHIVE_POLL_INTERVAL=3s")
	first.out.await(t, "notifications do not arrive", nil)
	<-time.After(2 * time.Second) // two more beats, now that it is known
	if n := value[int](t, s.db, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`); n != 0 {
		t.Errorf("%d advisory locks are held through the pooler", n)
	}
	s.imports(1) // by this process, of which the pooler tells nobody
	took := s.awaitArchived(1, 20*time.Second)
	t.Logf("archived after %v", took)
	if took > poll+time.Second {
		t.Errorf("it took %v", took)
	}
	if n := strings.Count(first.out.String(), "notifications do not arrive"); n != 1 {
		t.Errorf("it was said %d times", n)
	}
	if code := first.stop(); code != exitDone {
		t.Errorf("exit code %d", code)
	}
	if log := first.out.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("the log has an error:\n%s", log)
	}
}

// TestAnswersThroughAPooler: lib/pq prepares each query with parameters unless
// it is told not to, and PgBouncer in transaction mode gives the prepared
// statement to another session: 4,730 of 4,800 queries ran another one's
// statement.
func TestAnswersThroughAPooler(t *testing.T) {
	t.Parallel()
	address := ownPooler(t, ownDatabase(t))
	db, err := records.Open(t.Context(), records.Config{URL: address})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	const people = 16
	names := make([]string, people)
	raw := openSQL(t, address+"&binary_parameters=yes")
	for n := range names {
		names[n] = fmt.Sprintf("person%02d", n)
		addPerson(t, raw, names[n])
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	wrong := 0
	for g := range people {
		wait.Go(func() {
			for n := range 20_000 / people {
				// Several statements, so that one taken for another is seen.
				name := names[(g+n)%people]
				u, err := db.UserByName(t.Context(), name)
				if err == nil && u.Username == name {
					u, err = db.User(t.Context(), u.ID)
				}
				if err != nil || u.Username != name {
					mu.Lock()
					wrong++
					mu.Unlock()
				}
			}
		})
	}
	wait.Wait()
	if wrong > 0 {
		t.Errorf("%d of 20,000 had another one's answer", wrong)
	}
}

// addPerson adds an account without the cost of hashing a password.
func addPerson(t *testing.T, db *sql.DB, name string) {
	t.Helper()
	id := records.NewID()
	mustExec(t, db, `INSERT INTO users (id, username, password_hash, role, created_at) VALUES ($1, $2, '', 'member', now())`, id, name)
	mustExec(t, db, `INSERT INTO change_heads (user_id, seq) VALUES ($1, 0)`, id)
}
