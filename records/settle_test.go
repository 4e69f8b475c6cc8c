package records_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"afterimage/records"
)

func TestSettle(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		w.instance("one")
		at := w.Now().Add(30 * time.Second)
		for name, c := range map[string]struct {
			verdict        records.Verdict
			state          string // empty: the row is gone
			attempt        int
			status         records.Status
			spool          string
			claimableAgain bool
		}{
			"complete":          {records.Complete, "", 0, records.Archived, "", false},
			"retry":             {records.Retry, records.JobWaiting, 1, records.RetryWait, "", false},
			"release":           {records.Release, records.JobReady, 0, records.Generated, "", true},
			"defer":             {records.Defer, records.JobWaiting, 0, records.Archiving, "", false},
			"hold":              {records.Hold, records.JobHeld, 0, records.Archiving, "", false},
			"hold, bound to us": {records.Hold, records.JobHeld, 0, records.Archiving, "spool of one", false},
			"discard":           {records.Discard, records.JobDiscarded, 1, records.ArchiveFailed, "", false},
		} {
			t.Run(name, func(t *testing.T) {
				i := w.imports(ada, 1)[0]
				j := w.claimOne(records.KindArchive)
				changed := w.image(ada, i.ID)
				changed.Status = c.status
				s := records.Settlement{Job: j, Verdict: c.verdict, RunAt: at, Error: "why", SpoolID: c.spool,
					Images: []records.ImageChange{{Image: changed, Event: &records.Event{Kind: "test"}}}}
				if err := w.settles(s); err != nil {
					t.Fatal(err)
				}
				if got := w.image(ada, i.ID); got.Status != c.status {
					t.Errorf("the image is %s", got.Status)
				}
				if got := w.events(ada, i.ID); !slices.Equal(got, []string{records.EventImported, "test"}) {
					t.Errorf("the events are %v", got)
				}
				jobs, err := w.JobsOf(t.Context(), i.ID)
				if err != nil {
					t.Fatal(err)
				}
				if c.state == "" {
					if len(jobs) != 0 {
						t.Errorf("the row is still there: %+v", jobs)
					}
				} else if got := jobs[0]; got.State != c.state || got.Attempt != c.attempt || got.Crashes != 0 || got.LastError != "why" || got.SpoolID != c.spool ||
					got.Owner != "" || got.InstanceID != "" || !got.LeasedUntil.IsZero() || c.state == records.JobWaiting && got.RunAt != at {
					t.Errorf("the row is %+v", got)
				}
				if err := w.settles(s); !errors.Is(err, records.ErrLeaseLost) {
					t.Errorf("the second time: %v", err)
				}
				again := w.claims(records.KindArchive, 1)
				if (len(again) == 1) != c.claimableAgain {
					t.Errorf("claimed again: %v", again)
				}
				if len(again) == 1 && again[0].Claim != j.Claim+1 {
					t.Errorf("the claim number went from %d to %d", j.Claim, again[0].Claim)
				}
			})
		}
	})
}

// River 0.51 settles by the state alone, so a worker that was frozen past its
// lease completed the run of its successor.
func TestSettleByALateFinisherChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		w.instance("one")
		w.instance("two")
		i := w.imports(ada, 1)[0]
		late := w.claimOne(records.KindArchive)
		w.Exec(t, `UPDATE jobs SET leased_until = ?`, w.Now().Add(-time.Second))
		if s := w.swept(); s.Rescued != 1 {
			t.Fatalf("swept %+v", s)
		}
		second := w.claimsAs("two", records.KindArchive, 1)[0]
		head, _ := w.HistoryHead(t.Context(), ada)
		for _, v := range []records.Verdict{records.Complete, records.Retry, records.Release, records.Defer, records.Hold, records.Discard} {
			s := w.archived(ada, late)
			s.Verdict, s.RunAt = v, w.Now()
			if err := w.settles(s); !errors.Is(err, records.ErrLeaseLost) {
				t.Errorf("verdict %d: %v", v, err)
			}
		}
		if got := w.job(i.ID); got.Claim != second.Claim || got.Owner != second.Owner || got.State != records.JobRunning {
			t.Errorf("the job is %+v", got)
		}
		if after, _ := w.HistoryHead(t.Context(), ada); after != head || w.image(ada, i.ID).Status != records.Archiving {
			t.Error("the image changed")
		}
		if err := w.settles(w.archived(ada, second)); err != nil {
			t.Errorf("the successor: %v", err)
		}
	})
}

func TestSettleOfABatchWithOneLost(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada, bob := w.person("ada"), w.person("bob")
		w.instance("one")
		w.imports(ada, 2)
		w.imports(bob, 2)
		jobs := w.claims(records.KindArchive, 4)
		list := make([]records.Settlement, 4)
		for n, j := range jobs {
			user := ada
			if w.count(`SELECT count(*) FROM images WHERE id = ? AND user_id = ?`, *j.Ref, bob) == 1 {
				user = bob
			}
			list[n] = w.archived(user, j)
		}
		list[2].Job.Owner = "somebody else"
		errs := w.Settle(t.Context(), list)
		for n, err := range errs {
			if (n == 2) != errors.Is(err, records.ErrLeaseLost) || n != 2 && err != nil {
				t.Errorf("settlement %d: %v", n, err)
			}
		}
		if n := w.count(`SELECT count(*) FROM images WHERE status = 'archived'`); n != 3 {
			t.Errorf("%d images are archived", n)
		}
		if n := w.count(`SELECT count(*) FROM jobs`); n != 1 {
			t.Errorf("%d jobs are left", n)
		}
	})
}

