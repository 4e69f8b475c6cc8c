//go:build unix

package main

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	goimage "image"
	"image/png"
	"io"
	"math/rand/v2"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"afterimage/records"
)

// chaos is three instances on one database and one store while everything is
// killed that can be.
type chaos struct {
	t        *testing.T
	images   int
	kills    int
	outage   time.Duration // of the store
	keepers  []*keeper
	source   *gallery
	db       *sql.DB
	records  *records.DB
	user     string
	imported int
}

// TestChaos kills instances with SIGKILL at random instants and starts them
// again on their data folders, restarts PostgreSQL twice, once without letting
// it write anything, and stops the store for a while. In the end every image
// is archived, exactly once.
func TestChaos(t *testing.T) {
	t.Parallel()
	c := &chaos{t: t, images: 240, kills: 20, outage: 3 * time.Second}
	if os.Getenv("TEST_LONG") != "" {
		c.images, c.kills, c.outage = 5000, 200, 20*time.Second
	}
	postgres, address := ownPostgres(t)
	store := ownStore(t)
	c.source = newGallery(t, 600*time.Millisecond)
	c.open(address)
	for n := range 3 {
		env := testEnviron(t.TempDir(), "DATABASE_URL="+address, "IMAGE_ARCHIVE_CONCURRENCY=4", "IMAGE_ARCHIVE_SWEEP_INTERVAL=2s", c.source.allowed(), "RUN_AFTERIMAGE=1")
		c.keepers = append(c.keepers, keep(t, n, append(env, store.env...)))
	}
	began := time.Now()
	for n := range c.kills {
		c.importSome(n)
		<-time.After(time.Duration(200+rand.IntN(1200)) * time.Millisecond)
		c.keepers[rand.IntN(len(c.keepers))].kill()
		switch n {
		case c.kills * 1 / 4:
			postgres.stop(os.Interrupt) // breaks off what runs
			postgres.start()
		case c.kills * 2 / 4:
			store.stop(os.Kill)
			back := time.AfterFunc(c.outage, store.start)
			t.Cleanup(func() { back.Stop() })
		case c.kills * 3 / 4:
			postgres.stop(syscall.SIGQUIT) // as if it had been killed
			postgres.start()
		}
	}
	c.importSome(c.kills)
	killed := time.Since(began)
	c.awaitEmptyQueue()
	t.Logf("%d kills in %v, %d images done %v later", c.kills, killed.Round(time.Second), c.imported, (time.Since(began) - killed).Round(100*time.Millisecond))
	c.checkRows()
	c.checkObjects(store)
	c.checkInstances()
}

// open prepares the database: the tables, a person, and watchers that no
// instance knows of.
func (c *chaos) open(address string) {
	var err error
	if c.records, err = records.Open(c.t.Context(), records.Config{URL: address}); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { c.records.Close() })
	if err := c.records.Migrate(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	u, err := c.records.CreateUser(c.t.Context(), "ada", adminPassword, records.Admin)
	if err != nil {
		c.t.Fatal(err)
	}
	c.user, c.db = u.ID, openSQL(c.t, address)
	mustExec(c.t, c.db, `CREATE TABLE seen (what TEXT, ref TEXT);
		CREATE FUNCTION watch_jobs() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF NEW.claim < OLD.claim OR NEW.state = 'running' AND NEW.owner <> OLD.owner AND NEW.claim <> OLD.claim + 1 THEN
				INSERT INTO seen VALUES ('a claim number that did not rise', NEW.id);
			END IF;
			RETURN NULL; END $$;
		CREATE TRIGGER watch_jobs AFTER UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION watch_jobs();
		CREATE FUNCTION watch_images() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO seen VALUES (NEW.status, NEW.id);
			RETURN NULL; END $$;
		CREATE TRIGGER watch_images AFTER UPDATE ON images FOR EACH ROW
			WHEN (OLD.status <> NEW.status AND 'archived' IN (OLD.status, NEW.status)) EXECUTE FUNCTION watch_images()`)
}

