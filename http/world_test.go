package http_test

import (
	"log/slog"
	nethttp "net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"afterimage/archive"
	"afterimage/fetch"
	"afterimage/generate"
	"afterimage/http"
	"afterimage/jobs"
	"afterimage/records"
	"afterimage/records/recordstest"
	"afterimage/storage"
	"afterimage/web"
)

// world is one test's site: a database, a disk, the demo provider and a server,
// with the words in which tests speak of them. No job is done until work.
type world struct {
	*records.DB
	recordstest.Raw
	t         *testing.T
	url       string // of the site
	server    *http.Server
	transport nethttp.RoundTripper
	store     *storage.Disk
	spool     *storage.Spool
	fetch     *fetch.Client
	demo      *generate.Demo
	providers []generate.Provider
	runner    *generate.Runner
	log       *logBook
	paused    func() (string, records.Time, bool)
	worker    *jobs.Worker // nil until work
}

// each runs a test in a world of its own on SQLite and on PostgreSQL.
func each(t *testing.T, test func(t *testing.T, w *world)) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) { test(t, newWorld(t, c, nil)) })
}

// newWorld builds a site that answers on a real socket. Change may alter the
// server's settings first.
func newWorld(t *testing.T, c records.Config, change func(*http.Config)) *world {
	t.Helper()
	socket := httptest.NewUnstartedServer(nil)
	w := buildWorld(t, c, "http://"+socket.Listener.Addr().String(), change)
	socket.Config.Handler = w.server
	socket.Start()
	w.transport = socket.Client().Transport
	t.Cleanup(func() { w.server.Drain(); socket.Close() })
	return w
}

// newBubbleWorld builds a site without a socket, for tests in a synctest
// bubble, whose clock stands still while anybody waits for a network.
func newBubbleWorld(t *testing.T, c records.Config, change func(*http.Config)) *world {
	t.Helper()
	w := buildWorld(t, c, "http://site.example", change)
	w.transport = inProcess{w.server}
	return w
}

// theSite is read once: it never changes, and compressing it takes its time.
var theSite = sync.OnceValues(web.New)

