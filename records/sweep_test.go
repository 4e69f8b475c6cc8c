package records_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"afterimage/records"
)

func TestSweep(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		w.instance("one")
		w.instance("dead")
		w.Exec(t, `UPDATE instances SET beat_at = ? WHERE id = 'dead'`, w.Now().Add(-36*time.Second))

		running, expired, strandedBy, ofNobody := w.imports(ada, 1)[0], records.Image{}, records.Image{}, records.Image{}
		w.claimOne(records.KindArchive)
		expired = w.imports(ada, 1)[0]
		w.claimOne(records.KindArchive)
		w.Exec(t, `UPDATE jobs SET leased_until = ? WHERE ref = ?`, w.Now().Add(-time.Second), expired.ID)
		strandedBy = w.imports(ada, 1)[0]
		w.claimsAs("dead", records.KindArchive, 1)
		ofNobody = w.imports(ada, 1)[0]
		w.claimsAs("never registered", records.KindArchive, 1)
		due := w.imports(ada, 1)[0]
		w.Exec(t, `UPDATE jobs SET state = 'waiting' WHERE ref = ?`, due.ID)
		orphan := w.imports(ada, 1)[0]
		w.Exec(t, `DELETE FROM jobs WHERE ref = ?`, orphan.ID)
		byHand := records.NewID()
		w.Exec(t, `INSERT INTO images (id, user_id, seq, status, source_url, created_at, updated_at) VALUES (?, ?, 1000, 'generated', 'https://a.example/', ?, ?)`,
			byHand, ada, w.Now(), w.Now())
		w.Exec(t, `UPDATE change_heads SET seq = 1000 WHERE user_id = ?`, ada)
		done, failed := w.imports(ada, 1)[0], w.imports(ada, 1)[0]
		w.Exec(t, `UPDATE images SET status = 'archived' WHERE id = ?`, done.ID)
		w.Exec(t, `UPDATE images SET status = 'archive_failed' WHERE id = ?`, failed.ID)
		w.Exec(t, `DELETE FROM jobs WHERE ref IN (?, ?)`, done.ID, failed.ID)

		var woken []string
		w.OnJobs(func(kind string) { woken = append(woken, kind) })
		if s := w.swept(); s != (records.Swept{Claimed: 1, Rescued: 3, Orphans: 2}) {
			t.Errorf("swept %+v", s)
		}
		if !slices.Contains(woken, records.KindArchive) {
			t.Error("nobody was woken")
		}
		if j := w.job(running.ID); j.State != records.JobRunning || j.Crashes != 0 {
			t.Errorf("running work was touched: %+v", j)
		}
		for name, i := range map[string]records.Image{"expired": expired, "stranded": strandedBy, "of nobody": ofNobody} {
			j := w.job(i.ID)
			if j.State != records.JobReady || j.Crashes != 1 || j.Attempt != 0 || j.Owner != "" {
				t.Errorf("%s: the job is %+v", name, j)
			}
			got := w.image(ada, i.ID)
			if got.Status != records.Generated || got.Attempt != 0 || got.Reason != records.ReasonInterrupted {
				t.Errorf("%s: the image is %+v", name, got)
			}
			if got := w.events(ada, i.ID); got[len(got)-1] != records.EventInterrupted {
				t.Errorf("%s: the events are %v", name, got)
			}
		}
		if j := w.job(due.ID); j.State != records.JobReady {
			t.Errorf("due work is %s", j.State)
		}
		if j := w.job(orphan.ID); j.State != records.JobReady {
			t.Errorf("the orphan's job is %s", j.State)
		}
		if j := w.job(byHand); j.State != records.JobReady {
			t.Errorf("the job of the row written by hand is %s", j.State)
		}
		if n := w.count(`SELECT count(*) FROM jobs WHERE ref IN (?, ?)`, done.ID, failed.ID); n != 0 {
			t.Error("finished images were enqueued")
		}
		if n := w.count(`SELECT count(*) FROM instances WHERE id = 'dead'`); n != 0 {
			t.Error("the dead instance is still there")
		}
		for range 3 {
			if s := w.swept(); s != (records.Swept{}) {
				t.Errorf("the next round found %+v", s)
			}
		}
	})
}

