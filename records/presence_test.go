package records_test

import (
	"testing"
	"testing/synctest"
	"time"

	"afterimage/records"
	"afterimage/records/recordstest"
)

// silence makes an instance's last beat so old.
func (w *world) silence(id string, since time.Duration) {
	w.t.Helper()
	w.Exec(w.t, `UPDATE instances SET beat_at = ? WHERE id = ?`, w.Now().Add(-since), id)
}

// present is an instance that has beaten once and so holds its lock, on
// connections of its own.
func (w *world) present(id string) *records.Presence {
	w.t.Helper()
	db := recordstest.Open(w.t, w.config)
	db.KnowSessions(true)
	i := records.Instance{ID: id, SpoolID: "spool of " + id}
	if _, err := db.StartInstance(w.t.Context(), i); err != nil {
		w.t.Fatal(err)
	}
	p := db.NewPresence(i)
	w.t.Cleanup(p.Close)
	if n, err := p.Beat(w.t.Context()); err != nil || n != 0 {
		w.t.Fatalf("the first beat rescued %d, %v", n, err)
	}
	return p
}

// An instance is dead when its lock is free and it was silent for 3 s: neither
// alone is enough, since a restart of the database frees all locks, and a busy
// machine beats late. One that is frozen keeps its lock and is overtaken after
// 35 s by its silence alone.
func TestWorkIsTakenOverFromTheDeadAlone(t *testing.T) {
	tests := []struct {
		name    string
		lives   bool // its connection and so its lock is there
		silent  time.Duration
		rescued int
	}{
		{"alive and busy", true, 10 * time.Second, 0},
		{"lock lost, but it beat just now", false, time.Second, 0},
		{"dead", false, 4 * time.Second, 1},
		{"frozen", true, 40 * time.Second, 1},
	}
	t.Parallel()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := recordstest.Postgres(t)
			synctest.Test(t, func(t *testing.T) {
				w := &world{DB: recordstest.Open(t, c), Raw: recordstest.OpenRaw(t, c), t: t, config: c}
				id := records.NewID() // all tests share the server's locks
				watcher, other := w.present(records.NewID()), w.present(id)
				i := w.imports(w.person("ada"), 1)[0]
				if jobs := w.claimsAs(id, records.KindArchive, 1); len(jobs) != 1 {
					t.Fatalf("claimed %v", jobs)
				}
				w.silence(id, test.silent)
				if !test.lives {
					other.Close()
				}
				if n, err := watcher.Beat(t.Context()); err != nil || n != 0 {
					t.Errorf("just connected itself, it rescued %d, %v", n, err)
				}
				time.Sleep(5 * time.Second)
				w.silence(id, test.silent)
				n, err := watcher.Beat(t.Context())
				if err != nil || n != test.rescued {
					t.Errorf("rescued %d, %v", n, err)
				}
				if j := w.job(i.ID); (j.State == records.JobReady) != (test.rescued == 1) || j.Crashes != test.rescued || j.Attempt != 0 {
					t.Errorf("the job is %+v", j)
				}
			})
		})
	}
}

// Whether a session is ours is found out by Listen. Until then, and behind a
// pooler for ever, no advisory lock is taken: it would stay on a session that
// others use. Found at the start of an instance behind PgBouncer: it took its
// lock in the first beat, three seconds before it knew.
func TestNoLockBeforeSessionsAreOurs(t *testing.T) {
	t.Parallel()
	c := recordstest.Postgres(t)
	synctest.Test(t, func(t *testing.T) {
		w := &world{DB: recordstest.Open(t, c), Raw: recordstest.OpenRaw(t, c), t: t, config: c}
		user := w.person("ada")
		takes := func(name string, know func(*records.DB), want int) {
			t.Helper()
			db := recordstest.Open(t, c)
			know(db)
			other := records.NewID() // all tests share the server's locks
			p := db.NewPresence(records.Instance{ID: records.NewID(), SpoolID: "s"})
			defer p.Close()
			beat := func() int {
				n, err := p.Beat(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			beat()
			time.Sleep(5 * time.Second)
			w.instance(other)
			w.imports(user, 1)
			w.claimsAs(other, records.KindArchive, 1)
			w.silence(other, 4*time.Second)
			if n := beat(); n != want {
				t.Errorf("%s: silent for 4 s, %d jobs were taken over", name, n)
			}
			w.Exec(t, `DELETE FROM instances`)
		}
		takes("not known", func(*records.DB) {}, 0)
		takes("a pooler", func(db *records.DB) { db.KnowSessions(false) }, 0)
		takes("ours", func(db *records.DB) { db.KnowSessions(true) }, 1)
	})
}

// A process was stopped in the middle of a transaction, with its job locked:
// whoever looked for lost work passed over the locked row, for as long as the
// process was stopped. Now the database breaks the transaction off.
func TestFrozenInATransaction(t *testing.T) {
	t.Parallel()
	c := recordstest.Postgres(t)
	w := &world{DB: recordstest.Open(t, c), Raw: recordstest.OpenRaw(t, c), t: t, config: c}
	w.imports(w.person("ada"), 1)
	w.instance("one")
	job := w.claimOne(records.KindArchive)
	wakeUp, err := recordstest.Open(t, c).Hang(t.Context(), job.ID)
	if err != nil {
		t.Fatal(err)
	}
	w.Exec(t, `DELETE FROM instances`)
	began := time.Now()
	for w.swept().Rescued == 0 {
		if time.Since(began) > 20*time.Second {
			t.Fatal("the job is still locked")
		}
		<-time.After(200 * time.Millisecond)
	}
	if err := wakeUp(); err == nil {
		t.Error("the frozen transaction was committed")
	}
}
