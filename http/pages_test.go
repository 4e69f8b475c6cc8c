package http_test

import (
	"fmt"
	"strings"
	"testing"

	"afterimage/http"
	"afterimage/records"
	"afterimage/records/recordstest"
	"afterimage/web"
)

func TestEveryPageHasItsHeaders(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		b := w.browserOf(ann)
		image := w.imports(ann, "a fox")
		w.admin("root")
		check := func(a answer) {
			t.Helper()
			for name, want := range map[string]string{
				"Content-Type": "text/html; charset=utf-8", "Cache-Control": "private, no-cache", "Content-Security-Policy": web.CSP(),
				"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
			} {
				if got := a.Header.Get(name); got != want {
					t.Errorf("%s: %s is %q, want %q", a.Request.URL.Path, name, got, want)
				}
			}
			if a.Header.Get("X-Request-Id") == "" || !strings.Contains(strings.Join(a.Header.Values("Vary"), ", "), "Cookie, Accept-Language") {
				t.Errorf("%s: %v", a.Request.URL.Path, a.Header)
			}
			a.hasNot("<script>", "style=", "onclick=")
		}
		for _, path := range []string{"/", "/create", "/trash", "/settings", "/i/" + image.ID} {
			check(b.get(path).wants(200).has("<nav"))
		}
		check(w.browser().get("/sign-in").wants(200))
		check(b.get("/nothing").wants(404).has(`class="nav"`).hasNot("Error <code>")) // not our fault
		check(w.browser().get("/nothing").wants(404))
		check(b.submit("/create", "prompt", "").wants(422))
		check(b.send("DELETE", "/create", nil).wants(405))
	})
}

func TestAnswersAreCompressedButNotStreamsAndImages(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		i := w.archived("ann", "a fox")
		b := w.browserOf(i.owner)
		for path, want := range map[string]string{"/": "gzip", "/sign-in": "gzip", "/api/v1/images": "gzip", "/img/" + i.ID: ""} {
			a := b.get(path, "Accept-Encoding: gzip")
			if a.Header.Get("Content-Encoding") != want {
				t.Errorf("%s is encoded as %q, want %q", path, a.Header.Get("Content-Encoding"), want)
			}
		}
	})
}

func TestOtherSitesCannotMakeABrowserAct(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		b := w.browserOf(ann)
		image := w.imports(ann, "a fox")
		for _, header := range []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: https://evil.example", "Origin: null"} {
			for _, path := range []string{"/sign-out", "/create", "/i/" + image.ID + "/trash", "/settings/keys", "/sign-in", "/setup"} {
				a := b.send("POST", path, nil, header).wants(403).has("Not allowed")
				if a.Header.Get("Content-Security-Policy") == "" || a.Header.Get("X-Request-Id") == "" {
					t.Errorf("%s is refused without headers", path)
				}
			}
			if code := b.send("PATCH", "/api/v1/images/"+image.ID, strings.NewReader(`{"trashed":true}`), header).wants(403).problem(); code != "cross_origin" {
				t.Errorf("the code is %s", code)
			}
			b.get("/", header).wants(200) // a link from anywhere works
		}
		b.send("POST", "/i/"+image.ID+"/trash", nil, "Sec-Fetch-Site: same-origin", "Origin: "+w.url).wants(303)
	})
}

// A fault of ours says an id that the log has, and nothing of what happened.
func TestErrorPage(t *testing.T) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		w := newWorld(t, c, nil)
		b := w.browserOf(w.person("ann"))
		w.Exec(t, `ALTER TABLE images RENAME TO images_gone`)
		a := b.get("/").wants(500).has("Something went wrong").hasNot("images_gone", "SQL", "no such table", "relation")
		id := a.Header.Get("X-Request-Id")
		a.has("<code>" + id + "</code>")
		if log := w.log.String(); !strings.Contains(log, "request="+id) || !strings.Contains(log, "level=ERROR") || !strings.Contains(log, "images") {
			t.Errorf("the log does not say what happened: %s", log)
		}
		if code := b.get("/api/v1/images").wants(500).hasNot("SQL", "no such table", "relation").problem(); code != "internal" {
			t.Errorf("the code is %s", code)
		}
	})
}

func TestAHandlerThatPanicsIsAnErrorPage(t *testing.T) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		w := newWorld(t, c, func(c *http.Config) {
			c.Paused = func() (string, records.Time, bool) { panic("a bug") }
		})
		if code := w.browser().get("/readyz").wants(500).has("Something went wrong"); code.Header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("it is %s", code.Header.Get("Content-Type"))
		}
		key := w.key(w.admin("ann"), records.ScopeOpsRead)
		if code := w.program(key).get("/api/v1/archive").wants(500).hasNot("a bug").problem(); code != "internal" {
			t.Errorf("the code is %s", code)
		}
		if !strings.Contains(w.log.String(), "a bug") {
			t.Error("the log does not have it")
		}
	})
}

