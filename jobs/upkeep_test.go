package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"afterimage/jobs"
	"afterimage/records"
	"afterimage/records/recordstest"
)

func TestRetryIsOnTheSecond(t *testing.T) {
	delays := []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, 10 * time.Minute}
	each(t, func(t *testing.T, s *shop) {
		var runs []time.Time
		s.add("x")
		s.start(jobs.Kind{Run: func(_ context.Context, j records.Job) records.Settlement {
			runs = append(runs, time.Now())
			if j.Attempt == len(delays) {
				return records.Settlement{}
			}
			return records.Settlement{Verdict: records.Retry, RunAt: s.db.Now().Add(delays[j.Attempt])}
		}}, jobs.Config{})
		s.pass(3 * time.Hour)
		if len(runs) != len(delays)+1 {
			t.Fatalf("ran %d times", len(runs))
		}
		for n, want := range delays {
			if got := runs[n+1].Sub(runs[n]); got < want || got > want+time.Second {
				t.Errorf("wait %d was %v, want %v", n+1, got, want)
			}
		}
	})
}

func TestManyRetriesAreEachOnTheSecond(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		due := map[string]time.Time{}
		for n := range 20 {
			s.add(fmt.Sprint(n))
		}
		s.start(jobs.Kind{Slots: 1, Run: func(_ context.Context, j records.Job) records.Settlement {
			if at, ok := due[*j.Ref]; ok {
				if late := time.Since(at); late < 0 || late > time.Second {
					t.Errorf("job %s was %v late", *j.Ref, late)
				}
				return records.Settlement{}
			}
			at := s.db.Now().Add(time.Duration(20-len(due)) * 7 * time.Second)
			due[*j.Ref] = at.Time
			return records.Settlement{Verdict: records.Defer, RunAt: at}
		}}, jobs.Config{})
		s.pass(10 * time.Minute)
		if n := s.count(`SELECT count(*) FROM jobs`); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

func TestRunAtInTheYear9999Waits(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		far, near := s.add("far"), s.add("near")
		s.Exec(t, `UPDATE jobs SET state = 'waiting', run_at = ? WHERE id = ?`, records.Never, far)
		s.Exec(t, `UPDATE jobs SET state = 'waiting', run_at = ? WHERE id = ?`, s.db.Now().Add(time.Minute), near)
		s.start(jobs.Kind{Run: complete}, jobs.Config{})
		s.pass(time.Hour)
		if n := s.count(`SELECT count(*) FROM jobs WHERE id = ?`, near); n != 0 {
			t.Error("the near one did not run")
		}
		if j := s.job(far); j.State != records.JobWaiting {
			t.Errorf("the far one is %+v", j)
		}
	})
}

// A transfer five times as long as the lease is made once.
func TestLeaseOfALongJobIsRenewed(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		var ran atomic.Int32
		kind := jobs.Kind{Name: "test", Slots: 1, Run: func(context.Context, records.Job) records.Settlement {
			ran.Add(1)
			<-time.After(5 * time.Minute)
			return records.Settlement{}
		}}
		id := s.add("x")
		c := jobs.Config{TTL: time.Minute, Kinds: []jobs.Kind{kind}}
		s.hire("one", s.db, c).Start()
		s.hire("two", recordstest.Open(t, s.config), c).Start()
		s.pass(4 * time.Minute)
		if j := s.job(id); j.Claim != 1 || j.Crashes != 0 {
			t.Errorf("the job is %+v", j)
		}
		s.pass(2 * time.Minute)
		if ran.Load() != 1 || s.count(`SELECT count(*) FROM jobs`) != 0 {
			t.Errorf("it ran %d times", ran.Load())
		}
	})
}

