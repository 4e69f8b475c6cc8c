package http_test

import (
	"testing"
	"testing/synctest"
	"time"

	"afterimage/http"
	"afterimage/records"
	"afterimage/records/recordstest"
)

// inBubble runs a test in a world without a socket, under a clock that jumps.
func inBubble(t *testing.T, change func(*http.Config), test func(t *testing.T, w *world)) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		synctest.Test(t, func(t *testing.T) { test(t, newBubbleWorld(t, c, change)) })
	})
}

type historyJSON struct {
	Items   []kept
	Cursor  string
	HasMore bool `json:"has_more"`
}

func (v *visitor) history(query string) (h historyJSON) {
	v.w.t.Helper()
	v.get("/api/v1/history?" + query).wants(200).into(&h)
	return h
}

func TestAPollerMissesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		p := w.program(w.key(ann, records.ScopeImagesWrite))
		_, images := w.asks(ann, "a fox", 5)
		state := map[string]string{}
		cursor := ""
		poll := func() {
			t.Helper()
			for {
				h := p.history("limit=2&since=" + cursor)
				for _, i := range h.Items {
					state[i.ID] = i.Status
				}
				cursor = h.Cursor
				if !h.HasMore {
					return
				}
			}
		}
		poll()
		if len(state) != 5 {
			t.Fatalf("the first round gave %d images, want 5", len(state))
		}
		if h := p.history("since=" + cursor); len(h.Items) != 0 || h.HasMore || h.Cursor == "" {
			t.Errorf("with nothing new it gives %+v", h)
		}
		p.call("PATCH", "/api/v1/images/"+images[3].ID, `{"favorite":true}`).wants(200)
		w.state(images[1].ID, records.ArchiveFailed, "source_expired")
		p.send("DELETE", "/api/v1/images/"+images[1].ID, nil).wants(204)
		_, more := w.asks(ann, "a wolf", 1)
		poll()
		if state[images[1].ID] != "deleted" || state[more[0].ID] != "queued" || len(state) != 6 {
			t.Errorf("the second round gave %v", state)
		}
	})
}

func TestAnImageListPagesWithoutGapsWhileNewOnesArrive(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		p := w.program(w.key(ann, records.ScopeImagesRead))
		w.asks(ann, "old", 5)
		seen := map[string]bool{}
		for cursor := ""; ; {
			var page struct {
				Items      []kept
				NextCursor *string `json:"next_cursor"`
			}
			p.get("/api/v1/images?limit=2&cursor=" + cursor).wants(200).into(&page)
			for _, i := range page.Items {
				if seen[i.ID] {
					t.Errorf("image %s came twice", i.ID)
				}
				seen[i.ID] = true
			}
			if page.NextCursor == nil {
				break
			}
			cursor = *page.NextCursor
			w.asks(ann, "new", 1)
		}
		if len(seen) != 5 {
			t.Errorf("%d images came, want 5", len(seen))
		}
	})
}

func TestHistoryWaitsForAChange(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		ann := w.person("ann")
		p := w.program(w.key(ann, records.ScopeImagesWrite))
		_, images := w.asks(ann, "a fox", 1)
		cursor := p.history("").Cursor

		began := time.Now()
		if h := p.history("wait=25s&since=" + cursor); len(h.Items) != 0 || h.Cursor == "" {
			t.Errorf("nothing changed, and it gives %+v", h)
		}
		if took := time.Since(began); took != 25*time.Second {
			t.Errorf("it waited for %s, want 25s", took)
		}

		time.AfterFunc(3*time.Second, func() {
			if err := w.MarkImage(t.Context(), ann, images[0].ID, records.Marks{Favorite: new(true)}); err != nil {
				t.Error(err)
			}
		})
		began = time.Now()
		if h := p.history("wait=25s&since=" + cursor); len(h.Items) != 1 {
			t.Errorf("a change gives %+v", h)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it waited for %s, want 3s", took)
		}
	})
}

// Another instance's change is told to nobody here: a look every two seconds
// finds it.
func TestHistoryFindsAChangeOfAnotherInstance(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		ann := w.person("ann")
		p := w.program(w.key(ann, records.ScopeImagesRead))
		_, images := w.asks(ann, "a fox", 1)
		cursor := p.history("").Cursor
		time.AfterFunc(3*time.Second, func() {
			w.Exec(t, `UPDATE change_heads SET seq = seq + 1 WHERE user_id = ?`, ann)
			w.Exec(t, `UPDATE images SET seq = seq + 1 WHERE id = ?`, images[0].ID)
		})
		began := time.Now()
		if h := p.history("wait=25s&since=" + cursor); len(h.Items) != 1 {
			t.Errorf("it gives %+v", h)
		}
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("it waited for %s, want 4s", took)
		}
	})
}

func TestAnImageIsHeldUntilItDiffers(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		ann := w.person("ann")
		p := w.program(w.key(ann, records.ScopeImagesWrite))
		_, images := w.asks(ann, "a fox", 1)
		path := "/api/v1/images/" + images[0].ID
		first := p.get(path).wants(200)
		if first.Header.Get("Retry-After") != "2" {
			t.Errorf("Retry-After is %q", first.Header.Get("Retry-After"))
		}
		tag := "If-None-Match: " + first.Header.Get("ETag")
		p.get(path, tag).wants(304)

		began := time.Now()
		p.get(path+"?wait=25s", tag).wants(304)
		if took := time.Since(began); took != 25*time.Second {
			t.Errorf("it waited for %s, want 25s", took)
		}
		p.get(path + "?wait=25s").wants(200) // who has nothing is not kept waiting
		time.AfterFunc(time.Second, func() {
			if err := w.MarkImage(t.Context(), ann, images[0].ID, records.Marks{Favorite: new(true)}); err != nil {
				t.Error(err)
			}
		})
		p.get(path+"?wait=25s", tag).wants(200).has(`"favorite":true`)
	})
}

func TestStoppingSendsThoseWhoWaitAway(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		ann := w.person("ann")
		p := w.program(w.key(ann, records.ScopeImagesRead))
		_, images := w.asks(ann, "a fox", 1)
		cursor := p.history("").Cursor
		time.AfterFunc(time.Second, w.server.Drain)
		began := time.Now()
		p.history("wait=25s&since=" + cursor)
		p.get("/img/" + images[0].ID).wants(202)
		p.get("/live?since=" + cursor).wants(200)
		if took := time.Since(began); took != time.Second {
			t.Errorf("they waited for %s, want 1s", took)
		}
	})
}
