package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestLooks opens every page of people in both themes and languages, on a desk
// and on a phone: nothing in the console, nothing against the content security
// policy, nothing that axe finds, nothing that scrolls sideways, nothing that
// moves. With SCREENSHOTS it keeps a picture of each (make screenshots).
func TestLooks(t *testing.T) {
	if os.Getenv("TEST_LONG") == "" && os.Getenv("SCREENSHOTS") == "" {
		t.Skip("TEST_LONG runs it")
	}
	only := os.Getenv("LOOK_AT") // of the pictures' names, while one is being mended
	axe, err := os.ReadFile(service(t, "TEST_AXE"))
	if err != nil {
		t.Fatal(err)
	}
	v := newVendor(t)
	a := newAlbum(t, "OPENAI_BASE_URL="+v.URL, "OPENAI_API_KEY=sk-test", "OPENAI_MODELS=gpt-image-1,sdxl")
	ids := a.everyState()
	b := a.signIn()
	pages := lookPages(ids)
	for _, lang := range []string{"en", "zh-CN"} {
		for _, theme := range []string{"light", "dark"} {
			b.open("/settings")
			eval[bool](b, fmt.Sprintf(`(() => {
				const form = document.querySelector('form[action="/settings/profile"]');
				form.querySelector('[name=language][value="%s"]').checked = true;
				form.querySelector('[name=theme][value="%s"]').checked = true;
				form.requestSubmit();
				return true;
			})()`, lang, theme))
			b.await("it is saved", fmt.Sprintf(`document.documentElement.lang == %q && document.documentElement.dataset.theme == %q`, lang, theme))
			for _, width := range []int{1280, 390, 320} {
				b.size(width)
				for _, p := range pages {
					name := fmt.Sprintf("%s-%s-%s-%d", p.name, theme, lang, width)
					if width == 320 && p.once || !strings.Contains(name, only) {
						continue
					}
					b.inspect(p, name, string(axe), width)
				}
			}
		}
	}
	b.quiet()
}

// lookPage is a page, and what to do on it before it is looked at.
type lookPage struct {
	name, path, act, until string
	once                   bool // not at the narrowest
}

func lookPages(ids map[string]string) []lookPage {
	pages := []lookPage{
		{name: "gallery", path: "/"},
		{name: "gallery-squares", path: "/wall/squares?to=/"},
		{name: "gallery-select", path: "/wall/rows?to=/?select=1", act: `document.querySelectorAll(".tile .box")[1].click()`},
		{name: "gallery-filters", path: "/?favorite=1"},
		{name: "gallery-failed", path: "/?status=failed"},
		{name: "gallery-none", path: "/?q=nothing+like+this", once: true},
		{name: "lightbox", path: "/", act: `document.querySelector(".tile[data-state=archived] a").click()`, until: `document.querySelector("dialog[open] .hero img")?.naturalWidth`},
		{name: "keys", path: "/", act: `document.dispatchEvent(new KeyboardEvent("keydown", { key: "?" }))`, until: `document.querySelector(".keys-help")`, once: true},
		{name: "create", path: "/create"},
		{name: "create-options", path: "/create", act: `(() => { const m = document.querySelector("#model"); m.value = "openai/sdxl"; m.dispatchEvent(new Event("change")); document.querySelector(".further").open = true; })()`},
		{name: "create-edit", path: "/create?edit=1&from=" + ids["archived"]},
		{name: "import", path: "/import"},
		{name: "trash", path: "/trash"},
		{name: "trash-empty", path: "/trash", act: `document.querySelector(".sure").open = true`, once: true},
	}
	for _, state := range []string{"archived", "queued", "generating", "generated", "archiving", "retry_wait", "archive_failed", "generate_failed", "unknown", "canceled", "trashed", "tall", "wide", "long"} {
		pages = append(pages, lookPage{name: "image-" + state, path: "/i/" + ids[state], once: !slices.Contains([]string{"archived", "archive_failed", "long"}, state)})
	}
	return pages
}

// size makes the window so wide; narrow ones are phones.
func (b *tab) size(width int) {
	b.t.Helper()
	b.do("resize", chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: int64(width), Height: int64(map[bool]int{true: 844, false: 900}[width < 720]), DeviceScaleFactor: 1, Mobile: width < 720})
		return err
	}))
}

// inspect holds a page against everything that a machine can judge.
func (b *tab) inspect(p lookPage, name, axe string, width int) {
	b.t.Helper()
	b.open(p.path)
	b.await("the page is there", `document.readyState == "complete" && document.querySelector("main, dialog")`)
	eval[bool](b, `(() => {
		window.moved = 0;
		window.movers = [];
		new PerformanceObserver((list) => list.getEntries().forEach((e) => {
			if (e.hadRecentInput) return;
			moved += e.value;
			movers.push(...e.sources.map((s) => (s.node?.outerHTML ?? s.node?.data ?? "").slice(0, 80) + " " + JSON.stringify(s.previousRect) + JSON.stringify(s.currentRect)));
		})).observe({ type: "layout-shift", buffered: true });
		return true;
	})()`)
	if p.act != "" {
		eval[bool](b, "("+p.act+", true)")
	}
	if p.until != "" {
		b.await(name, p.until)
	}
	b.await("its pictures are there", `[...document.images].filter((i) => i.loading != "lazy" && i.src && !i.classList.contains("is-gone")).every((i) => i.complete)`)
	b.look(name)
	if wide := eval[int](b, `document.documentElement.scrollWidth`); wide > width {
		b.t.Errorf("%s: the page is %d wide: %s", name, wide, eval[string](b, fmt.Sprintf(
			`[...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > %d + 1).slice(0, 3).map((e) => e.outerHTML.slice(0, 120)).join("\n")`, width)))
	}
	if moved := eval[float64](b, `moved`); moved != 0 && p.act == "" {
		b.t.Errorf("%s: it moved by %v: %s", name, moved, eval[string](b, `movers.slice(0, 4).join("\n")`))
	}
	found := b.violations(axe)
	for _, f := range found {
		b.t.Errorf("%s: axe: %s", name, f)
	}
}

// violations is what axe finds on the page as it is.
func (b *tab) violations(axe string) []string {
	b.t.Helper()
	eval[bool](b, `(window.axe ? 0 : (0, eval)(`+quoteJS(axe)+`), window.found = null, axe.run({ resultTypes: ["violations"] }).then((r) => {
		window.found = r.violations.map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + n.any.map((a) => a.message).join("; ")).join(" | "));
	}), true)`)
	b.await("axe is done", `window.found`)
	return eval[[]string](b, `window.found`)
}

func quoteJS(s string) string {
	text, _ := json.Marshal(s)
	return strings.ReplaceAll(string(text), "</", `<\/`)
}
