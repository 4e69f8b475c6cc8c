package jobs_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"afterimage/jobs"
	"afterimage/records"
)

func complete(context.Context, records.Job) records.Settlement { return records.Settlement{} }

func TestWakesCollapseAndNoneIsLost(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		var ran atomic.Int32
		w := s.start(jobs.Kind{Slots: 3, Run: func(context.Context, records.Job) records.Settlement {
			<-time.After(time.Second)
			ran.Add(1)
			return records.Settlement{}
		}}, jobs.Config{Poll: time.Hour, Sweep: time.Hour})
		s.pass(time.Second)
		for n := range 30 {
			s.add(fmt.Sprint(n))
			for range 100 {
				w.Wake("test") // never blocks
			}
			w.Wake("nobody's")
			if n%7 == 0 {
				s.pass(500 * time.Millisecond)
			}
		}
		s.pass(11 * time.Second)
		if n := ran.Load(); n != 30 {
			t.Errorf("%d of 30 jobs ran, the others wait for the poll", n)
		}
		if n := s.count(`SELECT count(*) FROM jobs`); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

func TestSlotsBoundWhatRunsAndAreFilledAtOnce(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		var running, most atomic.Int32
		for n := range 40 {
			s.add(fmt.Sprint(n))
		}
		began := time.Now()
		var last time.Time
		var mu sync.Mutex
		s.start(jobs.Kind{Slots: 4, Run: func(_ context.Context, j records.Job) records.Settlement {
			n := running.Add(1)
			defer running.Add(-1)
			most.Store(max(most.Load(), n))
			<-time.After(time.Second)
			mu.Lock()
			defer mu.Unlock()
			last = time.Now()
			return records.Settlement{}
		}}, jobs.Config{})
		s.pass(time.Minute)
		if most.Load() != 4 {
			t.Errorf("at most %d ran at once, want 4", most.Load())
		}
		if took := last.Sub(began); took != 10*time.Second {
			t.Errorf("40 jobs of a second took %v on 4 slots", took)
		}
	})
}

// Without a free slot the queue is not asked: here it could not even answer.
func TestNoClaimWithoutAFreeSlot(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		release := make(chan struct{})
		s.add("busy")
		w := s.start(jobs.Kind{Run: func(ctx context.Context, j records.Job) records.Settlement {
			if *j.Ref == "busy" {
				<-release
			}
			return records.Settlement{}
		}}, jobs.Config{})
		synctest.Wait()
		next := s.add("next")
		s.Exec(t, `ALTER TABLE jobs RENAME TO hidden`)
		for range 5 {
			w.Wake("test")
			synctest.Wait()
		}
		s.Exec(t, `ALTER TABLE hidden RENAME TO jobs`)
		if s.logged("level=ERROR") {
			t.Errorf("the queue was asked:\n%s", s.log)
		}
		if j := s.job(next); j.State != records.JobReady {
			t.Errorf("the next is %s", j.State)
		}
		close(release)
		synctest.Wait()
		if n := s.count(`SELECT count(*) FROM jobs`); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

func TestPollFindsARowWrittenByHand(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		var found time.Time
		s.start(jobs.Kind{Run: func(context.Context, records.Job) records.Settlement {
			found = time.Now()
			return records.Settlement{}
		}}, jobs.Config{})
		s.pass(time.Second)
		began := time.Now()
		s.add("by hand")
		s.pass(20 * time.Second)
		if took := found.Sub(began); took <= 0 || took > 15*time.Second {
			t.Errorf("found after %v", took)
		}
	})
}

func TestPanicIsThatJobsAlone(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		var mu sync.Mutex
		ran := map[string]int{}
		bad := s.add("bad")
		s.add("good")
		s.start(jobs.Kind{Slots: 1, Run: func(_ context.Context, j records.Job) records.Settlement {
			mu.Lock()
			defer mu.Unlock()
			ran[*j.Ref]++
			if *j.Ref == "bad" {
				panic("on purpose")
			}
			return records.Settlement{}
		}}, jobs.Config{})
		synctest.Wait()
		if ran["good"] != 1 || ran["bad"] != 1 {
			t.Errorf("ran %v", ran)
		}
		if j := s.job(bad); j.State != records.JobWaiting || j.Attempt != 1 || !strings.HasPrefix(j.LastError, "panic: on purpose at jobs/pump_test.go:") {
			t.Errorf("the job is %+v", j)
		}
		s.pass(time.Hour)
		if j := s.job(bad); j.State != records.JobDiscarded || j.Attempt != 5 || ran["bad"] != 5 {
			t.Errorf("after an hour and %d runs the job is %+v", ran["bad"], j)
		}
		if !s.logged("a job panicked") || !s.logged(bad) {
			t.Errorf("the log is:\n%s", s.log)
		}
	})
}

