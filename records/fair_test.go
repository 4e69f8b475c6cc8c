package records_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"afterimage/records"
)

// order claims everything and tells whose images come in which order, by the
// first letters of their owners' names.
func (w *world) order(names map[string]string) string {
	w.t.Helper()
	var b strings.Builder
	for _, j := range w.claims(records.KindArchive, 1000) {
		b.WriteString(names[j.UserID])
	}
	return b.String()
}

// A person who imports a hundred images must not make another wait for all of
// them. What is about to die goes before everybody's turn.
func TestImportsTakeTurns(t *testing.T) {
	items := func(n int, in time.Duration) (list []records.ImportItem) {
		for i := range n {
			list = append(list, records.ImportItem{URL: fmt.Sprintf("https://source.example/%d.png", i), ExpiresAt: records.At(time.Now().Add(in))})
		}
		return list
	}
	each(t, func(t *testing.T, w *world) {
		ada, bob, cy := w.person("ada"), w.person("bob"), w.person("cy")
		names := map[string]string{ada: "a", bob: "b", cy: "c"}
		w.instance("one")
		w.importItems(ada, items(6, 24*time.Hour)...)
		w.importItems(bob, items(2, 25*time.Hour)...)
		w.importItems(ada, items(1, 24*time.Hour)...)
		w.importItems(cy, items(2, 26*time.Hour)...)
		if got := w.order(names); got != "abcabcaaaaa" {
			t.Errorf("they came as %s", got)
		}
		t.Run("who comes later starts where the queue is", func(t *testing.T) {
			w.importItems(ada, items(6, 24*time.Hour)...)
			w.claims(records.KindArchive, 4)
			w.importItems(bob, items(2, 24*time.Hour)...)
			if got := w.order(names); got != "abab" {
				t.Errorf("they came as %s", got)
			}
		})
		t.Run("the urgent go first, by their deadline", func(t *testing.T) {
			w.importItems(ada, items(2, 24*time.Hour)...)
			w.importItems(bob, items(1, 50*time.Minute)...)
			w.importItems(cy, items(1, 5*time.Minute)...)
			w.asks(bob, 1)
			if got := w.order(names); got != "cbaa" {
				t.Errorf("they came as %s", got)
			}
		})
		t.Run("waiting makes urgent", func(t *testing.T) {
			w.importItems(ada, items(2, 24*time.Hour)...)
			late := w.importItems(bob, items(3, 24*time.Hour)...)[2]
			w.Exec(t, `UPDATE jobs SET deadline = ? WHERE ref = ?`, w.Now().Add(30*time.Minute), late.ID)
			w.swept()
			if got := w.order(names); got != "babab" {
				t.Errorf("they came as %s", got)
			}
		})
	})
}

// The lane of who waits goes before all bulk work, however urgent that is.
func TestInteractiveGoesBeforeBulk(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada, bob := w.person("ada"), w.person("bob")
		w.importItems(ada, records.ImportItem{URL: "https://a.example/", ExpiresAt: w.Now().Add(time.Minute)})
		failed := w.imports(bob, 1)[0]
		w.Exec(t, `UPDATE images SET status = 'archive_failed' WHERE id = ?`, failed.ID)
		w.Exec(t, `DELETE FROM jobs WHERE ref = ?`, failed.ID)
		if err := w.RetryImage(t.Context(), bob, failed.ID); err != nil {
			t.Fatal(err)
		}
		if got := w.order(map[string]string{ada: "a", bob: "b"}); got != "ba" {
			t.Errorf("they came as %s", got)
		}
	})
}
