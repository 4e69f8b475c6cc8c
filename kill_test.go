//go:build unix

package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"afterimage/archive"
)

// When a killer strikes at a call.
const (
	before  = "before"  // nobody has taken it
	halfway = "halfway" // half of what is sent was taken
	after   = "after"   // it was done, and its answer is on its way
)

// point is a moment at which a process is killed: at a call to its source or
// its store, of which there is one on each side of each write to the database.
type point struct {
	name   string
	method string
	path   string // a part of it; "source" is the source
	nth    int    // such call, from 1
	when   string
	delete bool // the image is archived in peace, and deleted then
}

var killPoints = []point{
	{"before the source answers", "GET", "source", 1, before, false},
	{"in the middle of the source's answer", "GET", "source", 1, halfway, false},
	{"before the store has the image", "PUT", "/images/", 1, before, false},
	{"in the middle of the upload", "PUT", "/images/", 1, halfway, false},
	{"after the store has the image, before it says so", "PUT", "/images/", 1, after, false},
	{"before the thumbnails' image is read", "GET", "/images/", 1, before, false},
	{"in front of the first thumbnail", "PUT", "/thumbs/", 1, before, false},
	{"behind the first thumbnail", "PUT", "/thumbs/", 1, after, false},
	{"in front of the sidecar", "PUT", "/meta/", 1, before, false},
	{"behind the sidecar", "PUT", "/meta/", 1, after, false},
	{"before the sidecar is deleted", "DELETE", "/meta/", 1, before, true},
	{"after the sidecar is deleted", "DELETE", "/meta/", 1, after, true},
	{"before a thumbnail is deleted", "DELETE", "/thumbs/", 1, before, true},
	{"after a thumbnail is deleted", "DELETE", "/thumbs/", 1, after, true},
	{"before the image is deleted", "DELETE", "/images/", 1, before, true},
	{"after the image is deleted", "DELETE", "/images/", 1, after, true},
}

// shortPoints are those that are tried every time.
var shortPoints = []string{"after the store has the image, before it says so", "after the sidecar is deleted"}

// killer is a source and a way to a store, and kills at a point.
type killer struct {
	t       *testing.T
	proxy   *httputil.ReverseProxy
	picture []byte
	env     []string

	mu    sync.Mutex
	point *point // nil: nobody is killed
	count int
	kill  func()
	hit   chan struct{}
	hold  chan struct{} // an upload of an image waits for it; nil: none does
}

func newKiller(t *testing.T, store *gateway) *killer {
	t.Helper()
	i := slices.IndexFunc(store.env, func(e string) bool { return strings.HasPrefix(e, "S3_ENDPOINT=") })
	target, err := url.Parse(strings.TrimPrefix(store.env[i], "S3_ENDPOINT="))
	if err != nil {
		t.Fatal(err)
	}
	k := &killer{t: t, proxy: httputil.NewSingleHostReverseProxy(target), picture: noisePNG(t, 700), hit: make(chan struct{}, 1)}
	k.proxy.ErrorHandler = func(w nethttp.ResponseWriter, _ *nethttp.Request, _ error) { w.WriteHeader(nethttp.StatusBadGateway) }
	server, source := httptest.NewServer(k), httptest.NewServer(nethttp.HandlerFunc(k.serveSource))
	t.Cleanup(server.Close)
	t.Cleanup(source.Close)
	k.env = append(slices.Clone(store.env), "S3_ENDPOINT="+server.URL, "IMAGE_ARCHIVE_ALLOW="+source.Listener.Addr().String(),
		"SOURCE="+source.URL)
	return k
}

func (k *killer) source() string {
	return strings.TrimPrefix(k.env[len(k.env)-1], "SOURCE=") + "/source.png"
}

// due reports whether this call is the one.
func (k *killer) due(r *nethttp.Request) *point {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.point
	if p == nil || r.Method != p.method || !strings.Contains(r.URL.Path, p.path) {
		return nil
	}
	if k.count++; k.count != p.nth {
		return nil
	}
	return p
}

// strike kills the process and waits until it is dead.
func (k *killer) strike() {
	k.mu.Lock()
	k.point = nil
	k.mu.Unlock()
	k.kill()
	k.hit <- struct{}{}
}

func (k *killer) serveSource(w nethttp.ResponseWriter, r *nethttp.Request) {
	p := k.due(r)
	w.Header().Set("Content-Length", fmt.Sprint(len(k.picture)))
	switch {
	case p != nil && p.when == before:
		k.strike()
	case p != nil:
		w.Write(k.picture[:len(k.picture)/2])
		nethttp.NewResponseController(w).Flush()
		k.strike()
	default:
		w.Write(k.picture)
	}
}

func (k *killer) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	p := k.due(r)
	switch {
	case p != nil && p.when == before:
		k.strike()
		return
	case p != nil && p.when == halfway:
		io.CopyN(io.Discard, r.Body, r.ContentLength/2)
		k.strike()
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if hold := k.holds(); hold != nil && r.Method == nethttp.MethodPut && strings.Contains(r.URL.Path, "/images/") {
		k.hit <- struct{}{}
		<-hold
	}
	if p == nil {
		k.proxy.ServeHTTP(w, r)
		return
	}
	k.proxy.ServeHTTP(httptest.NewRecorder(), r.WithContext(k.t.Context())) // done, whoever asked for it
	k.strike()
}

