package http_test

import (
	"encoding/json"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"afterimage/records"
)

func (e event) image(t *testing.T) (i kept) {
	t.Helper()
	if err := json.Unmarshal([]byte(e.data), &i); err != nil {
		t.Fatalf("an event's data is no JSON: %v: %s", err, e.data)
	}
	return i
}

func TestAProgramIsToldOfChanges(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		p := w.program(w.key(ann, records.ScopeImagesWrite))
		old := w.imports(ann, "from before")
		cursor := p.history("").Cursor
		stream := p.listen("/api/v1/events")
		w.imports(w.person("bob"), "somebody else's wolf")
		fox := w.imports(ann, "a fox")
		first := stream.next()
		if i := first.image(t); first.kind != "image" || i.ID != fox.ID {
			t.Errorf("the first event is %+v", first)
		}
		p.send("DELETE", "/api/v1/images/"+old.ID, nil).wants(204)
		second := stream.next()
		if i := second.image(t); second.kind != "deleted" || i.ID != old.ID || i.Status != "deleted" {
			t.Errorf("the second event is %+v", second)
		}

		// An event's id is a cursor of the history, and a cursor is where a
		// stream goes on, the old ones too.
		if h := p.history("since=" + first.id); len(h.Items) != 1 || h.Items[0].ID != old.ID {
			t.Errorf("after the first event the history has %+v", h)
		}
		again := p.listen("/api/v1/events", "Last-Event-ID: "+cursor)
		if a, b := again.next(), again.next(); a.id != first.id || b.id != second.id || a.data != first.data {
			t.Errorf("again came %+v and %+v", a, b)
		}
		if e := p.listen("/api/v1/events?since=" + first.id).next(); e.id != second.id {
			t.Errorf("after the first event comes %+v", e)
		}
		p.get("/api/v1/events", "Last-Event-ID: nonsense").wants(400)
	})
}

// Two cursors from before the deletions that are still told of: one has missed
// nothing yet, the other may have.
func TestACursorFromBeforeTheKeptDeletionsIsGone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		p := w.program(w.key(ann, records.ScopeImagesWrite))
		images := []*records.Image{w.imports(ann, "one"), w.imports(ann, "two")}
		before := p.history("").Cursor
		p.send("DELETE", "/api/v1/images/"+images[0].ID, nil).wants(204)
		after := p.history("").Cursor
		w.Exec(t, `DELETE FROM deleted_images`)
		w.Exec(t, `UPDATE change_heads SET floor = seq WHERE user_id = ?`, ann)
		p.send("PATCH", "/api/v1/images/"+images[1].ID, strings.NewReader(`{"favorite":true}`)).wants(200)
		for _, path := range []string{"/api/v1/history?since=", "/api/v1/history?wait=25s&since=", "/api/v1/events?since="} {
			if code := p.get(path + before).wants(410).problem(); code != "cursor_expired" {
				t.Errorf("the code is %s", code)
			}
		}
		if h := p.history("since=" + after); len(h.Items) != 1 {
			t.Errorf("a cursor that has missed nothing gives %+v", h)
		}
		p.history("") // and from the start it works
	})
}

// Whoever does not take what is written in time is sent away, and goes on with
// the last event that arrived.
func TestASlowListenerIsDroppedAndCatchesUp(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		ann := w.person("ann")
		key := w.key(ann, records.ScopeImagesRead)
		r := httptest.NewRequestWithContext(t.Context(), "GET", w.url+"/api/v1/events", nil)
		r.Header.Set("Authorization", "Bearer "+key)
		stuck := &stuckWriter{ResponseRecorder: httptest.NewRecorder(), takes: 2} // hello and one event
		ended := make(chan struct{})
		go func() {
			w.server.ServeHTTP(stuck, r)
			close(ended)
		}()
		synctest.Wait()
		one := w.imports(ann, "one")
		synctest.Wait()
		two := w.imports(ann, "two")
		<-ended
		_, rest, _ := strings.Cut(stuck.Body.String(), "id: ")
		id, _, _ := strings.Cut(rest, "\n")
		if !strings.Contains(rest, one.ID) || strings.Contains(rest, two.ID) {
			t.Fatalf("it took %s", stuck.Body)
		}
		if h := w.program(key).history("since=" + id); len(h.Items) != 1 || h.Items[0].ID != two.ID {
			t.Errorf("it catches up with %+v", h)
		}
	})
}

// stuckWriter takes a number of writes, and then none before its deadline.
type stuckWriter struct {
	*httptest.ResponseRecorder
	takes int
}

func (s *stuckWriter) Write(b []byte) (int, error) {
	if s.takes--; s.takes < 0 {
		return 0, os.ErrDeadlineExceeded
	}
	return s.ResponseRecorder.Write(b)
}

var _ nethttp.ResponseWriter = (*stuckWriter)(nil)
