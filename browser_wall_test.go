package main

import (
	"os"
	"testing"
	"time"
)

// press sends a key to whatever has the focus, as a keyboard does.
func (b *tab) press(key string) {
	b.t.Helper()
	eval[bool](b, `((document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent("keydown", { key: "`+key+`", bubbles: true, cancelable: true })), true)`)
}

// TestWall is somebody who looks through a gallery by mouse and keyboard:
// lightbox, Back, selecting, the trash and Undo, and older images that come by
// themselves.
func TestWall(t *testing.T) {
	a := newAlbum(t)
	a.many(150)
	b := a.signIn()
	b.await("a page of tiles", `document.querySelectorAll(".tile").length == 60`)

	first := eval[string](b, `document.querySelector(".tile").id.slice(5)`)
	b.do("open one", click(".tile a.tile-link"))
	b.await("the lightbox has its address", `document.querySelector("dialog[open] article.detail")?.id == "image-`+first+`" && location.pathname == "/i/`+first+`"`)
	b.press("ArrowRight")
	b.await("the next one", `document.querySelector("dialog[open] article.detail")?.id == "image-" + document.querySelectorAll(".tile")[1].id.slice(5)`)
	b.do("star it", click(`dialog form[action$="/favorite"] button`))
	b.await("it has its star, in the box and on the wall", `document.querySelector("dialog .is-on") && document.querySelectorAll(".tile")[1].querySelector(".m-i-star")`)
	eval[bool](b, `(history.back(), true)`)
	b.await("Back closes it, with the focus where one looked last", `!document.querySelector("dialog[open]") && location.pathname == "/" && document.activeElement.closest(".tile") == document.querySelectorAll(".tile")[1]`)

	b.press("x")
	b.await("it is selected", `document.querySelector("#bulk:not([hidden]) [data-n]")?.textContent == "1 selected"`)
	b.do("move it to the trash", click(`#bulk [value="trash"]`))
	b.await("it is off the wall", `document.querySelector("#toast [data-undo]") && document.querySelectorAll(".tile").length == 59`)
	b.press("u")
	b.await("Undo brings it back", `document.querySelectorAll(".tile").length == 60 && !document.querySelector("[data-undo]")`)

	eval[bool](b, `(scrollTo(0, 1e6), true)`)
	b.await("older images come by themselves", `document.querySelectorAll(".tile").length > 60`)
	if twice := eval[int](b, `(() => { const ids = [...document.querySelectorAll(".tile")].map((t) => t.id); return ids.length - new Set(ids).size; })()`); twice != 0 {
		t.Errorf("%d tiles are there twice", twice)
	}
	b.press("?")
	b.await("the list of keys", `document.querySelector("dialog.keys-help[open]")`)
	b.quiet()
}

// TestFiftyThousandImages scrolls through 2,000 of them: the first page is
// fast, the document stays small, and nothing moves.
func TestFiftyThousandImages(t *testing.T) {
	if os.Getenv("TEST_LONG") == "" {
		t.Skip("TEST_LONG runs it")
	}
	a := newAlbum(t)
	a.many(50_000)
	b := a.signIn()
	took := eval[float64](b, `(() => { const n = performance.getEntriesByType("navigation")[0]; return n.responseEnd - n.requestStart; })()`)
	eval[bool](b, `(() => {
		window.moved = 0;
		window.most = 0;
		window.seen = new Set();
		new PerformanceObserver((list) => list.getEntries().forEach((e) => { if (!e.hadRecentInput) moved += e.value; })).observe({ type: "layout-shift", buffered: true });
		return true;
	})()`)
	began := time.Now()
	b.await("2,000 were seen", `(() => {
		for (const tile of document.querySelectorAll(".tile")) seen.add(tile.id);
		most = Math.max(most, document.querySelectorAll("*").length);
		scrollBy(0, 1500);
		return seen.size >= 2000;
	})()`)
	most, moved := eval[int](b, `most`), eval[float64](b, `moved`)
	t.Logf("first page %.0f ms; 2,000 tiles in %s; at most %d elements; moved by %v", took, time.Since(began).Round(time.Millisecond), most, moved)
	if took > 200 {
		t.Errorf("the first page took %.0f ms, want 200", took)
	}
	if most > 12_000 {
		t.Errorf("the document had %d elements", most)
	}
	if moved > 0 {
		t.Errorf("the page moved by %v", moved)
	}
	b.quiet()
}
