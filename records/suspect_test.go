package records_test

import (
	"testing"
	"time"

	"afterimage/records"
)

// A job of a kind that no living instance runs would wait for ever. One that a
// newer instance runs is left alone, also by the older ones beside it.
func TestUnknownKindsAreDiscarded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		add := func(kind string, age time.Duration) {
			w.Exec(t, `INSERT INTO jobs (id, kind, ref, state, deadline, run_at, created_at) VALUES (?, ?, 'x', 'ready', ?, ?, ?)`,
				"job "+kind, kind, records.Never, w.Now(), w.Now().Add(-age))
		}
		add("misspelt", time.Hour)
		add("new", time.Hour)
		add("just written", time.Second)
		if found, err := w.DiscardUnknown(ctx); err != nil || len(found) != 0 {
			t.Errorf("with no instance there is no telling, but it discarded %v, %v", found, err)
		}
		for _, i := range []records.Instance{
			{ID: "older", SpoolID: "a", Kinds: []string{"archive", "generate"}},
			{ID: "newer", SpoolID: "b", Kinds: []string{"archive", "generate", "new"}},
		} {
			if _, err := w.StartInstance(ctx, i); err != nil {
				t.Fatal(err)
			}
		}
		found, err := w.DiscardUnknown(ctx)
		if err != nil || len(found) != 1 || found[0] != (records.UnknownJob{ID: "job misspelt", Kind: "misspelt"}) {
			t.Errorf("it discarded %v, %v", found, err)
		}
		if n := w.count(`SELECT count(*) FROM jobs WHERE state = 'discarded' AND last_error LIKE '%misspelt%'`); n != 1 {
			t.Errorf("%d rows say what is wrong", n)
		}
	})
}

// Of jobs that went down with their process twice, those go first that did so
// least often, and only those that this instance can do.
func TestNextSuspect(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		add := func(id, kind, spool string, crashes int) {
			w.Exec(t, `INSERT INTO jobs (id, kind, ref, state, deadline, run_at, created_at, spool_id, crashes) VALUES (?, ?, ?, 'suspect', ?, ?, ?, ?, ?)`,
				id, kind, id, records.Never, w.Now(), w.Now(), spool, crashes)
		}
		next := func(kinds ...string) string {
			kind, err := w.NextSuspect(ctx, kinds, "spool of one")
			if err != nil {
				t.Fatal(err)
			}
			return kind
		}
		if kind := next("archive"); kind != "" {
			t.Errorf("there is none, but it is %s", kind)
		}
		add("1", "archive", "", 4)
		add("2", "generate", "spool of one", 2)
		add("3", "delete", "spool of two", 2)
		if kind := next("archive", "generate", "delete"); kind != "generate" {
			t.Errorf("the next one is %q", kind)
		}
		if kind := next("archive"); kind != "archive" {
			t.Errorf("the next one is %q", kind)
		}
		if jobs := w.claims("generate", 5); len(jobs) != 0 {
			t.Errorf("a claim among others took %v", jobs)
		}
		if jobs := w.claimsSuspect("one", "generate"); len(jobs) != 1 {
			t.Errorf("claimed %v", jobs)
		}
	})
}
