package records_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"afterimage/records"
)

func TestClaimMarksItsImages(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		w.instance("one")
		i := w.imports(ada, 1)[0]
		head, _ := w.HistoryHead(t.Context(), ada)
		j := w.claimOne(records.KindArchive)
		now := w.Now()
		if j.State != records.JobRunning || j.Claim != 1 || j.Owner == "" || j.InstanceID != "one" ||
			j.LeasedUntil.Sub(now.Time) > 10*time.Minute || j.LeasedUntil.Sub(now.Time) < 9*time.Minute || *j.Ref != i.ID || j.Attempt != 0 {
			t.Errorf("the job is %+v", j)
		}
		if i := w.image(ada, i.ID); i.Status != records.Archiving || i.Attempt != 1 || i.Seq != head+1 {
			t.Errorf("the image is %+v", i)
		}
		if again := w.claims(records.KindArchive, 5); len(again) != 0 {
			t.Errorf("claimed again: %v", again)
		}
		if none := w.claims(records.KindGenerate, 5); len(none) != 0 {
			t.Errorf("claimed of another kind: %v", none)
		}
	})
}

func TestClaimOrder(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		now := w.Now()
		soon, later := now.Add(time.Minute), now.Add(time.Hour)
		// In the order in which they have to be claimed; written in another.
		rows := []struct {
			name     string
			lane     int
			turn     int
			deadline records.Time
		}{
			{"03 somebody waits", 0, 0, soon},
			{"01 somebody waits for what lasts longer", 0, 0, later},
			{"00 somebody waits for what lasts, and was first", 0, 0, records.Never},
			{"04 somebody waits for what lasts, and was second", 0, 0, records.Never},
			{"06 an import's first, dying soon", 1, 1, soon},
			{"07 an import's first", 1, 1, records.Never},
			{"02 an import's second, dying soon", 1, 2, soon},
			{"05 when there is time", 2, 0, soon},
		}
		written := slices.Clone(rows)
		slices.SortFunc(written, func(a, b struct {
			name     string
			lane     int
			turn     int
			deadline records.Time
		}) int {
			if a.name < b.name {
				return -1
			}
			return 1
		})
		for _, r := range written {
			w.Exec(t, `INSERT INTO jobs (id, kind, ref, state, lane, turn, deadline, run_at, created_at) VALUES (?, 'test', ?, 'ready', ?, ?, ?, ?, ?)`,
				r.name, r.name, r.lane, r.turn, r.deadline, now, now)
		}
		var got []string
		for _, limit := range []int{1, 3, 100} {
			jobs := w.claims("test", limit)
			if len(jobs) > limit {
				t.Errorf("claimed %d of %d", len(jobs), limit)
			}
			for _, j := range jobs {
				got = append(got, j.ID)
			}
		}
		for n, r := range rows {
			if n >= len(got) || got[n] != r.name {
				t.Fatalf("claimed %q", got)
			}
		}
	})
}

func TestClaimLeavesAlone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada, now := w.person("ada"), w.Now()
		w.instance("one")
		w.instance("two")
		for _, state := range []string{"waiting", "held", "discarded"} {
			w.Exec(t, `INSERT INTO jobs (id, kind, ref, state, deadline, run_at, created_at) VALUES (?, 'archive', 'x', ?, ?, ?, ?)`, state, state, now, now, now)
		}
		if jobs := w.claims(records.KindArchive, 10); len(jobs) != 0 {
			t.Errorf("claimed %v", jobs)
		}
		i := w.imports(ada, 1)[0]
		w.Exec(t, `UPDATE jobs SET spool_id = 'spool of two' WHERE ref = ?`, i.ID)
		if jobs := w.claims(records.KindArchive, 10); len(jobs) != 0 {
			t.Errorf("claimed what only another's spool has: %v", jobs)
		}
		if jobs := w.claimsAs("two", records.KindArchive, 10); len(jobs) != 1 {
			t.Errorf("its own instance claimed %v", jobs)
		}
		if _, jobs, err := w.Advance(t.Context(), nil, records.ClaimRequest{Kind: records.KindArchive}); err != nil || len(jobs) != 0 {
			t.Errorf("with no limit: %v, %v", jobs, err)
		}
	})
}