// importSome imports this round's share of the images. While the database is
// away it may be that they are there and nobody was told: then they come
// twice, which is no less to do.
func (c *chaos) importSome(round int) {
	for upTo := c.images * (round + 1) / (c.kills + 1); c.imported < upTo; {
		items := make([]records.ImportItem, upTo-c.imported)
		for i := range items {
			items[i] = records.ImportItem{URL: c.source.url(c.imported + i), Prompt: strconv.Itoa(c.imported + i)}
		}
		_, _, err := c.records.CreateImport(c.t.Context(), c.user, items, records.Idempotency{})
		if err == nil {
			c.imported = upTo
		}
	}
}

// awaitEmptyQueue waits as long as it gets shorter: thumbnails take their time.
func (c *chaos) awaitEmptyQueue() {
	c.t.Helper()
	const query = `SELECT count(*) FROM jobs WHERE state <> 'discarded' AND kind IN ('generate', 'archive', 'thumbnail', 'delete')`
	for left := value[int](c.t, c.db, query); left > 0; {
		eventually(c.t, time.Minute, fmt.Sprintf("fewer than %d jobs left", left), func() bool {
			n := value[int](c.t, c.db, query)
			shorter := n < left
			left = min(left, n)
			return shorter
		})
	}
}

func (c *chaos) checkRows() {
	t := c.t
	if n := value[int](t, c.db, `SELECT count(*) FROM jobs WHERE state = 'discarded'`); n != 0 {
		t.Errorf("%d jobs were discarded: %s", n, value[string](t, c.db, `SELECT string_agg(kind || ' ' || last_error, ', ') FROM jobs WHERE state = 'discarded'`))
	}
	if n := value[int](t, c.db, `SELECT count(DISTINCT prompt) FROM images`); n != c.images {
		t.Errorf("%d images of %d are there", n, c.images)
	}
	if n := value[int](t, c.db, `SELECT count(*) FROM images WHERE status <> 'archived' OR attempt <> 1`); n != 0 {
		t.Errorf("%d images are not archived, or had a failure counted: %s", n,
			value[string](t, c.db, `SELECT string_agg(DISTINCT status || ' ' || reason || ' ' || attempt, ', ') FROM images`))
	}
	if n := value[int](t, c.db, `SELECT count(*) FROM images i
			WHERE (SELECT count(*) FROM image_events e WHERE e.image_id = i.id AND e.kind = 'archived') <> 1
				OR (SELECT count(*) FROM seen WHERE what = 'archived' AND ref = i.id) <> 1`); n != 0 {
		t.Errorf("%d images were not archived exactly once", n)
	}
	if what := value[string](t, c.db, `SELECT coalesce(string_agg(DISTINCT what || ': ' || ref, ', '), '') FROM seen WHERE what <> 'archived'`); what != "" {
		t.Error(what)
	}
	if n := value[int](t, c.db, `SELECT count(*) FROM image_events WHERE kind = 'interrupted'`); n == 0 {
		t.Error("no kill interrupted anything: the test shows nothing")
	} else {
		t.Logf("%d attempts were interrupted", n)
	}
}

