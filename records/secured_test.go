package records_test

import (
	"errors"
	"testing"

	"afterimage/records"
)

func TestNoteSecured(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		w.instance("one")
		id := w.imports(ada, 1)[0].ID
		j := w.claimOne(records.KindArchive)
		note := *j.Image
		note.SpoolID, note.SHA256 = "spool of one", "abc"
		before := w.image(ada, id).Seq
		if err := w.NoteSecured(t.Context(), j, &note); err != nil {
			t.Fatal(err)
		}
		i := w.image(ada, id)
		if !i.Secured() || i.SHA256 != "abc" || i.Status != records.Archiving || i.Seq <= before {
			t.Errorf("the image is %+v", i)
		}
		if got := w.job(id); got.State != records.JobRunning || got.Owner != j.Owner || got.SpoolID != "" {
			t.Errorf("the job is %+v", got)
		}
		if err := w.settles(w.archived(ada, j)); err != nil {
			t.Fatal(err)
		}
		note.SpoolID = "late"
		if err := w.NoteSecured(t.Context(), j, &note); !errors.Is(err, records.ErrLeaseLost) {
			t.Errorf("after the claim's end: %v", err)
		}
		if got := w.image(ada, id); got.SpoolID == "late" || got.Status != records.Archived {
			t.Errorf("a late note changed the image: %+v", got)
		}
	})
}
