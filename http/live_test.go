package http_test

import (
	"bufio"
	"context"
	"html"
	nethttp "net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"afterimage/records"
)

// feed is an event stream that a page has open.
type feed struct {
	t     *testing.T
	res   *nethttp.Response
	lines *bufio.Scanner
}

// event is one of it.
type event struct{ id, kind, data string }

var liveAddress = regexp.MustCompile(`data-url="([^"]*)"`)

// liveURL is where the page's script listens.
func (a answer) liveURL() string {
	a.t.Helper()
	m := liveAddress.FindStringSubmatch(a.body)
	if m == nil {
		a.t.Fatalf("%s has no event stream", a.Request.URL.Path)
	}
	return html.UnescapeString(m[1])
}

// listen opens a stream, which ends with the test.
func (v *visitor) listen(path string, headers ...string) *feed {
	v.w.t.Helper()
	ctx, cancel := context.WithCancel(v.w.t.Context())
	v.w.t.Cleanup(cancel)
	req, err := nethttp.NewRequestWithContext(ctx, "GET", v.w.url+path, nil)
	if err != nil {
		v.w.t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "gzip")
	if v.key != "" {
		req.Header.Set("Authorization", "Bearer "+v.key)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := v.client.Do(req)
	if err != nil {
		v.w.t.Fatal(err)
	}
	v.w.t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		v.w.t.Fatalf("the stream is %d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	return &feed{t: v.w.t, res: res, lines: bufio.NewScanner(res.Body)}
}

// next waits for an event.
func (f *feed) next() event {
	f.t.Helper()
	var e event
	var data []string
	for f.lines.Scan() {
		name, value, _ := strings.Cut(f.lines.Text(), ": ")
		switch {
		case name == "id":
			e.id = value
		case name == "event":
			e.kind = value
		case name == "data":
			data = append(data, value)
		case f.lines.Text() == "" && e.id != "":
			e.data = strings.Join(data, "\n")
			return e
		case name == "", f.lines.Text() == "":
		default:
			f.t.Fatalf("the stream has a line that is no part of one: %q", f.lines.Text())
		}
	}
	f.t.Fatalf("the stream ended: %v", f.lines.Err())
	return e
}

func TestAPageIsToldOfChanges(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		b := w.browserOf(ann)
		if err := w.SetProfile(t.Context(), ann, "zh-CN", ""); err != nil {
			t.Fatal(err)
		}
		g, images := w.asks(ann, "a fox\nin snow\r\n\r\nid: 7\rdata: no", 2)
		url := b.get("/").wants(200).liveURL()
		stream := b.listen(url, "Accept-Language: en")
		for name, want := range map[string]string{"X-Accel-Buffering": "no", "Cache-Control": "no-store", "Content-Encoding": ""} {
			if got := stream.res.Header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if err := w.CancelGeneration(t.Context(), ann, g.ID); err != nil {
			t.Fatal(err)
		}
		first := stream.next()
		for _, i := range images {
			if !strings.Contains(first.data, `id="tile-`+i.ID+`"`) {
				t.Errorf("the event does not have image %s: %s", i.ID, first.data)
			}
		}
		if !strings.Contains(first.data, "已取消") || strings.Contains(first.data, "Cancelled") {
			t.Errorf("it is not in the language of the session: %s", first.data)
		}
		if !strings.Contains(first.data, "a fox\nin snow\n\nid: 7\ndata: no") {
			t.Errorf("the prompt's lines are lost: %s", first.data)
		}

		// Whoever connects again goes on after the last event it had.
		w.imports(ann, "a wolf")
		w.imports(w.person("bob"), "somebody else's wolf")
		for _, again := range []*feed{b.listen("/live?since=" + first.id), b.listen(url, "Last-Event-ID: "+first.id)} {
			e := again.next()
			if !strings.Contains(e.data, "a wolf") || strings.Contains(e.data, "a fox") || strings.Contains(e.data, "somebody") {
				t.Errorf("it goes on with %s", e.data)
			}
		}
	})
}

func TestThePageOfAnImageIsToldOfThatImage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		b := w.browserOf(ann)
		one, other := w.imports(ann, "a fox"), w.imports(ann, "a wolf")
		stream := b.listen(b.get("/i/" + one.ID).wants(200).liveURL())
		for _, id := range []string{other.ID, one.ID} {
			if err := w.MarkImage(t.Context(), ann, id, records.Marks{Favorite: new(true)}); err != nil {
				t.Fatal(err)
			}
		}
		e := stream.next()
		if !strings.Contains(e.data, `id="image-`+one.ID+`"`) || !strings.Contains(e.data, "Remove from favorites") || strings.Contains(e.data, "a wolf") {
			t.Errorf("the event is %s", e.data)
		}
	})
}

func TestAStreamNeedsASession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		w.browser().get("/live").wants(401)
		w.browserOf(ann).get("/live?image=" + records.NewID()).wants(404)
		w.browserOf(ann).get("/live?since=nonsense").wants(400)
	})
}

func TestAStreamBeatsAndEndsWithItsSession(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		b := w.browserOf(w.person("ann"))
		time.AfterFunc(40*time.Second, func() { w.Exec(t, `DELETE FROM sessions`) })
		began := time.Now()
		a := b.get("/live").wants(200)
		if took := time.Since(began); took != 45*time.Second || strings.Count(a.body, ": beat\n\n") != 2 {
			t.Errorf("it ended after %s and said %q", took, a.body)
		}
	})
}

// A server's deadline for an answer would cut every stream off.
func TestAStreamHasADeadlineForEachWriteOnly(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		ann := w.person("ann")
		r := httptest.NewRequestWithContext(t.Context(), "GET", w.url+"/live", nil)
		r.Header.Set("Authorization", "Bearer "+w.key(ann, records.ScopeImagesRead))
		rec := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		time.AfterFunc(31*time.Second, w.server.Drain)
		w.server.ServeHTTP(rec, r)
		rec.write = rec.write[1:]                      // the one for any answer, which these lift
		if len(rec.write) != 3 || len(rec.read) != 3 { // hello and two beats
			t.Fatalf("deadlines were set %d and %d times, want 3", len(rec.write), len(rec.read))
		}
		for n, left := range rec.write {
			if left != 30*time.Second || !rec.read[n].IsZero() {
				t.Errorf("write %d may take %s, and reading ends at %s", n, left, rec.read[n])
			}
		}
	})
}

// deadlines is an answer that notes its deadlines.
type deadlines struct {
	*httptest.ResponseRecorder
	write []time.Duration // left when it was set
	read  []time.Time
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.write = append(d.write, time.Until(at))
	return nil
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.read = append(d.read, at)
	return nil
}
