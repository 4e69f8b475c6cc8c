package jobs_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"afterimage/jobs"
	"afterimage/records"
)

// A job that ended with its process twice is run when nothing else runs, and
// nothing else begins until it has ended. The others then go on.
func TestSuspectRunsAlone(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		suspect := s.add("suspect")
		s.Exec(t, `UPDATE jobs SET state = 'suspect', crashes = 2 WHERE id = ?`, suspect)
		for range 20 {
			s.add("innocent")
		}
		var now, beside, done atomic.Int32
		s.start(jobs.Kind{Slots: 3, Run: func(_ context.Context, j records.Job) records.Settlement {
			if n := now.Add(1); *j.Ref == "suspect" {
				beside.Store(n - 1)
			}
			time.Sleep(7 * time.Second)
			if *j.Ref == "suspect" {
				beside.Add(now.Load() - 1)
			}
			now.Add(-1)
			done.Add(1)
			return records.Settlement{Verdict: records.Complete}
		}}, jobs.Config{})
		s.pass(5 * time.Minute)
		if n := done.Load(); n != 21 {
			t.Errorf("%d of 21 jobs ran", n)
		}
		if n := beside.Load(); n != 0 {
			t.Errorf("%d jobs ran beside it", n)
		}
		if n := s.count(`SELECT count(*) FROM jobs`); n != 0 {
			t.Errorf("%d jobs are left", n)
		}
	})
}

// Stopping does not wait for a suspect whose turn has not come.
func TestStopWhileASuspectWaits(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		s.Exec(t, `UPDATE jobs SET state = 'suspect' WHERE id = ?`, s.add("suspect"))
		s.add("long")
		w := s.start(jobs.Kind{Run: func(ctx context.Context, j records.Job) records.Settlement {
			<-ctx.Done()
			return records.Settlement{Verdict: records.Release}
		}}, jobs.Config{})
		s.pass(time.Minute)
		began := time.Now()
		w.Stop()
		if took := time.Since(began); took > 11*time.Second {
			t.Errorf("it took %s", took)
		}
		if n := s.count(`SELECT count(*) FROM jobs WHERE state IN ('ready', 'suspect')`); n != 2 {
			t.Errorf("%d of 2 jobs are back", n)
		}
	})
}