func TestLostClaimEndsTheWork(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		var cause error
		var lost []bool
		id := s.add("x")
		s.start(jobs.Kind{
			Run: func(ctx context.Context, _ records.Job) records.Settlement {
				<-ctx.Done()
				cause = context.Cause(ctx)
				return records.Settlement{Verdict: records.Release}
			},
			After: func(_ context.Context, _ records.Settlement, l bool) { lost = append(lost, l) },
		}, jobs.Config{TTL: time.Minute})
		s.pass(time.Second)
		s.Exec(t, `UPDATE jobs SET claim = claim + 1, owner = 'somebody else', instance_id = 'elsewhere' WHERE id = ?`, id)
		s.pass(21 * time.Second)
		if !errors.Is(cause, records.ErrLeaseLost) || len(lost) != 1 || !lost[0] {
			t.Errorf("the cause is %v, After was told %v", cause, lost)
		}
		if j := s.job(id); j.State != records.JobRunning || j.Owner != "somebody else" {
			t.Errorf("the other's claim is %+v", j)
		}
	})
}

func TestAnotherTakesOverFromASilentInstance(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		var taken time.Time
		s.add("x")
		if _, err := s.db.StartInstance(t.Context(), records.Instance{ID: "frozen", SpoolID: "its spool"}); err != nil {
			t.Fatal(err)
		}
		_, held, err := s.db.Advance(t.Context(), nil, records.ClaimRequest{Kind: "test", Limit: 1, InstanceID: "frozen", TTL: time.Hour})
		if err != nil || len(held) != 1 {
			t.Fatal(held, err)
		}
		began := time.Now()
		s.start(jobs.Kind{Run: func(context.Context, records.Job) records.Settlement {
			taken = time.Now()
			return records.Settlement{}
		}}, jobs.Config{})
		s.pass(2 * time.Minute)
		if took := taken.Sub(began); took < 35*time.Second || took > 65*time.Second {
			t.Errorf("taken over after %v", took)
		}
		if errs := s.db.Settle(t.Context(), []records.Settlement{{Job: held[0]}}); !errors.Is(errs[0], records.ErrLeaseLost) {
			t.Errorf("the frozen one's settlement: %v", errs)
		}
	})
}

// A laptop that slept for two hours finds its lease and its beat long past. No
// other process was there to take the work, so it goes on.
func TestAfterASleepTheOwnWorkIsNotTakenForDead(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		release := make(chan struct{})
		id := s.add("x")
		s.start(jobs.Kind{Run: func(context.Context, records.Job) records.Settlement {
			<-release
			return records.Settlement{}
		}}, jobs.Config{})
		s.pass(time.Second)
		s.Exec(t, `UPDATE jobs SET leased_until = ?`, s.db.Now().Add(-2*time.Hour))
		s.Exec(t, `UPDATE instances SET beat_at = ?`, s.db.Now().Add(-2*time.Hour))
		s.pass(31 * time.Second)
		if j := s.job(id); j.State != records.JobRunning || j.Claim != 1 {
			t.Errorf("the job is %+v", j)
		}
		close(release)
		synctest.Wait()
		if n := s.count(`SELECT count(*) FROM jobs`); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

func TestASweepThatFailsIsLoggedAndTheNextOneTriesAgain(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		s.start(jobs.Kind{Run: complete}, jobs.Config{})
		s.pass(time.Second)
		s.Exec(t, `ALTER TABLE images RENAME TO hidden`)
		s.pass(30 * time.Second)
		s.Exec(t, `ALTER TABLE hidden RENAME TO images`)
		if !s.logged("the sweep failed") {
			t.Errorf("the log is:\n%s", s.log)
		}
		user := s.person()
		s.Exec(t, `INSERT INTO images (id, user_id, seq, status, created_at, updated_at) VALUES ('orphan', ?, 1, 'generated', ?, ?)`,
			user, s.db.Now(), s.db.Now())
		s.pass(30 * time.Second)
		if n := s.count(`SELECT count(*) FROM jobs WHERE ref = 'orphan'`); n != 1 {
			t.Error("the next round did not run")
		}
	})
}
