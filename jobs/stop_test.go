package jobs_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"afterimage/jobs"
	"afterimage/records"
)

func TestStopLetsRunningWorkFinish(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		s.add("x")
		w := s.start(jobs.Kind{Run: func(ctx context.Context, _ records.Job) records.Settlement {
			select {
			case <-time.After(4 * time.Second):
			case <-ctx.Done():
				t.Error("it was ended within the grace time")
			}
			return records.Settlement{}
		}}, jobs.Config{})
		s.pass(time.Second)
		next := s.add("y")
		began := time.Now()
		w.Stop()
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("stopping took %v", took)
		}
		w.Wake("test")
		s.pass(time.Minute)
		if j := s.job(next); j.State != records.JobReady || j.Claim != 0 {
			t.Errorf("the next is %+v", j)
		}
		if n := s.count(`SELECT count(*) FROM jobs`); n != 1 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestStopGivesBackWhatTakesLongerThanTheGrace(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		var cause error
		id := s.add("x")
		w := s.start(jobs.Kind{Run: func(ctx context.Context, _ records.Job) records.Settlement {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return records.Settlement{Verdict: records.Release}
		}}, jobs.Config{Grace: 7 * time.Second})
		s.pass(time.Second)
		began := time.Now()
		w.Stop()
		if took := time.Since(began); took != 7*time.Second || !errors.Is(cause, jobs.ErrStopping) {
			t.Errorf("stopping took %v, the cause is %v", took, cause)
		}
		if j := s.job(id); j.State != records.JobReady || j.Attempt != 0 || j.Crashes != 0 {
			t.Errorf("the job is %+v", j)
		}
	})
}

func TestStopEndsAlsoWithoutADatabase(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		s.add("x")
		w := s.start(jobs.Kind{Run: func(ctx context.Context, _ records.Job) records.Settlement {
			<-time.After(2 * time.Second)
			return records.Settlement{}
		}}, jobs.Config{})
		s.pass(time.Second)
		s.Exec(t, `ALTER TABLE jobs RENAME TO hidden`)
		began := time.Now()
		w.Stop()
		if took := time.Since(began); took > 11*time.Second {
			t.Errorf("stopping took %v", took)
		}
		s.Exec(t, `ALTER TABLE hidden RENAME TO jobs`)
	})
}

func TestStartAndStopMayBeRepeated(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		ran := 0
		w := s.hire("one", s.db, jobs.Config{Kinds: []jobs.Kind{{Name: "test", Slots: 1, Run: func(context.Context, records.Job) records.Settlement {
			ran++
			return records.Settlement{}
		}}}})
		w.Stop() // before Start
		w.Wake("test")
		s.add("x")
		w.Start()
		w.Start()
		synctest.Wait()
		var wait sync.WaitGroup
		for range 3 {
			wait.Go(w.Stop)
		}
		wait.Wait()
		w.Stop()
		w.Start() // does not begin again
		s.add("y")
		w.Wake("test")
		s.pass(time.Minute)
		if ran != 1 {
			t.Errorf("%d jobs ran", ran)
		}
	})
}

func TestIdleWorkerStopsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		w := s.start(jobs.Kind{Run: complete}, jobs.Config{})
		s.pass(time.Minute)
		began := time.Now()
		w.Stop()
		if took := time.Since(began); took != 0 {
			t.Errorf("stopping took %v", took)
		}
	})
}
