package records_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"afterimage/records"
)

// inState brings a new image of a person into a state, as the worker would.
func (w *world) inState(user string, s records.Status) records.Image {
	w.t.Helper()
	switch s {
	case records.Queued, records.Generating:
		_, images := w.asks(user, 1)
		if s == records.Generating {
			w.claimOne(records.KindGenerate)
		}
		return images[0]
	}
	i := w.imports(user, 1)[0]
	if s == records.Generated {
		return i
	}
	j := w.claimOne(records.KindArchive)
	set := w.archived(user, j)
	set.Images[0].Event = nil
	c := set.Images[0].Image
	c.ObjectKey, c.ArchivedAt, c.SourceURL, c.Status = "", records.Time{}, i.SourceURL, s
	switch s {
	case records.Archiving:
		return i
	case records.Archived:
		c.ObjectKey, c.SourceURL = "images/x.png", ""
	case records.RetryWait:
		set.Verdict, set.RunAt, c.NextAttemptAt = records.Retry, w.Now().Add(time.Hour), w.Now().Add(time.Hour)
	case records.ArchiveFailed:
		c.Reason, c.Attempt = "source_missing", 3
	}
	if err := w.settles(set); err != nil {
		w.t.Fatal(err)
	}
	return i
}

func TestRetryImage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		w.instance("one")
		for _, s := range records.Statuses {
			t.Run(string(s), func(t *testing.T) {
				i := w.inState(ada, s)
				defer w.Exec(t, `DELETE FROM jobs`)
				before := w.image(ada, i.ID)
				err := w.RetryImage(t.Context(), ada, i.ID)
				after := w.image(ada, i.ID)
				if s != records.RetryWait && s != records.ArchiveFailed {
					if !errors.Is(err, records.ErrNotPossible) || after.Seq != before.Seq || after.Status != s {
						t.Errorf("got %v; the image is %+v", err, after)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if !after.NextAttemptAt.IsZero() || after.Seq == before.Seq || s == records.ArchiveFailed && (after.Status != records.Generated || after.Attempt != 0 || after.Reason != "") {
					t.Errorf("the image is %+v", after)
				}
				if got := w.events(ada, i.ID); got[len(got)-1] != records.EventRetried {
					t.Errorf("the events are %v", got)
				}
				if j := w.claimOne(records.KindArchive); *j.Ref != i.ID || s == records.ArchiveFailed && j.Attempt != 0 || s == records.RetryWait && j.Attempt != 1 {
					t.Errorf("claimed %+v", j)
				}
			})
		}
		t.Run("with nothing left to archive from", func(t *testing.T) {
			i := w.inState(ada, records.ArchiveFailed)
			w.Exec(t, `UPDATE images SET source_url = '' WHERE id = ?`, i.ID)
			if err := w.RetryImage(t.Context(), ada, i.ID); !errors.Is(err, records.ErrNotPossible) {
				t.Errorf("got %v", err)
			}
		})
		t.Run("from the spool alone", func(t *testing.T) {
			i := w.inState(ada, records.ArchiveFailed)
			w.Exec(t, `UPDATE images SET source_url = '', spool_id = 'spool of one' WHERE id = ?`, i.ID)
			if err := w.RetryImage(t.Context(), ada, i.ID); err != nil {
				t.Fatal(err)
			}
			if j := w.job(i.ID); j.SpoolID != "spool of one" {
				t.Errorf("the job is %+v", j)
			}
			w.Exec(t, `DELETE FROM jobs`)
		})
		t.Run("whose waiting job was lost", func(t *testing.T) {
			i := w.inState(ada, records.RetryWait)
			w.Exec(t, `DELETE FROM jobs WHERE ref = ?`, i.ID)
			if err := w.RetryImage(t.Context(), ada, i.ID); err != nil {
				t.Fatal(err)
			}
			if j := w.job(i.ID); j.State != records.JobReady {
				t.Errorf("the job is %+v", j)
			}
		})
	})
}

func TestMarkImage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, ada, yes, no := t.Context(), w.person("ada"), true, false
		w.instance("one")
		for _, s := range records.Statuses {
			t.Run(string(s), func(t *testing.T) {
				i := w.inState(ada, s)
				defer w.Exec(t, `DELETE FROM jobs`)
				for _, m := range []records.Marks{{Favorite: &yes}, {Trashed: &yes}, {Trashed: &yes}, {}, {Favorite: &no, Trashed: &no}} {
					if err := w.MarkImage(ctx, ada, i.ID, m); err != nil {
						t.Fatal(err)
					}
					got := w.image(ada, i.ID)
					if got.Status != s || m.Favorite != nil && got.Favorite != *m.Favorite || m.Trashed != nil && got.TrashedAt.IsZero() == *m.Trashed {
						t.Errorf("after %+v the image is %+v", m, got)
					}
				}
				got := w.events(ada, i.ID)
				if got = got[len(got)-2:]; !slices.Equal(got, []string{records.EventTrashed, records.EventRestored}) {
					t.Errorf("the events end with %v", got)
				}
			})
		}
	})
}

func TestDeleteImage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, ada := t.Context(), w.person("ada")
		w.instance("one")
		for _, s := range records.Statuses {
			t.Run(string(s), func(t *testing.T) {
				i := w.inState(ada, s)
				defer w.Exec(t, `DELETE FROM jobs`)
				err := w.DeleteImage(ctx, ada, i.ID)
				if s == records.Queued || s == records.Generating {
					if !errors.Is(err, records.ErrNotPossible) {
						t.Errorf("got %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.Image(ctx, ada, i.ID); !errors.Is(err, records.ErrNotFound) {
					t.Errorf("the image: %v", err)
				}
				if n := w.count(`SELECT count(*) FROM image_events WHERE image_id = ?`, i.ID); n != 0 {
					t.Errorf("%d events are left", n)
				}
				if j := w.job(i.ID); j.Kind != records.KindDelete || j.Lane != records.LaneIdle || s == records.Archived && j.Data != "images/x.png" {
					t.Errorf("the job is %+v", j)
				}
				if err := w.DeleteImage(ctx, ada, i.ID); !errors.Is(err, records.ErrNotFound) {
					t.Errorf("twice: %v", err)
				}
			})
		}
		t.Run("while it is archived: the worker's settlement is lost", func(t *testing.T) {
			i := w.imports(ada, 1)[0]
			s := w.archived(ada, w.claimOne(records.KindArchive))
			if err := w.DeleteImage(ctx, ada, i.ID); err != nil {
				t.Fatal(err)
			}
			if err := w.settles(s); !errors.Is(err, records.ErrLeaseLost) {
				t.Errorf("got %v", err)
			}
			if _, err := w.ImageByLink(ctx, i.ID); !errors.Is(err, records.ErrNotFound) {
				t.Errorf("the image came back: %v", err)
			}
		})
	})
}
