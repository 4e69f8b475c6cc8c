package http_test

import (
	"net/url"
	"strings"
	"sync"
	"testing"

	"afterimage/records"
)

func TestARepeatedPostIsOneRequest(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		p := w.program(w.key(ann, records.ScopeImagesWrite))
		for _, c := range []struct{ path, body, other string }{
			{"/api/v1/generations", `{"prompt":"a fox","n":2}`, `{"prompt":"a wolf"}`},
			{"/api/v1/images/import", `{"items":[{"url":"https://a.example/a.png"}]}`, `{"items":[{"url":"https://a.example/b.png"}]}`},
		} {
			w.run(c.path, func(t *testing.T) {
				key := "Idempotency-Key: k" + strings.ReplaceAll(c.path, "/", "-")
				answers := make([]answer, 4)
				var all sync.WaitGroup
				for n := range answers {
					all.Go(func() { answers[n] = p.call("POST", c.path, c.body, key) })
				}
				all.Wait()
				var first struct{ ID string }
				answers[0].wants(202).into(&first)
				for _, a := range answers[1:] {
					var again struct{ ID string }
					if a.wants(202).into(&again); again != first {
						t.Errorf("a repeat made %v, the first %v", again, first)
					}
				}
				if code := p.call("POST", c.path, c.other, key).wants(409).problem(); code != "idempotency_key_reused" {
					t.Errorf("the code is %s", code)
				}
				p.call("POST", c.path, c.body, "Idempotency-Key: "+strings.Repeat("k", 256)).wants(400)
				bob := w.program(w.key(w.person("bob"+c.path[8:9]), records.ScopeImagesWrite))
				var his struct{ ID string }
				if bob.call("POST", c.path, c.body, key).wants(202).into(&his); his == first {
					t.Error("somebody else's key gave the first one's request")
				}
			})
		}
	})
}

func TestAFormSentTwiceIsOneRequest(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		b := w.browserOf(ann)
		form := b.get("/create").fill("/create", "prompt", "a fox")
		for range 3 {
			b.sendForm("/create", form).leadsTo("/create")
		}
		count := func(want int) {
			t.Helper()
			images, err := w.Images(t.Context(), ann, records.ImageFilter{Limit: 10})
			if err != nil || len(images) != want {
				t.Errorf("%d images were asked for, want %d (%v)", len(images), want, err)
			}
		}
		count(1)
		form.Set("prompt", "a wolf") // back to the form, and changed
		b.sendForm("/create", form).leadsTo("/create")
		count(2)
		b.sendForm("/create", b.get("/create").fill("/create", "prompt", "a fox")).leadsTo("/create") // a new form
		count(3)
		b.sendForm("/create", url.Values{"prompt": {"a hen"}, "model": {"demo/demo"}}).leadsTo("/create") // no key at all
		count(4)
	})
}
