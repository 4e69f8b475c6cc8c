package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// tab is a page of a real browser.
type tab struct {
	t        *testing.T
	ctx      context.Context
	base     string
	console  *messages
	finished chan struct{}
}

// messages are what pages wrote to the console: errors, exceptions and
// violations of the content security policy.
type messages struct {
	mu   sync.Mutex
	list []string
}

// openTab starts a browser of its own, with an empty profile.
func openTab(t *testing.T, base string) *tab {
	t.Helper()
	path := service(t, "TEST_CHROMIUM")
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1280, 900)}
	for _, flag := range []string{"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync", "disable-dev-shm-usage"} {
		options = append(options, chromedp.Flag(flag, true))
	}
	options = append(options, chromedp.Flag("lang", "en"))
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stop := chromedp.NewContext(allocator)
	b := &tab{t: t, ctx: ctx, base: base, console: &messages{}, finished: make(chan struct{})}
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil { // the first call starts the browser
		t.Fatal(err)
	}
	written := chromedp.Console(ctx)
	go func() {
		defer close(b.finished)
		for m, err := range written {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleException || m.Type == chromedp.ConsoleWarning {
				b.console.mu.Lock()
				b.console.list = append(b.console.list, fmt.Sprintf("%s: %s (%s)", m.Type, m.Text, m.URL))
				b.console.mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		stopAllocator()
		<-b.finished
	})
	return b
}

// patience bounds what a test waits for in a page: far longer than it takes.
const patience = time.Minute

func (b *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		page, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
		b.t.Fatalf("%s: %v\n%s\n%s", what, err, page, strings.Join(b.messages(), "\n"))
	}
}

func (b *tab) open(path string) {
	b.t.Helper()
	b.do("open "+path, chromedp.Navigate(b.base+path))
}

// eval is the value of an expression in the page.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("evaluate %s: %v", expression, err)
	}
	return v
}

// await waits until an expression is true, also across page loads.
func (b *tab) await(what, expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond) // to leave the page some room
	defer again.Stop()
	for {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`!!(`+expression+`)`))
		if err == nil && ok {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			page := eval[string](b, `location.href + "\n" + document.body.innerText`)
			b.t.Fatalf("%s: %s is not true (%v):\n%s", what, expression, err, page)
		}
	}
}

func (b *tab) messages() []string {
	b.console.mu.Lock()
	defer b.console.mu.Unlock()
	return b.console.list
}

// expect waits for the one message so far, which must have a mark, and takes
// it off the list.
func (b *tab) expect(mark string) {
	b.t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(patience); len(b.messages()) == 0 && time.Now().Before(deadline); {
		<-again.C
	}
	b.console.mu.Lock()
	defer b.console.mu.Unlock()
	if len(b.console.list) != 1 || !strings.Contains(b.console.list[0], mark) {
		b.t.Errorf("the console has %q, want one message with %q", b.console.list, mark)
	}
	b.console.list = nil
}

// quiet fails the test if a page wrote an error to the console or broke the
// content security policy.
func (b *tab) quiet() {
	b.t.Helper()
	for _, m := range b.messages() {
		b.t.Errorf("the console has %s", m)
	}
}