func TestSweepByManyAtOnceWinsEachRowOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada, bob := w.person("ada"), w.person("bob")
		for _, p := range []string{ada, bob} {
			w.imports(p, 20)
		}
		w.claimsAs("dead", records.KindArchive, 40)
		for _, p := range []string{ada, bob} {
			w.imports(p, 20)
		}
		w.Exec(t, `UPDATE jobs SET state = 'waiting' WHERE state = 'ready'`)
		for _, p := range []string{ada, bob} {
			for _, i := range w.imports(p, 20) {
				w.Exec(t, `DELETE FROM jobs WHERE ref = ?`, i.ID)
			}
		}
		var wait sync.WaitGroup
		found := make([]records.Swept, 6)
		for n := range found {
			wait.Go(func() {
				var err error
				if found[n], err = w.Sweep(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		var sum records.Swept
		for _, s := range found {
			sum.Claimed, sum.Rescued, sum.Orphans = sum.Claimed+s.Claimed, sum.Rescued+s.Rescued, sum.Orphans+s.Orphans
		}
		if sum != (records.Swept{Claimed: 40, Rescued: 40, Orphans: 40}) {
			t.Errorf("together they found %+v", sum)
		}
		if n := w.count(`SELECT count(*) FROM jobs WHERE state = 'ready'`); n != 120 {
			t.Errorf("%d jobs are ready", n)
		}
		if n := w.count(`SELECT count(*) FROM jobs WHERE crashes > 1`); n != 0 {
			t.Errorf("%d jobs were given back twice", n)
		}
	})
}

// What kills its process again and again is given up after five times.
func TestPoisonIsDiscarded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		crash := func(kind string) {
			jobs := w.claimsAs("dying", kind, 1)
			if len(jobs) == 0 {
				jobs = w.claimsSuspect("dying", kind)
			}
			if len(jobs) != 1 {
				t.Fatalf("claimed %v", jobs)
			}
			if s := w.swept(); s.Rescued != 1 || s.Orphans != 0 {
				t.Fatalf("swept %+v", s)
			}
		}
		t.Run("an image", func(t *testing.T) {
			i := w.imports(ada, 1)[0]
			for n := range 4 {
				crash(records.KindArchive)
				want := records.JobReady
				if n+1 >= 2 {
					want = records.JobSuspect
				}
				if j := w.job(i.ID); j.Crashes != n+1 || j.State != want {
					t.Fatalf("after %d crashes the job is %+v", n+1, j)
				}
			}
			crash(records.KindArchive)
			if j := w.job(i.ID); j.Crashes != 5 || j.State != records.JobDiscarded || j.LastError == "" {
				t.Errorf("the job is %+v", j)
			}
			if got := w.image(ada, i.ID); got.Status != records.ArchiveFailed || got.Reason != records.ReasonInterrupted {
				t.Errorf("the image is %+v", got)
			}
			if got := w.events(ada, i.ID); got[len(got)-1] != records.EventArchiveFailed {
				t.Errorf("the events are %v", got)
			}
			if s := w.swept(); s != (records.Swept{}) {
				t.Errorf("the next round found %+v", s)
			}
			if err := w.RetryImage(t.Context(), ada, i.ID); err != nil {
				t.Fatal(err)
			}
			if j := w.job(i.ID); j.Crashes != 0 || j.State != records.JobReady {
				t.Errorf("after Retry the job is %+v", j)
			}
			if err := w.DeleteImage(t.Context(), ada, i.ID); err != nil {
				t.Fatal(err)
			}
		})
		t.Run("a generation before its call", func(t *testing.T) {
			g, _ := w.asks(ada, 1)
			for range 5 {
				crash(records.KindGenerate)
			}
			g, images, err := w.GenerationWork(t.Context(), g.ID)
			if err != nil || g.Status != records.GenerationFailed || images[0].Status != records.GenerateFailed || images[0].Reason != records.ReasonInterrupted || g.FinishedAt.IsZero() {
				t.Errorf("it is %+v with %+v, %v", g, images, err)
			}
		})
		t.Run("a generation after its call began and one image was made", func(t *testing.T) {
			g, _ := w.asks(ada, 2)
			j := w.claimsAs("dying", records.KindGenerate, 1)[0]
			if err := w.BeginCall(t.Context(), j.Fence(), g.ID, nil); err != nil {
				t.Fatal(err)
			}
			_, images, _ := w.GenerationWork(t.Context(), g.ID)
			images[0].Status, images[0].SourceURL = records.Generated, "https://a.example/"
			if err := w.ImageMade(t.Context(), j.Fence(), records.ImageChange{Image: &images[0]}); err != nil {
				t.Fatal(err)
			}
			w.swept()
			for range 4 {
				crash(records.KindGenerate)
			}
			g, images, err := w.GenerationWork(t.Context(), g.ID)
			if err != nil || g.Status != records.GenerationSucceeded || images[0].Status != records.Generated || images[1].Status != records.Unknown {
				t.Errorf("it is %+v with %+v, %v", g, images, err)
			}
		})
	})
}