func TestSettleOfABatchWithOneThatFailsDoesNotTakeTheOthers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		w.instance("one")
		w.imports(ada, 6)
		var list []records.Settlement
		for _, j := range w.claims(records.KindArchive, 4) {
			list = append(list, w.archived(ada, j))
		}
		list[1].Images[0].Image.Status = "nonsense" // the schema refuses it
		errs, jobs, err := w.Advance(t.Context(), list, records.ClaimRequest{Kind: records.KindArchive, Limit: 4, InstanceID: "one", TTL: time.Minute})
		for n, e := range errs {
			if (n == 1) != (e != nil) || errors.Is(e, records.ErrLeaseLost) {
				t.Errorf("settlement %d: %v", n, e)
			}
		}
		if err != nil || len(jobs) != 2 {
			t.Errorf("claimed %v, %v", jobs, err)
		}
		if n := w.count(`SELECT count(*) FROM images WHERE status = 'archived'`); n != 3 {
			t.Errorf("%d images are archived", n)
		}
		if j := w.job(*list[1].Job.Ref); j.State != records.JobRunning || j.Claim != 1 {
			t.Errorf("the failed one's job is %+v", j)
		}
	})
}

func TestSettleThatFailsKeepsItsSlot(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		w.instance("one")
		w.imports(ada, 2)
		s := w.archived(ada, w.claimOne(records.KindArchive))
		s.Images[0].Image.Status = "nonsense"
		errs, jobs, err := w.Advance(t.Context(), []records.Settlement{s}, records.ClaimRequest{Kind: records.KindArchive, Limit: 1, InstanceID: "one", TTL: time.Minute})
		if errs[0] == nil || err != nil || len(jobs) != 0 {
			t.Errorf("got %v, %v, %v", errs, jobs, err)
		}
	})
}

func TestAdvanceClaimsWhatItReleases(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		w.instance("one")
		i := w.imports(ada, 1)[0]
		j := w.claimOne(records.KindArchive)
		back := w.image(ada, i.ID)
		back.Status, back.Attempt = records.Generated, 0
		s := records.Settlement{Job: j, Verdict: records.Release, Images: []records.ImageChange{{Image: back}}}
		errs, jobs, err := w.Advance(t.Context(), []records.Settlement{s}, records.ClaimRequest{Kind: records.KindArchive, Limit: 1, InstanceID: "one", TTL: time.Minute})
		if errs[0] != nil || err != nil || len(jobs) != 1 || jobs[0].Claim != 2 {
			t.Fatalf("got %v, %v, %v", errs, jobs, err)
		}
		if got := jobs[0].Image; got.Status != records.Archiving || got.Attempt != 1 {
			t.Errorf("the job's image is %s, attempt %d", got.Status, got.Attempt)
		}
		if got := w.image(ada, i.ID); got.Status != records.Generated || got.Attempt != 0 {
			t.Errorf("people see %s, attempt %d, before it has run for a while", got.Status, got.Attempt)
		}
		if back.Status != records.Generated {
			t.Error("the caller's settlement was changed to the claim's")
		}
	})
}

func TestSettleLeavesThePersonsMarks(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		w.instance("one")
		i := w.imports(ada, 1)[0]
		s := w.archived(ada, w.claimOne(records.KindArchive))
		yes := true
		if err := w.MarkImage(t.Context(), ada, i.ID, records.Marks{Favorite: &yes, Trashed: &yes}); err != nil {
			t.Fatal(err)
		}
		if err := w.settles(s); err != nil {
			t.Fatal(err)
		}
		if got := w.image(ada, i.ID); got.Status != records.Archived || !got.Favorite || got.TrashedAt.IsZero() {
			t.Errorf("the image is %+v", got)
		}
	})
}

func TestSettleKeepsTextThatOthersSent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		w.instance("one")
		i := w.imports(ada, 1)[0]
		s := w.archived(ada, w.claimOne(records.KindArchive))
		nasty := "a\x00b\xff\xfe灯" + strings.Repeat("塔", 1000)
		s.Error, s.Images[0].Image.ProviderMessage, s.Images[0].Event.Detail = nasty, nasty, nasty
		s.Images[0].Image.ObjectETag, s.Images[0].Image.MIME = "\"\xff\x00\"", "image/\x00png"
		s.Images[0].Image.Params = records.Params{"revised_prompt": nasty}
		s.Verdict = records.Discard
		if err := w.settles(s); err != nil {
			t.Fatal(err)
		}
		events, err := w.Events(t.Context(), ada, i.ID)
		if err != nil || !strings.HasPrefix(events[1].Detail, "ab\uFFFD灯塔") {
			t.Errorf("the events are %v, %v", events, err)
		}
	})
}
