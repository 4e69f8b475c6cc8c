package records_test

import (
	"testing"

	"afterimage/records"
)

// An onward claim begins where the last one ended, and still finds whatever it
// was told of.
func TestOnwardClaim(t *testing.T) {
	onward := func(w *world) string {
		w.t.Helper()
		r := w.request(1)
		r.Onward = true
		_, jobs, err := w.Advance(w.t.Context(), nil, r)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(jobs) == 0 {
			return ""
		}
		return *jobs[0].Ref
	}
	each(t, func(t *testing.T, w *world) {
		w.instance("one")
		ada, bob := w.person("ada"), w.person("bob")
		first, second := w.imports(ada, 1)[0], w.imports(ada, 1)[0]
		if got := onward(w); got != first.ID {
			t.Fatalf("claimed %s first", got)
		}
		// What dies sooner stands before the mark, and is told of.
		soon := w.importItems(bob, records.ImportItem{URL: "https://source.example/soon.png", ExpiresAt: w.Now().Add(5 * 60 * 1e9)})[0]
		if got := onward(w); got != soon.ID {
			t.Errorf("what dies soon was passed over: claimed %s", got)
		}
		if got := onward(w); got != second.ID {
			t.Errorf("claimed %s, want the second", got)
		}
		// So does what is given back.
		if err := w.settles(records.Settlement{Job: w.job(first.ID), Verdict: records.Release}); err != nil {
			t.Fatal(err)
		}
		if got := onward(w); got != first.ID {
			t.Errorf("what was given back was passed over: claimed %s", got)
		}
		// And what a sweep finds with nobody behind it.
		w.Exec(t, `UPDATE jobs SET leased_until = ? WHERE ref = ?`, w.Now().Add(-1e9), soon.ID)
		if _, err := w.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := onward(w); got != soon.ID {
			t.Errorf("what was rescued was passed over: claimed %s", got)
		}
	})
}

// A row that nobody told of, as one written by hand, is found when the whole
// queue is looked at, which the worker does with each poll.
func TestWholeClaimFindsWhatNobodyToldOf(t *testing.T) {
	onPostgres(t, func(t *testing.T, w *world) {
		w.instance("one")
		ada := w.person("ada")
		images := w.imports(ada, 2)
		w.claims(records.KindArchive, 2) // the mark is not moved back by a claim
		w.Exec(t, `UPDATE jobs SET state = 'ready' WHERE ref = ?`, images[0].ID)
		r := w.request(1)
		r.Onward = true
		if _, jobs, err := w.Advance(t.Context(), nil, r); err != nil || len(jobs) != 0 {
			t.Errorf("an onward claim looked back: %v %v", jobs, err)
		}
		r.Onward = false
		if _, jobs, err := w.Advance(t.Context(), nil, r); err != nil || len(jobs) != 1 || *jobs[0].Ref != images[0].ID {
			t.Errorf("the row by hand was not found: %v %v", jobs, err)
		}
	})
}

// Another instance is told the place with the notification.
func TestPlacesSurviveANotification(t *testing.T) {
	for name, c := range map[string]struct{ sent, want string }{
		"a place":         {records.PlaceText(0, 7, records.Never, "abc"), records.PlaceText(0, 7, records.Never, "abc")},
		"nothing":         {"", records.FrontText()},
		"a negative lane": {records.PlaceText(-3, 0, records.Never, "x"), records.PlaceText(-3, 0, records.Never, "x")},
		"nonsense":        {"1 2 three 4", records.FrontText()},
		"cut off":         {"1 2", records.FrontText()},
	} {
		if got := records.ReadPlaceText(c.sent); got != c.want {
			t.Errorf("%s: %q became %q", name, c.sent, got)
		}
	}
}