func TestGalleryFilters(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		b := w.browserOf(ann)
		b.get("/").wants(200).has("No images yet.")
		ids := map[records.Status]string{}
		for _, status := range records.Statuses {
			ids[status] = w.imports(ann, "a fox that is "+string(status)).ID
			w.state(ids[status], status, "")
		}
		for _, c := range []struct {
			query string
			want  []records.Status
		}{
			{"", records.Statuses},
			{"?status=progress", records.Statuses[:5]},
			{"?status=archived", []records.Status{records.Archived}},
			{"?status=failed", []records.Status{records.ArchiveFailed, records.GenerateFailed, records.Unknown}},
			{"?q=FAILED", []records.Status{records.ArchiveFailed, records.GenerateFailed}},
			{"?q=fox+that&status=archived", []records.Status{records.Archived}},
			{"?q=%25", nil},
		} {
			w.run("/"+c.query, func(t *testing.T) {
				a := b.get("/" + c.query).wants(200)
				if got := strings.Count(a.body, `class="tile `); got != len(c.want) {
					t.Errorf("it has %d images, want %d", got, len(c.want))
				}
				for _, status := range c.want {
					a.has("tile-" + ids[status])
				}
			})
		}
		b.get("/").has(`All <b>10</b>`, `In progress <b>5</b>`, `Archived <b>1</b>`, `Failed <b>3</b>`)
		b.get("/?q=failed").has(`All <b>2</b>`, `Failed <b>2</b>`)
		b.get("/?q=%3Cb%3E").wants(200).has("Nothing matches", "&lt;b&gt;").hasNot("<b>”")
	})
}

func TestGalleryPages(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		b := w.browserOf(ann)
		for range 5 {
			w.asks(ann, "a fox", 25)
		}
		seen := 0
		for path, pages := "/?q=fox&status=progress", 0; ; pages++ {
			a := b.get(path).wants(200)
			seen += strings.Count(a.body, `class="tile `)
			_, rest, more := strings.Cut(a.body, `rel="next" href="`)
			if !more {
				if pages != 2 {
					t.Errorf("there are %d more pages, want 2", pages)
				}
				break
			}
			path, _, _ = strings.Cut(rest, `"`)
			path = strings.ReplaceAll(path, "&amp;", "&")
			if !strings.Contains(path, "q=fox") || !strings.Contains(path, "status=progress") {
				t.Errorf("the next page is %s", path)
			}
		}
		if seen != 125 {
			t.Errorf("%d images came, want 125", seen)
		}
	})
}

func TestPageOfAFailedImage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		b := w.browserOf(ann)
		newer := func() string { return w.imports(ann, "another").ID }
		older := w.imports(ann, "before").ID
		i := w.imports(ann, "a <fox>")
		next := newer()
		w.state(i.ID, records.ArchiveFailed, "source_too_large")
		a := b.get("/i/"+i.ID).wants(200).has("Archive failed", "larger than the 64 MB limit", "a &lt;fox&gt;", "/i/"+next, "/i/"+older)
		b.sendForm("/i/"+i.ID+"/retry", a.fill("/i/"+i.ID+"/retry")).leadsTo("/i/" + i.ID)
		b.get("/i/"+i.ID).has("Trying again.", "Waiting to archive")
		b.submit("/i/" + i.ID + "/retry").leadsTo("/i/" + i.ID)
		b.get("/i/" + i.ID).has("can&#39;t be retried")
		if form := b.get("/create?from=" + i.ID).wants(200).fill("/create"); form.Get("prompt") != "a <fox>" || form.Get("model") != "demo/demo" {
			t.Errorf("remix fills in %v", form)
		}
	})
}

func TestQueuedImageSaysHowManyAreAhead(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		w.asks(w.person("bob"), "a wolf", 3)
		w.asks(ann, "a fox", 1)
		_, images := w.asks(ann, "a hen", 1)
		w.browserOf(ann).get("/i/"+images[0].ID).wants(200).has("(2 ahead)", "seed 7")
	})
}

func TestCreateOffersWhatThereIs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		b := w.browserOf(ann)
		a := b.get("/create?prompt=a+%22fox%22").wants(200)
		form := a.fill("/create")
		if form.Get("prompt") != `a "fox"` || form.Get("model") != "demo/demo" || form.Get("n") != "1" || len(form.Get("idempotency_key")) < 20 {
			t.Errorf("the form is %v", form)
		}
		if again := b.get("/create").fill("/create"); again.Get("idempotency_key") == form.Get("idempotency_key") {
			t.Error("two forms have one key")
		}
		for n := range 8 {
			w.asks(ann, fmt.Sprint("prompt ", n%7), 1)
		}
		b.get("/create").has("/create?prompt=prompt%200", "/create?prompt=prompt%206").hasNot("/create?prompt=prompt%201\"")
	})
}