func buildWorld(t *testing.T, c records.Config, url string, change func(*http.Config)) *world {
	t.Helper()
	w := &world{DB: recordstest.Open(t, c), Raw: recordstest.OpenRaw(t, c), t: t, url: url, demo: generate.NewDemo(), log: &logBook{}}
	w.paused = func() (string, records.Time, bool) { return "", records.Time{}, false }
	dir := t.TempDir()
	var err error
	if w.store, err = storage.NewDisk(filepath.Join(dir, "objects")); err != nil {
		t.Fatal(err)
	}
	if w.spool, err = storage.OpenSpool(filepath.Join(dir, "spool")); err != nil {
		t.Fatal(err)
	}
	if w.fetch, err = fetch.New(fetch.Config{}); err != nil {
		t.Fatal(err)
	}
	site, err := theSite()
	if err != nil {
		t.Fatal(err)
	}
	config := http.Config{DB: w.DB, Store: w.store, Spool: w.spool, Fetch: w.fetch, Providers: []generate.Provider{w.demo},
		Site: site, Log: slog.New(slog.NewTextHandler(w.log, nil)), BaseURL: url, Webhooks: w.fetch, MaxAttempts: 3, MaxBytes: 64 << 20,
		Paused: func() (string, records.Time, bool) { return w.paused() }}
	config.Watch = func(id string) (<-chan generate.Sight, func()) { return w.runner.Watch(id) }
	if change != nil {
		change(&config)
	}
	w.providers = config.Providers
	w.runner = generate.New(generate.Config{DB: w.DB, Store: w.store, Spool: w.spool, Fetch: w.fetch, Providers: w.providers,
		Log: slog.New(slog.DiscardHandler)})
	if w.server, err = http.New(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	w.OnChange(w.server.Changed)
	w.OnJobs(func(kind string) {
		if w.worker != nil {
			w.worker.Wake(kind)
		}
	})
	return w
}

// generating are the jobs that make images, archiving those that keep them.
func (w *world) generating() []jobs.Kind { return w.runner.Kinds() }

func (w *world) archiving() []jobs.Kind {
	origins := map[string][]string{}
	for _, p := range w.providers {
		origins[p.Info().Name] = p.Info().Origins
	}
	a := archive.New(archive.Config{DB: w.DB, Store: w.store, Spool: w.spool, Fetch: w.fetch, Origins: origins, Log: slog.New(slog.DiscardHandler)})
	w.t.Cleanup(a.Close)
	return a.Kinds()
}

// works does jobs of some kinds until the test ends.
func (w *world) works(kinds ...jobs.Kind) {
	w.t.Helper()
	w.worker = jobs.New(jobs.Config{DB: w.DB, InstanceID: "one", SpoolID: w.spool.ID(), Kinds: kinds, Log: slog.New(slog.DiscardHandler)})
	if _, err := w.StartInstance(w.t.Context(), records.Instance{ID: "one", SpoolID: w.spool.ID()}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(w.worker.Stop)
	w.worker.Start()
}

// run is a subtest in the same world.
func (w *world) run(name string, test func(t *testing.T)) {
	outer := w.t
	defer func() { w.t = outer }()
	outer.Run(name, func(t *testing.T) {
		w.t = t
		test(t)
	})
}

// person adds an account without the cost of hashing a password.
func (w *world) person(name string) string { return w.account(name, records.Member) }

func (w *world) admin(name string) string { return w.account(name, records.Admin) }

func (w *world) account(name string, role records.Role) string {
	w.t.Helper()
	id := records.NewID()
	w.Exec(w.t, `INSERT INTO users (id, username, password_hash, role, created_at) VALUES (?, ?, '', ?, ?)`, id, name, string(role), w.Now())
	w.Exec(w.t, `INSERT INTO change_heads (user_id, seq) VALUES (?, 0)`, id)
	return id
}

// key makes an API key.
func (w *world) key(user string, scopes ...string) string {
	w.t.Helper()
	_, secret, err := w.CreateKey(w.t.Context(), user, "test", scopes, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return secret
}

// expiredKey makes an API key whose time is over.
func (w *world) expiredKey(user string, scopes ...string) string {
	w.t.Helper()
	k, secret, err := w.CreateKey(w.t.Context(), user, "old", scopes, time.Hour)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Exec(w.t, `UPDATE api_keys SET expires_at = ? WHERE id = ?`, w.Now().Add(-time.Hour), k.ID)
	return secret
}

// asks records a request for n images of one prompt.
func (w *world) asks(user, prompt string, n int) (*records.Generation, []records.Image) {
	w.t.Helper()
	g, images, err := w.CreateGeneration(w.t.Context(), records.NewGeneration{UserID: user, Provider: "demo", Model: "demo",
		Prompt: prompt, N: n, Width: 64, Height: 48, Params: records.Params{"size": "64x48", "seed": int64(7)}})
	if err != nil {
		w.t.Fatal(err)
	}
	return g, images
}

// imports records one image to be archived from somewhere.
func (w *world) imports(user, prompt string) *records.Image {
	w.t.Helper()
	_, images, err := w.CreateImport(w.t.Context(), user, []records.ImportItem{
		{URL: "https://source.example/a.png?sig=" + sourceSecret, Prompt: prompt, Provider: "demo", Model: "demo"}}, records.Idempotency{})
	if err != nil {
		w.t.Fatal(err)
	}
	return &images[0]
}

// sourceSecret is the part of a source's address that nobody may see.
const sourceSecret = "TheSourceSignature"

// state writes an image's state by hand.
func (w *world) state(id string, status records.Status, reason string) {
	w.t.Helper()
	if w.Exec(w.t, `UPDATE images SET status = ?, reason = ? WHERE id = ?`, string(status), reason, id) != 1 {
		w.t.Fatalf("there is no image %s", id)
	}
}

// image reads an image as its owner sees it.
func (w *world) image(user, id string) *records.Image {
	w.t.Helper()
	i, err := w.Image(w.t.Context(), user, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return i
}