func (k *killer) holds() chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.hold
}

// setHold makes uploads of images wait.
func (k *killer) setHold(hold chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hold = hold
}

// arm lets the killer wait for a point.
func (k *killer) arm(p point, kill func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.point, k.count, k.kill = &p, 0, kill
}

// quiet waits until there is no job about an image left.
func (k *killer) quiet(db *sql.DB) {
	k.t.Helper()
	eventually(k.t, time.Minute, "every job ends", func() bool {
		return value[int](k.t, db, `SELECT count(*) FROM jobs WHERE kind IN ('archive', 'thumbnail', 'delete')`) == 0
	})
}

// reconciled compares database, store and spool, however young things are.
func (r *running) reconciled(repair bool) archive.Reconciled {
	r.t.Helper()
	args := []string{"reconcile", "--older-than", "1ns", "--json"}
	if repair {
		args = append(args, "--repair")
	}
	var out, errs bytes.Buffer
	code := run(r.t.Context(), program{args: args, environ: r.env, in: strings.NewReader(""), out: &out, err: &errs})
	found := decoded[archive.Reconciled](r.t, out.Bytes(), fmt.Sprint(code, errs.String()))
	delete(found.Found, archive.CheckLeft) // the app may be looking at its store this very moment
	return found
}

// TestKilledAtEachStep kills a process with SIGKILL at one step after another
// of archiving and of deleting an image, and starts it again: the image is
// archived, or is gone, and nothing at all is left over.
func TestKilledAtEachStep(t *testing.T) {
	store := sharedStore(t)
	for n, p := range killPoints {
		if os.Getenv("TEST_LONG") == "" && !slices.Contains(shortPoints, p.name) {
			continue
		}
		t.Run(strings.ReplaceAll(p.name, " ", "-"), func(t *testing.T) {
			k := newKiller(t, store)
			dir := t.TempDir()
			env := append(testEnviron(dir, fmt.Sprintf("S3_PREFIX=point-%d", n)), k.env[:len(k.env)-1]...)
			first := startProcess(t, env)
			c := first.client()
			db := openSQLite(t, filepath.Join(dir, "afterimage.db"))
			if !p.delete {
				k.arm(p, first.kill)
			}
			id := c.imports(k.source())
			if p.delete {
				k.quiet(db)
				k.arm(p, first.kill)
				c.call("DELETE", "/api/v1/images/"+id, nil, 204, nil)
			}
			select {
			case <-k.hit:
			case <-time.After(time.Minute):
				t.Fatalf("this point was never reached:\n%s", first.out)
			}
			second := startProcess(t, env)
			k.quiet(db)
			if p.delete {
				(&client{second, c.key}).call("GET", "/api/v1/images/"+id, nil, 404, nil)
			} else if got := second.bytes(second.url + "/img/" + id); !bytes.Equal(got, k.picture) {
				t.Errorf("the image has %d bytes, want the source's %d", len(got), len(k.picture))
			}
			found := second.reconciled(false)
			if found.Total() != 0 || found.Busy != 0 || !p.delete && (found.Rows != 1 || found.Objects < 3) {
				t.Errorf("left over: %+v", found)
			}
		})
	}
}

// TestKilledBetweenUploadAndDeletion is the one case in which something is left
// over, as ARCHITECTURE.md says: the image was deleted for ever while the store
// was taking it, and the process ended before it could take the object away.
func TestKilledBetweenUploadAndDeletion(t *testing.T) {
	k := newKiller(t, sharedStore(t))
	dir := t.TempDir()
	env := append(testEnviron(dir), k.env[:len(k.env)-1]...)
	first := startProcess(t, env)
	c := first.client()
	db := openSQLite(t, filepath.Join(dir, "afterimage.db"))
	hold := make(chan struct{})
	k.setHold(hold)
	release := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release) // the store's end waits for whoever it holds
	id := c.imports(k.source())
	<-k.hit
	c.call("DELETE", "/api/v1/images/"+id, nil, 204, nil)
	k.quiet(db)
	k.arm(point{method: "DELETE", path: "/images/", nth: 1, when: before}, first.kill)
	release()
	<-k.hit // the worker that lost its claim was about to tidy up

	k.setHold(nil)
	second := startProcess(t, env)
	if found := second.reconciled(false); found.Found[archive.ObjectWithoutRow] != 1 || found.Total() != 1 {
		t.Fatalf("found %+v, want the object", found)
	}
	if found := second.reconciled(true); found.Repaired < 1 {
		t.Errorf("repaired %+v", found)
	}
	if found := second.reconciled(false); found.Total() != 0 {
		t.Errorf("after the repair there are %+v", found)
	}
}

// imports has one image archived and returns its id.
func (c *client) imports(address string) string {
	c.t.Helper()
	var made struct{ Items []image }
	c.call("POST", "/api/v1/images/import", map[string]any{"items": []any{map[string]any{"url": address}}}, 202, &made)
	return made.Items[0].ID
}
