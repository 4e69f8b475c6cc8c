package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	nethttp "net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain lets a test start this very program as a process of its own, to
// kill it.
func TestMain(m *testing.M) {
	if os.Getenv("RUN_AFTERIMAGE") == "1" {
		main()
	}
	if dir := os.Getenv(poisonFolder); dir != "" {
		os.Exit(runPoison(dir))
	}
	os.Exit(m.Run())
}

// running is an afterimage that a test started.
type running struct {
	t    *testing.T
	url  string
	env  []string
	out  *output
	stop func() int // ends it in good order and returns the exit code
	kill func()     // SIGKILL; only of a process

	process *os.Process // nil if it runs inside the test
}

// output collects what a program prints while others read it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // holds one
}

func newOutput() *output { return &output{more: make(chan struct{}, 1)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	select {
	case o.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await returns the rest of the line after a mark, once it is printed.
func (o *output) await(t *testing.T, mark string, ended <-chan struct{}) string {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		scanner := bufio.NewScanner(strings.NewReader(o.String()))
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			if _, rest, ok := strings.Cut(scanner.Text(), mark); ok {
				return rest
			}
		}
		select {
		case <-o.more:
		case <-ended:
			t.Fatalf("the program ended before it printed %q:\n%s", mark, o)
		case <-timeout:
			t.Fatalf("the program did not print %q:\n%s", mark, o)
		}
	}
}

// admin is set up by the environment, without a browser.
const adminPassword = "correct horse battery"

// environment is that of a program with a data folder and a free port.
func testEnviron(dir string, extra ...string) []string {
	return append([]string{
		"AFTERIMAGE_LISTEN=127.0.0.1:0",
		"AFTERIMAGE_DATA_DIR=" + dir,
		"AFTERIMAGE_ADMIN_USERNAME=admin",
		"AFTERIMAGE_ADMIN_PASSWORD=" + adminPassword,
	}, extra...)
}

// start runs the same program that main runs, inside the test.
func start(t *testing.T, env []string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, env: env, out: newOutput()}
	code := make(chan int, 1)
	ended := make(chan struct{})
	go func() {
		code <- run(ctx, program{environ: env, in: strings.NewReader(""), out: r.out, err: r.out})
		close(ended)
	}()
	r.stop = sync.OnceValue(func() int { cancel(); return <-code })
	t.Cleanup(func() { r.stop() })
	r.awaitReady(ended)
	return r
}

// startProcess runs it as a process of its own.
func startProcess(t *testing.T, env []string) *running {
	t.Helper()
	return startBinary(t, os.Args[0], env)
}

// startBinary runs a binary of it, this test's or one that was built.
func startBinary(t *testing.T, path string, env []string) *running {
	t.Helper()
	r := &running{t: t, env: env, out: newOutput()}
	cmd := exec.Command(path)
	cmd.Dir = t.TempDir() // where there is no .env
	cmd.Env = append(append(os.Environ(), env...), "RUN_AFTERIMAGE=1")
	cmd.Stdout, cmd.Stderr = r.out, r.out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.process = cmd.Process
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	r.kill = func() { cmd.Process.Kill(); <-ended }
	r.stop = func() int { cmd.Process.Signal(os.Interrupt); <-ended; return cmd.ProcessState.ExitCode() }
	t.Cleanup(r.kill)
	r.awaitReady(ended)
	return r
}

func (r *running) awaitReady(ended <-chan struct{}) {
	r.t.Helper()
	rest := r.out.await(r.t, `msg="afterimage is ready" url=`, ended)
	r.url, _, _ = strings.Cut(rest, " ")
}

// command runs a sub-command with the same settings and returns what it
// printed.
func (r *running) command(args ...string) string {
	r.t.Helper()
	var out, errs bytes.Buffer
	code := run(r.t.Context(), program{args: args, environ: r.env, in: strings.NewReader(""), out: &out, err: &errs})
	if code != exitDone {
		r.t.Fatalf("afterimage %s: exit code %d: %s", strings.Join(args, " "), code, &errs)
	}
	return strings.TrimSpace(out.String())
}

// client calls the API with a key.
type client struct {
	*running
	key string
}

func (r *running) client() *client {
	r.t.Helper()
	return &client{r, r.command("key", "create", "--user", "admin", "--name", "ci", "--scopes", "images:write")}
}

// call makes a request and reads its JSON answer.
func (c *client) call(method, path string, body any, want int, answer any) nethttp.Header {
	c.t.Helper()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		content = bytes.NewReader(text)
	}
	req, err := nethttp.NewRequestWithContext(c.t.Context(), method, c.url+path, content)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	resp, err := nethttp.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if resp.StatusCode != want {
		c.t.Fatalf("%s %s: %s, want %d: %s", method, path, resp.Status, want, text)
	}
	if answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			c.t.Fatalf("%s %s: %v: %s", method, path, err, text)
		}
	}
	return resp.Header
}

// image is the part of an image's JSON that these tests look at.
type image struct {
	ID, Status, URL, Prompt, MIME, SHA256 string
	Bytes                                 int64
	Archive                               struct {
		Attempt int
		Secured bool
		Reason  string
	}
}

// follow polls the history, as a program does, until every image of the list
// is final.
func (c *client) follow(ids []string) map[string]image {
	c.t.Helper()
	want := map[string]bool{}
	for _, id := range ids {
		want[id] = true
	}
	found := map[string]image{}
	cursor := ""
	deadline := time.Now().Add(2 * time.Minute)
	for len(found) < len(want) {
		if time.Now().After(deadline) {
			c.t.Fatalf("%d of %d images are final:\n%s", len(found), len(want), c.out)
		}
		var page struct {
			Items  []image
			Cursor string
		}
		c.call("GET", fmt.Sprintf("/api/v1/history?wait=5s&limit=200&since=%s", cursor), nil, 200, &page)
		cursor = page.Cursor
		for _, i := range page.Items {
			if want[i.ID] && (i.Status == "archived" || strings.HasSuffix(i.Status, "failed")) {
				found[i.ID] = i
			}
		}
	}
	return found
}

// bytes gets what the permanent URL gives, as anybody who has the link.
func (r *running) bytes(url string) []byte {
	r.t.Helper()
	req, err := nethttp.NewRequestWithContext(r.t.Context(), "GET", url, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	resp, err := nethttp.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != nethttp.StatusOK {
		r.t.Fatalf("GET %s: %s %v: %.200s", url, resp.Status, err, content)
	}
	return content
}

// spooled lists the files that wait in the spool of a data folder.
func spooled(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "spool"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}