// A job that was discarded while its image waits is not tried again by
// itself, which could go on for ever: the image ends with it.
func TestSweepEndsWhatWasGivenUp(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		w.instance("one")
		i := w.imports(ada, 1)[0]
		if err := w.settles(records.Settlement{Job: w.claimOne(records.KindArchive), Verdict: records.Discard, Error: "panic: no"}); err != nil {
			t.Fatal(err)
		}
		g, _ := w.asks(ada, 1)
		if err := w.settles(records.Settlement{Job: w.claimOne(records.KindGenerate), Verdict: records.Discard, Error: "panic: no"}); err != nil {
			t.Fatal(err)
		}
		if s := w.swept(); s != (records.Swept{Orphans: 2}) {
			t.Errorf("swept %+v", s)
		}
		if got := w.image(ada, i.ID); got.Status != records.ArchiveFailed || got.Reason != records.ReasonInternal {
			t.Errorf("the image is %+v", got)
		}
		if g, _, err := w.Generation(t.Context(), ada, g.ID); err != nil || g.Status != records.GenerationFailed {
			t.Errorf("the generation is %+v, %v", g, err)
		}
		if s := w.swept(); s != (records.Swept{}) {
			t.Errorf("the next round found %+v", s)
		}
		if j := w.job(i.ID); j.State != records.JobDiscarded {
			t.Errorf("the job is %s, it has to stay for people to see", j.State)
		}
	})
}

func TestSweepGoesOnAfterAStepFailed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		due := w.imports(ada, 1)[0]
		w.Exec(t, `UPDATE jobs SET state = 'waiting' WHERE ref = ?`, due.ID)
		w.Exec(t, `DROP TABLE instances`)
		s, err := w.Sweep(t.Context())
		if err == nil || s.Failures != 1 || s.Claimed != 1 {
			t.Errorf("swept %+v, %v", s, err)
		}
	})
}

func TestStartInstanceTakesBackItsFormerWorkAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, ada := t.Context(), w.person("ada")
		start := func(id, spool string) int {
			t.Helper()
			n, err := w.StartInstance(ctx, records.Instance{ID: id, SpoolID: spool})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		start("first", "s")
		start("elsewhere", "other")
		i := w.imports(ada, 3)
		w.claimsAs("first", records.KindArchive, 1)
		w.claimsAs("elsewhere", records.KindArchive, 1)
		held := w.claimsAs("first", records.KindArchive, 1)[0]
		if err := w.settles(records.Settlement{Job: held, Verdict: records.Hold, SpoolID: "s"}); err != nil {
			t.Fatal(err)
		}
		if n := start("second", "s"); n != 1 {
			t.Errorf("%d were given back", n)
		}
		states := map[string]int{}
		for _, i := range i {
			states[w.job(i.ID).State]++
		}
		if states[records.JobReady] != 2 || states[records.JobRunning] != 1 {
			t.Errorf("the jobs are %v", states)
		}
		if n := w.count(`SELECT count(*) FROM instances WHERE id IN ('second', 'elsewhere')`); n != 2 || w.count(`SELECT count(*) FROM instances`) != 2 {
			t.Error("the list of instances is wrong")
		}
		if n := start("second", "s"); n != 0 {
			t.Errorf("starting twice gave %d back", n)
		}
		if err := w.Beat(ctx, records.Instance{ID: "third", SpoolID: "z"}); err != nil {
			t.Fatal(err)
		}
		if err := w.EndInstance(ctx, "third"); err != nil || w.count(`SELECT count(*) FROM instances`) != 2 {
			t.Errorf("signing off: %v", err)
		}
	})
}

func TestReleaseHeld(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		w.instance("one")
		w.imports(ada, 3)
		for n, j := range w.claims(records.KindArchive, 3) {
			if err := w.settles(records.Settlement{Job: j, Verdict: records.Hold, SpoolID: []string{"", "mine", "theirs"}[n]}); err != nil {
				t.Fatal(err)
			}
		}
		var woken []string
		w.OnJobs(func(kind string) { woken = append(woken, kind) })
		if err := w.ReleaseHeld(t.Context(), "mine"); err != nil {
			t.Fatal(err)
		}
		if n := w.count(`SELECT count(*) FROM jobs WHERE state = 'ready' AND spool_id IN ('', 'mine')`); n != 2 {
			t.Errorf("%d are ready", n)
		}
		if n := w.count(`SELECT count(*) FROM jobs WHERE state = 'held' AND spool_id = 'theirs'`); n != 1 {
			t.Error("another spool's was released")
		}
		if !slices.Equal(woken, []string{records.KindArchive}) {
			t.Errorf("woken: %v", woken)
		}
	})
}
