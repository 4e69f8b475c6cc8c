package records_test

import (
	"errors"
	"testing"
	"time"

	"afterimage/records"
)

// Every method that takes a person treats what is somebody else's as if it
// did not exist.
func TestNobodyReachesWhatIsSomebodyElses(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, ada, bob, yes := t.Context(), w.person("ada"), w.person("bob"), true
		w.instance("one")
		i := w.inState(ada, records.ArchiveFailed)
		g, _ := w.asks(ada, 2)
		k, _, err := w.CreateKey(ctx, ada, "ci", records.Scopes, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		snapshot := func() string {
			h, err := w.HistoryHead(ctx, ada)
			if err != nil {
				t.Fatal(err)
			}
			return string(w.image(ada, i.ID).Status) + string(rune(h)) + string(rune(w.count(`SELECT count(*) FROM jobs`)))
		}
		before := snapshot()

		for name, call := range map[string]func(user string) error{
			"Image":            func(u string) error { _, err := w.Image(ctx, u, i.ID); return err },
			"Generation":       func(u string) error { _, _, err := w.Generation(ctx, u, g.ID); return err },
			"RetryImage":       func(u string) error { return w.RetryImage(ctx, u, i.ID) },
			"MarkImage":        func(u string) error { return w.MarkImage(ctx, u, i.ID, records.Marks{Trashed: &yes}) },
			"DeleteImage":      func(u string) error { return w.DeleteImage(ctx, u, i.ID) },
			"CancelGeneration": func(u string) error { return w.CancelGeneration(ctx, u, g.ID) },
			"RevokeKey":        func(u string) error { return w.RevokeKey(ctx, u, k.ID) },
		} {
			t.Run(name, func(t *testing.T) {
				for _, user := range []string{bob, "", "nobody"} {
					if err := call(user); !errors.Is(err, records.ErrNotFound) {
						t.Errorf("as %q: %v", user, err)
					}
				}
			})
		}
		for name, count := range map[string]func() (int, error){
			"Images": func() (int, error) {
				l, err := w.Images(ctx, bob, records.ImageFilter{GenerationID: g.ID, Limit: 10})
				return len(l), err
			},
			"CountImages": func() (int, error) { l, err := w.CountImages(ctx, bob, records.ImageFilter{}); return len(l), err },
			"Events":      func() (int, error) { l, err := w.Events(ctx, bob, i.ID); return len(l), err },
			"Keys":        func() (int, error) { l, err := w.Keys(ctx, bob); return len(l), err },
			"History":     func() (int, error) { h, err := w.History(ctx, bob, 0, 10); return len(h.Images), err },
		} {
			t.Run(name, func(t *testing.T) {
				if n, err := count(); n != 0 || err != nil {
					t.Errorf("bob sees %d, %v", n, err)
				}
			})
		}
		if after := snapshot(); after != before {
			t.Error("something of ada's changed")
		}
		if jobs := w.claims(records.KindGenerate, 1); len(jobs) != 1 {
			t.Error("ada's generation is gone from the queue")
		}
	})
}
