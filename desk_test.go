package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"afterimage/records"
	"afterimage/records/recordstest"
)

// deskWorld is a site with everything that an operator can meet: failures that
// can be tried again and such that cannot, sources about to die, jobs that were
// given up, an alarm, and a day of figures.
type deskWorld struct {
	*running
	recordstest.Raw
	b *tab
}

func newDeskWorld(t *testing.T) *deskWorld {
	t.Helper()
	dir := t.TempDir()
	w := &deskWorld{running: start(t, testEnviron(dir, "OPENAI_API_KEY=not-a-key-at-all-0123456789", "OPENAI_BASE_URL=http://127.0.0.1:9/v1", "OPENAI_MODELS=gpt-image-1",
		"IMAGE_ARCHIVE_CONCURRENCY=4"))}
	w.Raw = recordstest.OpenRaw(t, records.Config{Path: filepath.Join(dir, "afterimage.db")})
	w.b = openTab(t, w.url)
	w.b.open("/sign-in")
	w.b.do("sign in", fill("username", "admin"), fill("password", adminPassword), click("form button.btn-main"))
	w.b.await("the gallery", `location.pathname == "/"`)
	w.b.open("/settings")
	return w
}

// happenings fills the site.
func (w *deskWorld) happenings() {
	t := w.b.t
	now := records.At(time.Now())
	w.b.await("images to import are taken", `fetch("/api/v1/images/import", {method: "POST", headers: {"Content-Type": "application/json"},
		body: JSON.stringify({items: Array.from({length: 12}, (_, n) => ({url: "http://127.0.0.1:9/" + n + ".png", prompt: "image " + n}))})}).then((r) => r.ok)`)
	w.b.await("all of them have failed, since nobody may fetch from here",
		`fetch("/api/v1/images?status=archive_failed&limit=50").then((r) => r.json()).then((a) => a.items.length == 12)`)
	set := func(offset, n int, set string, args ...any) {
		update := `UPDATE images SET ` + set + ` WHERE id IN (SELECT id FROM images WHERE prompt >= 'image' ORDER BY id LIMIT ` + fmt.Sprint(n) + ` OFFSET ` + fmt.Sprint(offset) + `)`
		eventually(t, 10*time.Second, fmt.Sprintf("%d images are there to be changed", n), func() bool { return w.Exec(t, update, args...) == int64(n) })
	}
	set(0, 5, `reason = 'source_error'`)
	set(5, 2, `reason = 'source_expired', source_url = ''`)
	set(8, 4, `status = 'retry_wait', reason = 'source_slow', attempt = 1, next_attempt_at = ?`, now.Add(10*time.Minute))
	for n, left := range []time.Duration{4*time.Minute + 2*time.Second, 11 * time.Minute, 40 * time.Minute, 50 * time.Minute} {
		set(8+n, 1, `source_expires_at = ?`, now.Add(left))
	}
	w.Exec(t, `INSERT INTO jobs (id, kind, ref, user_id, state, deadline, run_at, created_at, last_error)
		SELECT 'w' || id, 'archive', id, user_id, 'waiting', ?, ?, ?, 'source_slow: no byte for 20 s, 41 KB so far' FROM images WHERE status = 'retry_wait'`,
		records.Never, now.Add(10*time.Minute), now.Add(-3*time.Minute))
	w.Exec(t, `INSERT INTO jobs (id, kind, ref, state, deadline, run_at, created_at, attempt, last_error) VALUES
		('z1', 'webhook', 'x', 'discarded', ?, ?, ?, 5, 'the receiver answered 500: https://hooks.example')`, records.Never, now, now)
	w.Exec(t, `INSERT INTO alarms (name, detail, n, raised_at, seen_at) VALUES ('conservation',
		'2 images are archived whose object is missing: 0j3k8f7c2v4m1q9t5x6z7b8n2a, 0j3k8f7c2v4m1q9t5x6z7b8n2b', 2, ?, ?)`, now.Add(-47*time.Minute), now)
	for n := range 7 * 24 * 12 {
		wave := 1 + math.Sin(float64(n)/23) + .4*math.Sin(float64(n)/2.7)
		at := records.At(now.Add(time.Duration(-n-1) * records.SampleStep).Truncate(records.SampleStep))
		w.Exec(t, `INSERT INTO samples (at, generating, archiving, retrying, running, slots, oldest_ms, archived, bytes, p50_ms, p95_ms) VALUES (?, ?, ?, ?, ?, 4, ?, ?, ?, ?, ?)
			ON CONFLICT (at) DO NOTHING`, at, int(wave), int(3*wave), int(max(0, 2*wave-2)), int(min(4, 2*wave)), int(4000*wave*wave), int(40*max(0, wave)), int(80e6*max(0, wave)), int(420+100*wave), int(1500+700*wave))
	}
}