func TestPanicIsSettledByItsKind(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		bad := s.add("bad")
		s.start(jobs.Kind{
			Run: func(context.Context, records.Job) records.Settlement { panic("on purpose") },
			Failed: func(_ context.Context, _ records.Job, err error) records.Settlement {
				return records.Settlement{Verdict: records.Discard, Error: "ours: " + err.Error()}
			},
		}, jobs.Config{})
		synctest.Wait()
		if j := s.job(bad); j.State != records.JobDiscarded || !strings.HasPrefix(j.LastError, "ours: panic: on purpose at jobs/pump_test.go:") {
			t.Errorf("the job is %+v", j)
		}
	})
}

func TestJobWithoutAReferenceIsDiscardedAndNamed(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		id := s.add("")
		s.start(jobs.Kind{Run: complete}, jobs.Config{})
		synctest.Wait()
		if j := s.job(id); j.State != records.JobDiscarded || j.LastError == "" {
			t.Errorf("the job is %+v", j)
		}
		if !s.logged(id) {
			t.Errorf("the log does not name it:\n%s", s.log)
		}
	})
}

func TestSettleIsTriedAgainWhenTheDatabaseFails(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		release := make(chan struct{})
		var ran, after atomic.Int32
		s.add("x")
		s.start(jobs.Kind{
			Run: func(context.Context, records.Job) records.Settlement {
				ran.Add(1)
				<-release
				return records.Settlement{}
			},
			After: func(_ context.Context, _ records.Settlement, lost bool) {
				if after.Add(1); lost {
					t.Error("the claim was lost")
				}
			},
		}, jobs.Config{Poll: time.Hour, Sweep: time.Hour})
		s.pass(time.Second)
		s.Exec(t, `ALTER TABLE jobs RENAME TO hidden`)
		close(release)
		s.pass(2500 * time.Millisecond)
		s.Exec(t, `ALTER TABLE hidden RENAME TO jobs`)
		if !s.logged("could not be settled") {
			t.Errorf("nothing was logged:\n%s", s.log)
		}
		s.add("y")
		s.pass(time.Second)
		if n := s.count(`SELECT count(*) FROM jobs`); n != 0 || ran.Load() != 2 || after.Load() != 2 {
			t.Errorf("%d rows are left, %d runs, %d settlements", n, ran.Load(), after.Load())
		}
	})
}

// A settlement that the database never takes gives its slot back after five
// tries, so that the rest goes on; its lease runs out.
func TestSettleThatIsRefusedDoesNotKeepItsSlot(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		user := s.person()
		var images []records.Image
		var err error
		if _, images, err = s.db.CreateImport(t.Context(), user, []records.ImportItem{{URL: "https://a.example/"}}, records.Idempotency{}); err != nil {
			t.Fatal(err)
		}
		bad := s.add("bad")
		s.Exec(t, `UPDATE jobs SET kind = 'other' WHERE kind = 'archive'`)
		good := s.add("good")
		s.start(jobs.Kind{Run: func(_ context.Context, j records.Job) records.Settlement {
			if *j.Ref == "good" {
				return records.Settlement{}
			}
			i := images[0]
			i.Status = "nonsense"
			return records.Settlement{Images: []records.ImageChange{{Image: &i}}}
		}}, jobs.Config{})
		s.pass(4500 * time.Millisecond)
		if n := s.count(`SELECT count(*) FROM jobs WHERE id = ?`, good); n != 0 {
			t.Error("the other job did not run")
		}
		if j := s.job(bad); j.State != records.JobRunning || j.Claim != 1 {
			t.Errorf("the bad one is %+v", j)
		}
		s.pass(11 * time.Minute)
		if j := s.job(bad); j.Crashes == 0 {
			t.Errorf("its lease never ran out: %+v", j)
		}
	})
}

// person adds an account.
func (s *shop) person() string {
	s.t.Helper()
	id := records.NewID()
	s.Exec(s.t, `INSERT INTO users (id, username, password_hash, role, created_at) VALUES (?, ?, '', 'member', ?)`, id, id, s.db.Now())
	s.Exec(s.t, `INSERT INTO change_heads (user_id, seq) VALUES (?, 0)`, id)
	return id
}