// look keeps a picture of the page where SCREENSHOTS names a folder.
func (b *tab) look(name string) {
	b.t.Helper()
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// withoutScripts makes the pages after it run no JavaScript.
func (b *tab) withoutScripts() {
	b.t.Helper()
	b.do("switch scripts off", chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
}

// fill types into a field of the page's form.
func fill(name, text string) chromedp.Action[chromedp.Void] {
	return chromedp.SendKeys(chromedp.CSS(fmt.Sprintf(`[name=%q]`, name)), text)
}

func click(css string) chromedp.Action[chromedp.Void] { return chromedp.Click(chromedp.CSS(css)) }

// TestFirstImage is the first visit of a person: the link from the terminal,
// the administrator, a prompt, and an image that is made and kept before their
// eyes.
func TestFirstImage(t *testing.T) {
	env := []string{"AFTERIMAGE_LISTEN=127.0.0.1:0", "AFTERIMAGE_DATA_DIR=" + t.TempDir()}
	r := start(t, env)
	link := r.out.await(t, "/setup?token=", nil)
	token, _, _ := strings.Cut(link, " ")
	b := openTab(t, r.url)

	b.open("/create")
	b.await("everything leads to the setup until there is an administrator", `location.pathname == "/setup"`)
	b.expect("403") // without the token that is as far as it goes
	began := time.Now()
	b.open("/setup?token=" + token)
	b.look("setup")
	b.do("make the administrator", fill("username", "ada"), fill("password", adminPassword), click("form.tasks button.btn-main"))
	b.await("the first page after the setup", `location.pathname == "/create"`)
	b.do("ask for an image", fill("prompt", "A lighthouse in fog, long exposure"), click("form.compose button.go"))
	b.await("a tile appears", `document.querySelector(".tile")`)
	b.await("the image is kept, without a reload", `document.querySelector(".tile[data-state=archived] img")?.naturalWidth > 0`)
	t.Logf("from the first page to the first kept image: %s", time.Since(began).Round(10*time.Millisecond))
	b.look("create")

	b.do("open it", click(".tile a.tile-link"))
	b.await("the page of the image", `location.pathname.startsWith("/i/") && document.querySelector("article[data-state=archived] img")?.naturalWidth == 1024`)
	b.look("image")
	download := eval[string](b, `document.querySelector("a[download]").href`)
	if content := r.bytes(download); len(content) < 1000 {
		t.Errorf("the download has %d bytes", len(content))
	}
	b.open("/")
	b.await("the gallery shows it", `document.querySelector(".tile[data-state=archived] img")?.naturalWidth > 0`)
	b.look("gallery")
	b.wantsBlur()
	b.quiet()
}

// wantsBlur holds a picture back and compares what the page draws in its place
// with the picture.
func (b *tab) wantsBlur() {
	b.t.Helper()
	b.await("the thumbnail is made", `document.querySelector(".art[data-hash] img")?.naturalWidth > 0 || (location.reload(), false)`)
	eval[bool](b, `(() => {
		window.moved = 0;
		new PerformanceObserver((list) => list.getEntries().forEach((e) => { moved += e.value; })).observe({ type: "layout-shift", buffered: true });
		window.mean = (source) => {
			const c = document.createElement("canvas");
			c.width = c.height = 8;
			const context = c.getContext("2d");
			context.drawImage(source, 0, 0, 8, 8);
			const sum = [0, 0, 0, 0];
			context.getImageData(0, 0, 8, 8).data.forEach((v, n) => { sum[n % 4] += v / 64; });
			return sum;
		};
		const image = document.querySelector(".art[data-hash] img");
		window.truth = mean(image);
		// News of the image may put the picture back at any moment.
		window.blurred = () => {
			const art = document.querySelector(".art[data-hash]");
			const img = art.querySelector("img");
			if (img.hasAttribute("src")) {
				img.removeAttribute("srcset");
				img.removeAttribute("src");
				document.dispatchEvent(new CustomEvent("changed"));
			}
			return art.style.background.includes("data:image/png");
		};
		return true;
	})()`)
	b.await("its place has a blur", `blurred()`)
	b.await("which looks like the picture", `blurred() && (() => {
		const drawn = new Image();
		drawn.src = document.querySelector(".art[data-hash]").style.background.match(/url\("(.*?)"\)/)[1];
		return drawn.complete && mean(drawn).every((v, n) => Math.abs(v - truth[n]) < 16);
	})()`)
	if moved := eval[float64](b, `moved`); moved != 0 {
		b.t.Errorf("the page moved by %v", moved)
	}
}

// TestWithoutScripts does the same with nothing but links and forms.
func TestWithoutScripts(t *testing.T) {
	r := start(t, testEnviron(t.TempDir()))
	b := openTab(t, r.url)
	b.withoutScripts()
	b.open("/")
	b.do("sign in", fill("username", "admin"), fill("password", adminPassword), click("form button.btn-main"))
	b.await("the gallery, empty", `location.pathname == "/"`)
	b.open("/create")
	b.do("ask for an image", fill("prompt", "Neon koi"), click("form.compose button.go"))
	b.await("a tile appears", `document.querySelector(".tile")`)
	for id := eval[string](b, `document.querySelector(".tile").id.slice(5)`); ; {
		b.open("/i/" + id)
		if eval[bool](b, `!!document.querySelector("article[data-state=archived]")`) {
			break
		}
	}
	b.do("move it to the trash", click(`form[action$="/trash"] button`))
	b.await("it is moved", `document.querySelector("article[data-state=trashed]")`)
	b.open("/trash")
	b.await("it is in the trash", `document.querySelectorAll(".tile").length == 1`)
	b.do("restore it", click(`form[action$="/restore"] button`))
	b.await("the trash is empty", `document.querySelectorAll(".tile").length == 0`)
	b.open("/")
	b.await("it is back", `document.querySelectorAll(".tile").length == 1`)
	b.quiet()
}
