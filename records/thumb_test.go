package records_test

import (
	"errors"
	"testing"

	"afterimage/records"
)

// thumbJob is what an archived image makes necessary.
func thumbJob(i *records.Image) records.NextJob {
	return records.NextJob{Kind: records.KindThumbnail, Ref: i.ID, UserID: i.UserID, Lane: records.LaneIdle}
}

func TestASettlementEnqueuesWhatComesNext(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		w.instance("one")
		i := w.imports(ada, 2)
		jobs := w.claims(records.KindArchive, 2)
		stands, lost := w.archived(ada, jobs[0]), w.archived(ada, jobs[1])
		lost.Job.Owner = "somebody else"
		for _, s := range []*records.Settlement{&stands, &lost} {
			s.Next = []records.NextJob{thumbJob(s.Images[0].Image)}
		}
		errs := w.Settle(t.Context(), []records.Settlement{stands, lost})
		if errs[0] != nil || !errors.Is(errs[1], records.ErrLeaseLost) {
			t.Fatal(errs)
		}
		next := w.claims(records.KindThumbnail, 5)
		if len(next) != 1 || *next[0].Ref != *jobs[0].Ref || next[0].Lane != records.LaneIdle {
			t.Errorf("after %v the jobs are %+v", i, next)
		}
	})
}

func TestAThumbnailChangesNothingElse(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		w.instance("one")
		w.imports(ada, 1)
		s := w.archived(ada, w.claims(records.KindArchive, 1)[0])
		s.Next = []records.NextJob{thumbJob(s.Images[0].Image)}
		if err := w.settles(s); err != nil {
			t.Fatal(err)
		}
		j := w.claims(records.KindThumbnail, 1)[0]
		was := w.image(ada, *j.Ref)
		changed := *was
		changed.Thumb, changed.Status, changed.ObjectKey = records.ThumbPNG, records.RetryWait, "elsewhere"
		if err := w.settles(records.Settlement{Job: j, Images: []records.ImageChange{{Image: &changed, ThumbOnly: true}}}); err != nil {
			t.Fatal(err)
		}
		now := w.image(ada, was.ID)
		if now.Thumb != records.ThumbPNG || now.Status != records.Archived || now.ObjectKey != was.ObjectKey || now.Seq <= was.Seq {
			t.Errorf("the image is %+v, was %+v", now, was)
		}
	})
}

// What ends its process again and again is done without, and nobody waits.
func TestAThumbnailThatEndsItsProcessIsGivenUp(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		w.instance("one")
		w.imports(ada, 1)
		s := w.archived(ada, w.claims(records.KindArchive, 1)[0])
		s.Next = []records.NextJob{thumbJob(s.Images[0].Image)}
		if err := w.settles(s); err != nil {
			t.Fatal(err)
		}
		id := *s.Job.Ref
		w.Exec(t, `UPDATE jobs SET crashes = 4 WHERE ref = ?`, id)
		if jobs := w.claimsAs("dying", records.KindThumbnail, 1); len(jobs) != 1 {
			t.Fatalf("claimed %d", len(jobs))
		}
		w.swept()
		if i := w.image(ada, id); i.Thumb != records.ThumbNone || i.Status != records.Archived {
			t.Errorf("the image is %+v", i)
		}
		if j := w.job(id); j.State != records.JobDiscarded {
			t.Errorf("the job is %+v", j)
		}
	})
}
