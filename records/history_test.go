package records_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"afterimage/records"
)

// follow reads the history from a number to its end and keeps a picture of
// what a poller knows.
func (w *world) follow(user string, since int64, limit int, known map[string]records.Image) int64 {
	w.t.Helper()
	for {
		h, err := w.History(w.t.Context(), user, since, limit)
		if err != nil {
			w.t.Error(err)
			return since
		}
		if h.Seq < since || len(h.Images) > limit {
			w.t.Errorf("from %d came %d images up to %d", since, len(h.Images), h.Seq)
		}
		for _, i := range h.Images {
			if i.Seq <= since || i.Seq > h.Seq {
				w.t.Errorf("a part from %d to %d has number %d", since, h.Seq, i.Seq)
			}
			known[i.ID] = i
			if !i.DeletedAt.IsZero() {
				delete(known, i.ID)
			}
		}
		since = h.Seq
		if !h.HasMore {
			return since
		}
	}
}

// A change and a deletion that came between the two reads of one part once made
// the cursor jump over the change: the deletion's number was the higher one.
func TestHistoryFollowedByItsCursorEndsWithThePresentState(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, ada, bob := t.Context(), w.person("ada"), w.person("bob")
		images := w.imports(ada, 12)
		writing := make(chan struct{})
		var writers, poller sync.WaitGroup
		for n := range 4 {
			random := rand.New(rand.NewPCG(uint64(n), 1))
			writers.Go(func() {
				for round := range 12 {
					i := images[random.IntN(len(images))]
					yes := random.IntN(2) == 0
					var err error
					switch {
					case round%8 == 7:
						err = w.DeleteImage(ctx, ada, i.ID)
					case round%3 == 0:
						_, _, err = w.CreateImport(ctx, ada, []records.ImportItem{{URL: "https://a.example/"}}, records.Idempotency{})
					default:
						err = w.MarkImage(ctx, ada, i.ID, records.Marks{Favorite: &yes, Trashed: &yes})
					}
					if err != nil && !errors.Is(err, records.ErrNotFound) {
						t.Error(err)
					}
				}
			})
		}
		known, since := map[string]records.Image{}, int64(0)
		poller.Go(func() {
			for {
				select {
				case <-writing:
					return
				default:
					since = w.follow(ada, since, 5, known)
				}
			}
		})
		writers.Wait()
		close(writing)
		poller.Wait()
		head := w.follow(ada, since, 5, known)

		present := append(w.list(ada, records.ImageFilter{Limit: 1000}), w.list(ada, records.ImageFilter{Limit: 1000, Trashed: true})...)
		if len(present) != len(known) {
			t.Errorf("the poller knows %d images, there are %d", len(known), len(present))
		}
		for _, i := range present {
			if k := known[i.ID]; k.Seq != i.Seq || k.Favorite != i.Favorite || k.TrashedAt != i.TrashedAt {
				t.Errorf("the poller knows number %d of %s, it is %d", k.Seq, i.ID, i.Seq)
			}
		}
		if h, err := w.HistoryHead(ctx, ada); err != nil || h != head {
			t.Errorf("the head is %d, %v, the poller is at %d", h, err, head)
		}
		if h, err := w.History(ctx, bob, 0, 10); err != nil || len(h.Images) != 0 || h.Seq != 0 {
			t.Errorf("bob sees %v, %v", h, err)
		}
	})
}

func TestHistoryTellsOfDeletions(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, ada := t.Context(), w.person("ada")
		images := w.imports(ada, 3)
		start, err := w.History(ctx, ada, 0, 10)
		if err != nil || len(start.Images) != 3 {
			t.Fatalf("got %v, %v", start, err)
		}
		if err := w.DeleteImage(ctx, ada, images[1].ID); err != nil {
			t.Fatal(err)
		}
		h, err := w.History(ctx, ada, start.Seq, 10)
		if err != nil || len(h.Images) != 1 || h.Images[0].ID != images[1].ID || h.Images[0].DeletedAt.IsZero() || h.Images[0].UserID != ada {
			t.Errorf("after the deletion: %+v, %v", h, err)
		}
		if h, err := w.History(ctx, ada, 0, 10); err != nil || len(h.Images) != 2 || h.Seq != start.Seq+1 {
			t.Errorf("who starts sees %+v, %v", h, err)
		}
		if h, err := w.History(ctx, ada, h.Seq, 10); err != nil || len(h.Images) != 0 || h.HasMore {
			t.Errorf("at the end: %+v, %v", h, err)
		}
		if h, err := w.History(ctx, ada, 1<<40, 10); err != nil || len(h.Images) != 0 {
			t.Errorf("beyond the end: %+v, %v", h, err)
		}
	})
}
