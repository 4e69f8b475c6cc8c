package records_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"afterimage/records"
)

// Eight workers claim and settle while people mark, retry and delete the same
// images, imports arrive and sweeps run: nobody waits for ever, nothing fails,
// and in the end everything is archived, failed or deleted.
func TestNoDeadlocks(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		people := []string{w.person("ada"), w.person("bob"), w.person("cyd")}
		owner := map[string]string{}
		var all []records.Image
		for range 2 {
			for _, p := range people {
				for _, i := range w.imports(p, 15) {
					owner[i.ID], all = p, append(all, i)
				}
			}
		}
		var workers, others sync.WaitGroup
		for n := range 8 {
			name := fmt.Sprint("instance", n)
			w.instance(name)
			random := rand.New(rand.NewPCG(uint64(n), 2))
			workers.Go(func() {
				var done []records.Settlement
				for idle := 0; idle < 5; {
					errs, jobs, err := w.Advance(ctx, done, records.ClaimRequest{Kind: records.KindArchive, Limit: 4, InstanceID: name, TTL: time.Minute})
					if err != nil {
						t.Error(err)
						return
					}
					for _, e := range errs {
						if e != nil && !errors.Is(e, records.ErrLeaseLost) {
							t.Error(e)
						}
					}
					if done = nil; len(jobs) == 0 {
						idle++
						if _, err := w.Promote(ctx); err != nil {
							t.Error(err)
						}
					}
					for _, j := range jobs {
						image, err := w.ImageByLink(ctx, *j.Ref)
						if errors.Is(err, records.ErrNotFound) {
							done = append(done, records.Settlement{Job: j})
							continue
						}
						if err != nil {
							t.Error(err)
							return
						}
						s := records.Settlement{Job: j, RunAt: w.Now(), Images: []records.ImageChange{{Image: image, Event: &records.Event{Kind: "test"}}}}
						switch image.Status = records.Archived; {
						case random.IntN(4) == 0 && j.Attempt < 3:
							image.Status, s.Verdict = records.RetryWait, records.Retry
						case random.IntN(8) == 0:
							image.Status = records.ArchiveFailed
						}
						done = append(done, s)
					}
				}
			})
		}
		stop := make(chan struct{})
		for n := range 4 {
			random := rand.New(rand.NewPCG(uint64(n), 3))
			others.Go(func() {
				for round := 0; ; round++ {
					select {
					case <-stop:
						return
					default:
					}
					i := all[random.IntN(len(all))]
					yes := random.IntN(2) == 0
					var err error
					switch k := random.IntN(20); {
					case k == 0:
						err = w.DeleteImage(ctx, owner[i.ID], i.ID)
					case k < 4:
						err = w.RetryImage(ctx, owner[i.ID], i.ID)
					case k == 4:
						_, err = w.Sweep(ctx)
					default:
						err = w.MarkImage(ctx, owner[i.ID], i.ID, records.Marks{Favorite: &yes})
					}
					if err != nil && !errors.Is(err, records.ErrNotFound) && !errors.Is(err, records.ErrNotPossible) {
						t.Error(err)
						return
					}
				}
			})
		}
		workers.Wait()
		close(stop)
		others.Wait()
		// What the people made ready at the very end.
		w.instance("last")
		for {
			if _, err := w.Promote(ctx); err != nil {
				t.Fatal(err)
			}
			jobs := w.claimsAs("last", records.KindArchive, 100)
			if len(jobs) == 0 {
				break
			}
			for _, j := range jobs {
				if err := w.settles(w.archived(owner[*j.Ref], j)); err != nil {
					t.Error(err)
				}
			}
		}
		if n := w.count(`SELECT count(*) FROM images WHERE status NOT IN ('archived', 'archive_failed')`); n != 0 {
			t.Errorf("%d images are not finished", n)
		}
		if n := w.count(`SELECT count(*) FROM jobs WHERE kind = 'archive'`); n != 0 {
			t.Errorf("%d jobs are left", n)
		}
		deadlocks := 0
		if w.Postgres() {
			deadlocks = w.count(`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`)
		}
		t.Logf("%d images are left, %d deadlocks so far on this server", w.count(`SELECT count(*) FROM images`), deadlocks)
	})
}