// device makes the window so wide, and as high as what is in it.
func (b *tab) device(width, height int) {
	b.t.Helper()
	b.do("resize the window", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: int64(width), Height: int64(height), DeviceScaleFactor: 1, Mobile: width < 720})
		return err
	}))
}

// fits fails the test if a page is wider than its window, or if something in it
// is cut off.
func (b *tab) fits(name string) {
	b.t.Helper()
	if over := eval[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		b.t.Errorf("%s: the page is %d pixels wider than its window", name, over)
	}
	cut := eval[[]string](b, `[...document.querySelectorAll("main :is(h1, h2, p, td, th, dd, dt, a, b, button, code, label)")]
		.filter((e) => e.checkVisibility() && !e.closest(".vh") && !e.querySelector(".vh") && getComputedStyle(e).overflow != "visible" && e.scrollWidth > e.clientWidth + 1)
		.map((e) => e.outerHTML.slice(0, 120))`)
	for _, e := range cut {
		b.t.Errorf("%s: cut off: %s", name, e)
	}
}

// dressed chooses language and theme in the settings' form.
func (b *tab) dressed(lang, theme string) {
	b.t.Helper()
	b.open("/settings")
	b.do("choose a language and a theme", click(fmt.Sprintf(`input[name=language][value=%q]`, lang)), click(fmt.Sprintf(`input[name=theme][value=%q]`, theme)),
		click(`form[action="/settings/profile"] button`))
	b.await("it is chosen", fmt.Sprintf(`document.documentElement.lang == %q && document.documentElement.dataset.theme == %q && document.querySelector(".notice") && document.readyState == "complete"`, lang, theme))
}

// deskPages are what this test looks at, by the names of their pictures.
var deskPages = [][2]string{
	{"ops-24h", "/ops?range=24h&live=0"}, {"jobs", "/ops/jobs"}, {"system", "/ops/system"}, {"settings", "/settings"},
	{"ops", "/ops"}, {"ops-7d", "/ops?range=7d&live=0"}, {"digest", "/digest"},
}

// TestDeskInEachForm looks at the pages of operators and of settings: in both
// languages and themes, wide and narrow.
func TestDeskInEachForm(t *testing.T) {
	w := newDeskWorld(t)
	w.happenings()
	b := w.b
	forms, pages := [][2]string{{"zh-CN", "dark"}}, deskPages[:4]
	if os.Getenv("TEST_LONG") != "" {
		pages = deskPages
		forms = [][2]string{{"en", "light"}, {"en", "dark"}, {"zh-CN", "light"}, {"zh-CN", "dark"}}
	}
	for _, form := range forms {
		b.device(1280, 900)
		b.dressed(form[0], form[1])
		for _, page := range pages {
			b.open(page[1])
			for _, width := range []int{1280, 390} {
				name := fmt.Sprintf("%s-%s-%s-%d", page[0], form[0], form[1], width)
				b.device(width, 900)
				b.fits(name)
				if os.Getenv("SCREENSHOTS") != "" {
					b.device(width, max(900, eval[int](b, `document.documentElement.scrollHeight`)))
					b.look(name)
				}
			}
		}
	}
	b.quiet()
}

// TestDeskIsLive watches the desk while things happen: its figures change
// without a reload and nothing in the page moves.
func TestDeskIsLive(t *testing.T) {
	w := newDeskWorld(t)
	b := w.b
	b.open("/ops")
	b.await("all is well", `document.querySelector(".verdict h1 .good") && document.querySelector("#live[data-is=on]")`)
	eval[bool](b, `(() => { window.moved = 0; window.mine = document.querySelector(".charts");
		new PerformanceObserver((list) => list.getEntries().forEach((e) => { moved += e.value;
			window.movers = e.sources.map((s) => (s.node?.outerHTML ?? s.node?.textContent ?? "").slice(0, 80)); })).observe({ type: "layout-shift", buffered: false }); return true; })()`)
	b.await("a generation is asked for", `fetch("/api/v1/generations", {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({prompt: "a fox", n: 2, provider: "demo"})}).then((r) => r.ok)`)
	b.await("the desk counts the images", `/2 images archived/.test(document.querySelector(".verdict p").textContent)`)
	if !eval[bool](b, `mine.isConnected`) {
		t.Error("the page was made anew")
	}
	// A figure that gets wider may push the end of its own line, and nothing else.
	if moved := eval[float64](b, `moved`); moved > 0.01 {
		t.Errorf("the page moved by %v: %q", moved, eval[[]string](b, `window.movers`))
	}
	w.happenings()
	b.open("/ops")
	b.await("the alarm stands first", `document.querySelectorAll(".wrongs li").length == 2`)
	b.do("retry what failed for one reason", click(`.why li form button`))
	b.await("it is said", `location.pathname == "/ops" && document.querySelector(".notice")`)
	b.open("/ops/system")
	b.do("test the storage", click(`form[action="/ops/test/store"] button`))
	b.await("it works", `document.querySelector("#store .result:not(.is-bad)")`)
	b.quiet()
}
