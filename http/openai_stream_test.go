package http_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"afterimage/generate"
	"afterimage/http"
	"afterimage/records"
	"afterimage/storage"
)

// makesAll has every image stored, as a worker would.
func (w *world) makesAll() {
	w.t.Helper()
	content := drawing(8, 8)
	o := storage.Object{Key: "made", ContentType: "image/png", Size: int64(len(content)), SHA256: sha256.Sum256(content)}
	if _, err := w.store.Put(w.t.Context(), o, bytes.NewReader(content)); err != nil {
		w.t.Error(err)
	}
	w.Exec(w.t, `UPDATE images SET status = 'archived', object_key = 'made', mime = 'image/png', width = 8, height = 8, bytes = ?`, len(content))
}

// eventsOf are the events of a stream as a client sees them: comments belong to
// the event after them.
func eventsOf(t *testing.T, body string) (list []string) {
	t.Helper()
	for block := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		data := ""
		for line := range strings.SplitSeq(block, "\n") {
			if text, ok := strings.CutPrefix(line, "data: "); ok {
				data = text
			}
		}
		var e struct {
			Type    string
			B64JSON []byte `json:"b64_json"`
			Error   *struct{ Code string }
		}
		switch {
		case data == "[DONE]":
			list = append(list, data)
		case data == "":
			t.Errorf("there is an event of nothing: %q", block)
		case json.Unmarshal([]byte(data), &e) != nil:
			t.Errorf("an event is no JSON: %.200s", data)
		case e.Error != nil:
			list = append(list, "error "+e.Error.Code)
		case !bytes.HasPrefix(e.B64JSON, []byte("\x89PNG")):
			t.Errorf("%s has no picture", e.Type)
		default:
			list = append(list, e.Type)
		}
	}
	return list
}

const streamed = `{"prompt":"a fox","size":"64x64","stream":true,"partial_images":2}`

// Proxies end a connection on which nothing is said, and some clients choke on
// an empty line that ends no event.
func TestAStreamOfAnImageSaysThatItIsStillAtIt(t *testing.T) {
	var sights chan generate.Sight // made in the bubble
	inBubble(t, func(c *http.Config) {
		sights = make(chan generate.Sight, 1)
		c.Watch = func(string) (<-chan generate.Sight, func()) { return sights, func() {} }
	}, func(t *testing.T, w *world) {
		p := w.program(w.key(w.person("ann"), records.ScopeImagesWrite))
		time.AfterFunc(40*time.Second, func() { sights <- generate.Sight{Partial: drawing(2, 2), Index: 0} })
		time.AfterFunc(50*time.Second, w.makesAll)
		a := p.call("POST", "/v1/images/generations", streamed).wants(200)
		got := strings.Join(eventsOf(t, a.body), " ")
		if got != "image_generation.partial_image image_generation.completed [DONE]" || strings.Count(a.body, ": still at it\n") != 3 {
			t.Errorf("the stream is %s: %.300s", got, a.body)
		}
	})
}

func TestAStreamThatFails(t *testing.T) {
	for _, c := range []struct {
		name        string
		sees        bool // something before it fails
		status      int
		code, event string
	}{
		{"before anything is said is an answer with a status", false, 400, "moderation_blocked", ""},
		{"later ends with an error", true, 200, "", "error moderation_blocked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sights chan generate.Sight
			inBubble(t, func(config *http.Config) {
				sights = make(chan generate.Sight, 1)
				config.Watch = func(string) (<-chan generate.Sight, func()) { return sights, func() {} }
			}, func(t *testing.T, w *world) {
				p := w.program(w.key(w.person("ann"), records.ScopeImagesWrite))
				if c.sees {
					sights <- generate.Sight{Partial: drawing(2, 2)}
				}
				time.AfterFunc(5*time.Second, func() { w.Exec(t, `UPDATE images SET status = 'generate_failed', reason = 'refused'`) })
				a := p.call("POST", "/v1/images/generations", streamed).wants(c.status)
				if c.code != "" {
					if code, _ := a.failure(); code != c.code {
						t.Errorf("the code is %s", code)
					}
					return
				}
				if got := eventsOf(t, a.body); len(got) != 2 || got[1] != c.event {
					t.Errorf("the events are %q", got)
				}
			})
		})
	}
}

// An answer that waits must not be ended by the time that a request may take to
// arrive, and not be left open when the server stops.
func TestAnAnswerThatWaits(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		key := w.key(w.person("ann"), records.ScopeImagesWrite)
		ask := func() *deadlines {
			r := httptest.NewRequestWithContext(t.Context(), "POST", w.url+"/v1/images/generations", strings.NewReader(`{"prompt":"a fox"}`))
			r.Header.Set("Authorization", "Bearer "+key)
			rec := &deadlines{ResponseRecorder: httptest.NewRecorder()}
			w.server.ServeHTTP(rec, r)
			return rec
		}
		time.AfterFunc(10*time.Minute, w.makesAll)
		if rec := ask(); rec.Code != 200 || len(rec.read) != 1 || !rec.read[0].IsZero() {
			t.Errorf("after 10 minutes it is %d, and reading was to end at %v", rec.Code, rec.read)
		}
		time.AfterFunc(time.Minute, w.server.Drain)
		rec := ask()
		if rec.Code != nethttp.StatusServiceUnavailable || rec.Header().Get("X-Should-Retry") != "false" || rec.Header().Get("X-Afterimage-Generation") == "" {
			t.Errorf("when the server stops it is %d %v", rec.Code, rec.Header())
		}
	})
}

// What becomes of a request decides what its client may do by itself: nothing
// that could buy a second picture.
func TestWhyThereIsNoImage(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		ann := w.person("ann")
		p := w.program(w.key(ann, records.ScopeImagesWrite))
		for _, c := range []struct {
			image  records.Status
			reason string
			status int
			code   string
			retry  string
		}{
			{records.GenerateFailed, "refused", 400, "moderation_blocked", "false"},
			{records.GenerateFailed, "invalid_request", 400, "invalid_request", "false"},
			{records.GenerateFailed, "model_missing", 404, "model_not_found", "false"},
			{records.GenerateFailed, "quota", 429, "insufficient_quota", "false"},
			{records.GenerateFailed, "throttled", 429, "rate_limit_exceeded", "true"},
			{records.GenerateFailed, "auth", 502, "auth", "false"},
			{records.GenerateFailed, "provider_error", 502, "provider_error", "false"},
			{records.GenerateFailed, "timeout", 504, "timeout", "false"},
			{records.Unknown, "unknown_outcome", 502, "unknown_outcome", "false"},
			{records.Canceled, "", 409, "canceled", "false"},
			{records.ArchiveFailed, "source_missing", 502, "source_missing", "false"},
		} {
			time.AfterFunc(3*time.Second, func() {
				w.Exec(t, `UPDATE images SET status = ?, reason = ?`, string(c.image), c.reason)
			})
			a := p.call("POST", "/v1/images/generations", `{"prompt":"a fox"}`).wants(c.status)
			if code, _ := a.failure(); code != c.code || a.Header.Get("X-Should-Retry") != c.retry {
				t.Errorf("%s for %q is %s, retry %s", c.image, c.reason, code, a.Header.Get("X-Should-Retry"))
			}
		}
	})
}
