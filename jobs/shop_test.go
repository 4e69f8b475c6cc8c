package jobs_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"afterimage/jobs"
	"afterimage/records"
	"afterimage/records/recordstest"
)

// shop is a database in a bubble of simulated time, with workers on it.
type shop struct {
	recordstest.Raw
	t      *testing.T
	config records.Config
	db     *records.DB
	log    *safeBuffer
	jobs   int
}

// each runs a test in a bubble, on SQLite and on PostgreSQL.
func each(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Parallel()
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		synctest.Test(t, func(t *testing.T) {
			test(t, &shop{Raw: recordstest.OpenRaw(t, c), t: t, config: c, db: recordstest.Open(t, c), log: &safeBuffer{}})
		})
	})
}

// hire makes a worker, registered as an instance and woken by its database.
func (s *shop) hire(name string, db *records.DB, c jobs.Config) *jobs.Worker {
	s.t.Helper()
	c.DB, c.InstanceID, c.SpoolID, c.Log = db, name, "spool of "+name, slog.New(slog.NewTextHandler(s.log, nil))
	if _, err := db.StartInstance(s.t.Context(), records.Instance{ID: name, SpoolID: c.SpoolID}); err != nil {
		s.t.Fatal(err)
	}
	w := jobs.New(c)
	db.OnJobs(w.Wake)
	s.t.Cleanup(w.Stop)
	return w
}

// start hires a worker for the kind "test" and starts it.
func (s *shop) start(k jobs.Kind, c jobs.Config) *jobs.Worker {
	s.t.Helper()
	k.Name, k.Slots = "test", max(1, k.Slots)
	c.Kinds = []jobs.Kind{k}
	w := s.hire("one", s.db, c)
	w.Start()
	return w
}

// add writes a ready job by hand, of which nobody is told.
func (s *shop) add(ref string) string {
	s.t.Helper()
	s.jobs++
	id, now := fmt.Sprintf("job %03d", s.jobs), s.db.Now()
	var value any = ref
	if ref == "" {
		value = nil
	}
	s.Exec(s.t, `INSERT INTO jobs (id, kind, ref, state, deadline, run_at, created_at) VALUES (?, 'test', ?, 'ready', ?, ?, ?)`,
		id, value, records.Never, now, now)
	return id
}

func (s *shop) job(id string) records.Job {
	s.t.Helper()
	var j records.Job
	s.Get(s.t, &j, `SELECT * FROM jobs WHERE id = ?`, id)
	return j
}

func (s *shop) count(query string, args ...any) int {
	s.t.Helper()
	var n int
	s.Get(s.t, &n, query, args...)
	return n
}

func (s *shop) logged(text string) bool { return bytes.Contains(s.log.Bytes(), []byte(text)) }

// pass lets simulated time pass.
func (s *shop) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// safeBuffer is a log that many goroutines write to.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) Bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.b.Bytes())
}

func (s *safeBuffer) String() string { return string(s.Bytes()) }