func TestClaimByManyAtOnceGivesEachJobOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		people := []string{w.person("ada"), w.person("bob"), w.person("cyd")}
		for range 8 {
			for _, p := range people {
				w.imports(p, 5)
			}
		}
		var mu sync.Mutex
		claimed := map[string]int{}
		var wait sync.WaitGroup
		for n := range 8 {
			name := fmt.Sprint("instance", n)
			w.instance(name)
			wait.Go(func() {
				for empty := 0; empty < 3; {
					_, jobs, err := w.Advance(t.Context(), nil, records.ClaimRequest{Kind: records.KindArchive, Limit: 3, InstanceID: name, TTL: time.Minute})
					if err != nil {
						t.Error(err)
						return
					}
					if len(jobs) > 3 {
						t.Errorf("claimed %d of 3", len(jobs))
					}
					if len(jobs) == 0 {
						empty++ // others may hold the last ones for a moment
					}
					mu.Lock()
					for _, j := range jobs {
						claimed[j.ID]++
					}
					mu.Unlock()
				}
			})
		}
		wait.Wait()
		if len(claimed) != 120 {
			t.Errorf("claimed %d jobs of 120", len(claimed))
		}
		for id, n := range claimed {
			if n != 1 {
				t.Errorf("job %s was claimed %d times", id, n)
			}
		}
	})
}

// With LIMIT in a plain subquery PostgreSQL claimed 100 rows when its
// statistics were old: it ran the subquery once a row.
func TestClaimKeepsItsLimitUnderStaleStatistics(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		w.instance("one")
		w.Exec(t, `ANALYZE jobs`)
		w.imports(ada, 300)
		for range 20 {
			if jobs := w.claims(records.KindArchive, 1); len(jobs) != 1 {
				t.Fatalf("claimed %d", len(jobs))
			}
		}
	})
}

func TestRenew(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		w.instance("one")
		w.imports(ada, 3)
		jobs := w.claims(records.KindArchive, 3)
		late := jobs[1].Fence()
		late.Claim--
		gone := jobs[2].Fence()
		if err := w.DeleteImage(t.Context(), ada, *jobs[2].Ref); err != nil {
			t.Fatal(err)
		}
		lost, err := w.Renew(t.Context(), []records.Fence{gone, jobs[0].Fence(), late}, time.Hour)
		if err != nil || len(lost) != 2 || !slices.Contains(lost, late) || !slices.Contains(lost, gone) {
			t.Errorf("lost %v, %v", lost, err)
		}
		if left := w.job(*jobs[0].Ref).LeasedUntil.Sub(w.Now().Time); left < 59*time.Minute {
			t.Errorf("the renewed lease lasts %v", left)
		}
		if left := w.job(*jobs[1].Ref).LeasedUntil.Sub(w.Now().Time); left > 10*time.Minute {
			t.Errorf("the lost one was renewed to %v", left)
		}
	})
}

func TestPromote(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if next, err := w.Promote(t.Context()); err != nil || !next.IsZero() {
			t.Errorf("of an empty queue: %v, %v", next, err)
		}
		ada, now := w.person("ada"), w.Now()
		due, later, never := w.imports(ada, 1)[0], w.imports(ada, 1)[0], w.imports(ada, 1)[0]
		for id, at := range map[string]records.Time{due.ID: now, later.ID: now.Add(time.Hour), never.ID: records.Never} {
			w.Exec(t, `UPDATE jobs SET state = 'waiting', run_at = ? WHERE ref = ?`, at, id)
		}
		var woken []string
		w.OnJobs(func(kind string) { woken = append(woken, kind) })
		next, err := w.Promote(t.Context())
		if err != nil || next != now.Add(time.Hour) {
			t.Errorf("the next is due at %v, %v", next, err)
		}
		if w.job(due.ID).State != records.JobReady || w.job(later.ID).State != records.JobWaiting {
			t.Error("the wrong one is ready")
		}
		if !slices.Equal(woken, []string{records.KindArchive}) {
			t.Errorf("woken: %v", woken)
		}
	})
}

// People see that work has begun once it has for a while, and only if it is
// still ours: somebody else's attempt is theirs to tell.
func TestShowOnlyWhatIsStillOurs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, ada := t.Context(), w.person("ada")
		w.instance("one")
		w.instance("two")
		w.imports(ada, 2)
		claim := records.ClaimRequest{Kind: records.KindArchive, Limit: 2, InstanceID: "one", TTL: time.Minute}
		_, jobs, err := w.Advance(ctx, nil, claim)
		if err != nil || len(jobs) != 2 {
			t.Fatalf("claimed %v, %v", jobs, err)
		}
		w.Exec(t, `UPDATE jobs SET owner = 'somebody else' WHERE id = ?`, jobs[0].ID)
		if _, _, err := w.Advance(ctx, nil, records.ClaimRequest{Show: jobs}); err != nil {
			t.Fatal(err)
		}
		if lost, ours := w.image(ada, *jobs[0].Ref), w.image(ada, *jobs[1].Ref); lost.Status != records.Generated || ours.Status != records.Archiving || ours.Attempt != 1 {
			t.Errorf("they are shown as %s and %s", lost.Status, ours.Status)
		}
	})
}
