package records_test

import (
	"math"
	"testing"

	"afterimage/records"
)

// Rows that nobody but a person with an SQL shell could have written must not
// stop the queue for the others.
func TestCountersWrittenByHandDoNotStopTheQueue(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		w.instance("one")
		i := w.imports(ada, 2)
		w.Exec(t, `UPDATE jobs SET claim = ?, attempt = ?, crashes = ? WHERE ref = ?`,
			int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64), i[0].ID)
		jobs := w.claimsAs("dying", records.KindArchive, 2)
		if len(jobs) != 2 {
			t.Fatalf("claimed %d", len(jobs))
		}
		if s := w.swept(); s.Rescued != 2 {
			t.Errorf("swept %+v", s)
		}
		if j := w.job(i[0].ID); j.State != records.JobDiscarded || w.image(ada, i[0].ID).Status != records.ArchiveFailed {
			t.Errorf("the job is %+v", j)
		}
		if j := w.job(i[1].ID); j.State != records.JobReady || j.Crashes != 1 {
			t.Errorf("the other job is %+v", j)
		}
	})
}

func TestASecondJobForOneImageDoesNotUndoTheFirst(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada, now := w.person("ada"), w.Now()
		w.instance("one")
		i := w.imports(ada, 1)[0]
		w.Exec(t, `INSERT INTO jobs (id, kind, ref, state, deadline, run_at, created_at) VALUES ('by hand', 'archive', ?, 'ready', ?, ?, ?)`,
			i.ID, records.Never, now, now)
		jobs := w.claims(records.KindArchive, 2)
		if len(jobs) != 2 {
			t.Fatalf("claimed %d", len(jobs))
		}
		first, second := w.archived(ada, jobs[0]), w.archived(ada, jobs[1])
		second.Verdict, second.RunAt, second.Images[0].Image.Status, second.Images[0].Image.ObjectKey = records.Retry, now, records.RetryWait, ""
		for _, s := range []records.Settlement{first, second} {
			if err := w.settles(s); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.image(ada, i.ID); got.Status != records.Archived || got.ObjectKey == "" {
			t.Errorf("the image is %+v", got)
		}
		if got := w.events(ada, i.ID); len(got) != 2 {
			t.Errorf("the events are %v", got)
		}
	})
}

// A claim comes upon times in every form that a shell writes.
func TestTimesWrittenByHandDoNotStopTheQueue(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		w.instance("one")
		i := w.imports(ada, 2)
		written := "2026-03-01 12:00:00"
		if w.Postgres() {
			written = "infinity"
		}
		w.Exec(t, `UPDATE jobs SET deadline = ?, run_at = ? WHERE ref = ?`, written, written, i[0].ID)
		if jobs := w.claims(records.KindArchive, 2); len(jobs) != 2 {
			t.Errorf("claimed %d", len(jobs))
		}
	})
}
