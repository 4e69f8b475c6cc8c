package jobs_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"afterimage/jobs"
	"afterimage/records"
)

// Of a hundred jobs, due one each second, ten panic, hang or fail: the other
// ninety are on time, and the ten stay to be seen with what they said.
func TestTenOfAHundredKeepNobodyWaiting(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		var mu sync.Mutex
		late := map[string]time.Duration{}
		began := s.db.Now()
		for n := range 100 {
			id := s.add(strconv.Itoa(n))
			s.Exec(t, `UPDATE jobs SET state = 'waiting', run_at = ? WHERE id = ?`, began.Add(time.Duration(n)*time.Second), id)
		}
		s.start(jobs.Kind{Slots: 6, Timeout: 20 * time.Second, Do: func(ctx context.Context, j records.Job) error {
			n, err := strconv.Atoi(*j.Ref)
			if err != nil {
				return jobs.Discard(err)
			}
			switch n % 30 {
			case 3:
				panic("on purpose")
			case 13:
				<-ctx.Done()
				return ctx.Err()
			case 23:
				return errors.New("no luck: today")
			}
			mu.Lock()
			defer mu.Unlock()
			late[*j.Ref] = time.Since(began.Add(time.Duration(n) * time.Second).Time)
			return nil
		}}, jobs.Config{})
		s.pass(2 * time.Hour)
		for ref, by := range late {
			if by > time.Second {
				t.Errorf("job %s was %v late", ref, by)
			}
		}
		if len(late) != 90 {
			t.Errorf("%d were done", len(late))
		}
		if n := s.count(`SELECT count(*) FROM jobs WHERE state = 'discarded' AND attempt = 5`); n != 10 {
			t.Errorf("%d were given up after five attempts", n)
		}
		reasons, err := s.db.JobReasons(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]int{}
		for _, r := range reasons {
			found[r.Reason] = r.N
		}
		if found["panic"] != 4 || found["took longer than 20s"] != 3 || found["no luck"] != 3 {
			t.Errorf("the reasons are %v", found)
		}
		if n, err := s.db.Revive(t.Context(), "", records.JobFilter{Kind: "test", Reason: &[]string{"no luck"}[0]}); n != 3 || err != nil {
			t.Errorf("revived %d, %v", n, err)
		}
	})
}

func TestPausedKindIsNotClaimedUntilItGoesOn(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		if err := s.db.PauseKind(t.Context(), "test", "ada"); err != nil {
			t.Fatal(err)
		}
		s.add("x")
		s.start(jobs.Kind{Do: func(context.Context, records.Job) error { return nil }}, jobs.Config{})
		s.pass(time.Minute)
		if n := s.count(`SELECT count(*) FROM jobs`); n != 1 {
			t.Error("it ran while its kind was paused")
		}
		if err := s.db.ResumeKind(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
		s.pass(time.Millisecond)
		if n := s.count(`SELECT count(*) FROM jobs`); n != 0 {
			t.Error("it did not run when its kind went on")
		}
	})
}

// Whatever the clock does, a day's job is enqueued once.
func TestAClockThatIsSetMakesNoSecondDay(t *testing.T) {
	each(t, func(t *testing.T, s *shop) {
		daily := jobs.Daily{Kind: "test", Hour: 1}
		now := records.At(time.Date(2000, 5, 10, 12, 0, 0, 0, time.UTC))
		for _, hours := range []int{0, 0, 1, -12, 13, 24, -24, 48, -30, 72, 0, -100, 120} {
			now = now.Add(time.Duration(hours) * time.Hour)
			if err := s.db.EnsureDaily(t.Context(), daily.Schedule(now)); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.count(`SELECT count(*) - count(DISTINCT ref) FROM jobs`); n != 0 {
			t.Errorf("%d days came twice", n)
		}
		if n := s.count(`SELECT count(*) FROM jobs`); n < 5 {
			t.Errorf("only %d days were scheduled", n)
		}
	})
}