// checkObjects compares each object with what its source gave, and each key
// with the rows.
func (c *chaos) checkObjects(store *gateway) {
	t := c.t
	rows, err := c.db.Query(`SELECT id, prompt, object_key, sha256 FROM images`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	keys, ids := map[string]bool{}, map[string]bool{}
	for rows.Next() {
		var id, prompt, key, sum string
		if err := rows.Scan(&id, &prompt, &key, &sum); err != nil {
			t.Fatal(err)
		}
		keys[key], ids[id] = true, true
		n, _ := strconv.Atoi(prompt)
		if want := fmt.Sprintf("%x", sha256.Sum256(picture(n))); sum != want || store.sha256(key) != want {
			t.Errorf("image %s: the row has %s, the store %s, the source gave %s", id, sum, store.sha256(key), want)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, key := range store.objects() {
		if strings.HasPrefix(key, "check-") {
			continue // a process was killed while it looked at its store: reconcile tells of it
		}
		id := key[strings.LastIndex(key, "/")+1:]
		id, _, _ = strings.Cut(id, "-")
		if beside := !strings.HasPrefix(key, "images/"); beside && !ids[id] || !beside && !keys[key] {
			t.Errorf("object %s has no row", key)
		}
	}
}

// checkInstances stops them in good order, after a last start that cleans up
// what a kill left behind.
func (c *chaos) checkInstances() {
	for _, k := range c.keepers {
		k.kill()
		k.await()
		eventually(c.t, 10*time.Second, "the spool is empty", func() bool { return len(spooled(c.t, k.dir)) == 0 })
		if code := k.stop(); code != exitDone {
			c.t.Errorf("exit code %d after a stop in good order", code)
		}
		if log := k.out.String(); strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic") {
			c.t.Errorf("instance %d:\n%s", k.n, log)
		}
		if c.t.Failed() {
			log := k.out.String()
			c.t.Logf("the end of the log of instance %d:\n%s", k.n, log[max(0, len(log)-20_000):])
		}
	}
}

func (g *gateway) sha256(key string) string {
	g.t.Helper()
	resp, err := g.client.GetObject(g.t.Context(), &s3.GetObjectInput{Bucket: &g.bucket, Key: &key})
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	h := sha256.New()
	if _, err := io.Copy(h, resp.Body); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// keeper starts an instance again whenever it ends, as a service manager does.
type keeper struct {
	t    *testing.T
	n    int
	dir  string
	env  []string
	out  *output // of all its processes
	done chan struct{}

	mu      sync.Mutex
	cmd     *exec.Cmd // nil while none runs
	starts  int
	stopped bool
}

func keep(t *testing.T, n int, env []string) *keeper {
	k := &keeper{t: t, n: n, env: env, out: newOutput(), done: make(chan struct{})}
	for _, e := range env {
		if dir, ok := strings.CutPrefix(e, "AFTERIMAGE_DATA_DIR="); ok {
			k.dir = dir
		}
	}
	go k.run()
	t.Cleanup(func() { k.end(os.Kill) })
	k.await()
	return k
}

func (k *keeper) run() {
	defer close(k.done)
	for {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), k.env...)
		cmd.Stdout, cmd.Stderr = k.out, k.out
		k.mu.Lock()
		if k.stopped || cmd.Start() != nil {
			k.mu.Unlock()
			return
		}
		k.cmd = cmd
		k.starts++
		k.mu.Unlock()
		cmd.Wait()
		if cmd.ProcessState.ExitCode() > 0 { // it could not start without the database
			<-time.After(100 * time.Millisecond)
		}
	}
}

func (k *keeper) kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cmd.Process.Kill()
}

// await returns when the newest process is ready, after a kill the one after.
func (k *keeper) await() {
	k.t.Helper()
	const ready = `msg="afterimage is ready"`
	before := strings.Count(k.out.String(), ready)
	eventually(k.t, time.Minute, "an instance is ready", func() bool { return strings.Count(k.out.String(), ready) > before })
}

func (k *keeper) stop() int { return k.end(os.Interrupt) }

func (k *keeper) end(signal os.Signal) int {
	k.mu.Lock()
	k.stopped = true
	if k.cmd != nil {
		k.cmd.Process.Signal(signal)
	}
	k.mu.Unlock()
	<-k.done
	return k.cmd.ProcessState.ExitCode()
}

// gallery is a source of many images, each different, that takes its time.
type gallery struct {
	*httptest.Server
	slowest time.Duration
}

func newGallery(t *testing.T, slowest time.Duration) *gallery {
	g := &gallery{slowest: slowest}
	g.Server = httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		n, _ := strconv.Atoi(strings.TrimSuffix(r.URL.Path[1:], ".png"))
		content := picture(n)
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		w.Write(content[:len(content)/2])
		nethttp.NewResponseController(w).Flush()
		select {
		case <-time.After(rand.N(g.slowest)):
			w.Write(content[len(content)/2:])
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *gallery) url(n int) string { return fmt.Sprintf("%s/%d.png", g.URL, n) }

func (g *gallery) allowed() string {
	return "IMAGE_ARCHIVE_ALLOW=" + g.Listener.Addr().(*net.TCPAddr).AddrPort().String()
}

// picture is the n-th image: noise, and every fortieth is larger than what
// passes through memory.
func picture(n int) []byte {
	random := rand.New(rand.NewPCG(uint64(n), 7))
	side := 16
	if n%40 == 39 {
		side = 400
	}
	p := goimage.NewNRGBA(goimage.Rect(0, 0, side, side))
	for i := range p.Pix {
		p.Pix[i] = byte(random.Uint32())
	}
	var b strings.Builder
	encoder := png.Encoder{CompressionLevel: png.NoCompression}
	if err := encoder.Encode(&b, p); err != nil {
		panic(err)
	}
	return []byte(b.String())
}
