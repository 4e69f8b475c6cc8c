package archive_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"afterimage/archive"
	"afterimage/fetch"
	"afterimage/jobs"
	"afterimage/records"
	"afterimage/records/recordstest"
	"afterimage/storage"
)

// world is an archive on real parts, only that the network is a function.
// It lives in a bubble, whose clock runs as fast as the work allows.
type world struct {
	*records.DB
	recordstest.Raw
	t      *testing.T
	dir    string
	source *source
	store  *faultyStore
	spool  *storage.Spool
	log    *logBuffer
	user   string

	archiver *archive.Archiver
	worker   *jobs.Worker
}

// options are what a test wants to be different.
type options struct {
	archive archive.Config
	worker  jobs.Config
}

// bubble runs a test in a world of its own on SQLite and on PostgreSQL.
func bubble(t *testing.T, test func(t *testing.T, w *world)) {
	t.Parallel()
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) { inBubble(t, c, test) })
}

func inBubble(t *testing.T, c records.Config, test func(t *testing.T, w *world)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// A bubble begins in the year 2000, when no link could have been signed.
		time.Sleep(time.Until(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)))
		dir := t.TempDir()
		w := &world{DB: recordstest.Open(t, c), Raw: recordstest.OpenRaw(t, c), t: t, dir: dir,
			source: &source{asked: map[string][]time.Time{}}, log: &logBuffer{}}
		disk, err := storage.NewDisk(filepath.Join(dir, "objects"))
		if err != nil {
			t.Fatal(err)
		}
		w.store = &faultyStore{Disk: disk}
		if w.spool, err = storage.OpenSpool(filepath.Join(dir, "spool")); err != nil {
			t.Fatal(err)
		}
		w.user = w.person("ada")
		t.Cleanup(func() {
			if w.worker != nil {
				w.stop()
			}
		})
		test(t, w)
	})
}

// person adds an account without the cost of hashing a password.
func (w *world) person(name string) string {
	id := records.NewID()
	w.Exec(w.t, `INSERT INTO users (id, username, password_hash, role, created_at) VALUES (?, ?, '', 'member', ?)`, id, name, w.Now())
	w.Exec(w.t, `INSERT INTO change_heads (user_id, seq) VALUES (?, 0)`, id)
	return id
}

// start starts the worker as main does.
func (w *world) start(o options) {
	w.t.Helper()
	w.archiver, w.worker = w.newWorker(records.NewID(), w.spool, o)
	w.OnJobs(w.worker.Wake)
	w.worker.Start()
}

func (w *world) newWorker(instance string, spool *storage.Spool, o options) (*archive.Archiver, *jobs.Worker) {
	w.t.Helper()
	client, err := fetch.New(fetch.Config{Transport: w.source})
	if err != nil {
		w.t.Fatal(err)
	}
	a := o.archive
	a.DB, a.Store, a.Spool, a.Fetch, a.Log = w.DB, w.store, spool, client, w.log.logger()
	archiver := archive.New(a)
	j := o.worker
	// Nothing but rows written by hand may need the safety nets.
	j.Poll, j.Sweep = cmp.Or(j.Poll, time.Hour), cmp.Or(j.Sweep, time.Hour)
	j.DB, j.InstanceID, j.SpoolID, j.Kinds, j.Log = w.DB, instance, spool.ID(), archiver.Kinds(), w.log.logger()
	if _, err := w.StartInstance(w.t.Context(), records.Instance{ID: instance, SpoolID: spool.ID()}); err != nil {
		w.t.Fatal(err)
	}
	return archiver, jobs.New(j)
}

// stop stops the worker in good order.
func (w *world) stop() {
	w.worker.Stop()
	w.archiver.Close()
	w.worker = nil
}

// imports writes images to be archived.
func (w *world) imports(items ...records.ImportItem) []records.Image {
	w.t.Helper()
	_, images, err := w.CreateImport(w.t.Context(), w.user, items, records.Idempotency{})
	if err != nil {
		w.t.Fatal(err)
	}
	return images
}

// imported writes one image and returns its id.
func (w *world) imported(url string) string {
	w.t.Helper()
	return w.imports(records.ImportItem{URL: url})[0].ID
}

// pass lets time go by until everything waits again.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) image(id string) *records.Image {
	w.t.Helper()
	i, err := w.Image(w.t.Context(), w.user, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return i
}

// wantStatus checks an image's state and reason.
func (w *world) wantStatus(id string, status records.Status, reason string) *records.Image {
	w.t.Helper()
	i := w.image(id)
	if i.Status != status || i.Reason != reason {
		w.t.Fatalf("image is %s %q, want %s %q\nevents: %v\nlog:\n%s", i.Status, i.Reason, status, reason, w.events(id), w.log)
	}
	return i
}

// wantArchived checks that an image is kept, byte for byte, and that nothing
// of its way there is left.
func (w *world) wantArchived(id string, file []byte) *records.Image {
	w.t.Helper()
	i := w.wantStatus(id, records.Archived, "")
	body, info, err := w.store.Disk.Open(w.t.Context(), i.ObjectKey, 0, -1)
	if err != nil {
		w.t.Fatal(err)
	}
	defer body.Close()
	got, err := io.ReadAll(body)
	if err != nil {
		w.t.Fatal(err)
	}
	switch {
	case !bytes.Equal(got, file):
		w.t.Fatalf("the object holds other bytes (%d) than the source (%d)", len(got), len(file))
	case i.SHA256 != sum(file), i.Bytes != int64(len(file)), i.MIME != "image/png", i.ObjectETag != info.ETag, i.ArchivedAt.IsZero():
		w.t.Fatalf("the row does not describe the object: %+v", i)
	case i.SourceURL != "", i.SpoolID != "", !i.NextAttemptAt.IsZero():
		w.t.Fatalf("the row still holds what it no longer needs: %+v", i)
	}
	w.wantJobs(id)
	return i
}

// wantJobs checks the states of the jobs about one thing.
func (w *world) wantJobs(ref string, states ...string) []records.Job {
	w.t.Helper()
	list, err := w.JobsOf(w.t.Context(), ref)
	if err != nil {
		w.t.Fatal(err)
	}
	var got []string
	for _, j := range list {
		got = append(got, j.State)
	}
	if fmt.Sprint(got) != fmt.Sprint(states) {
		w.t.Fatalf("jobs are %v, want %v\nlog:\n%s", got, states, w.log)
	}
	return list
}

// events are the kinds and reasons of what happened to an image.
func (w *world) events(id string) []string {
	w.t.Helper()
	list, err := w.Events(w.t.Context(), w.user, id)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, strings.TrimSpace(e.Kind+" "+e.Reason))
	}
	return out
}

func (w *world) wantEvents(id string, want ...string) {
	w.t.Helper()
	if got := w.events(id); fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Fatalf("events are %q, want %q", got, want)
	}
}

// files lists what lies in a folder of the data folder, leaving out what
// begins with a dot.
func (w *world) files(folder string) []string {
	w.t.Helper()
	var names []string
	err := filepath.WalkDir(filepath.Join(w.dir, folder), func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".tmp":
			return filepath.SkipDir
		case !d.IsDir() && d.Name()[0] != '.':
			names = append(names, d.Name())
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return names
}

func (w *world) wantEmpty(folder string) {
	w.t.Helper()
	if names := w.files(folder); len(names) > 0 {
		w.t.Fatalf("%s holds %d files: %v\nlog:\n%s", folder, len(names), names[:min(len(names), 5)], w.log)
	}
	drafts, err := os.ReadDir(filepath.Join(w.dir, folder, ".tmp"))
	if err != nil || len(drafts) > 0 {
		w.t.Fatalf("%s holds temporary files: %v %v", folder, drafts, err)
	}
}

// logBuffer keeps what is logged.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *logBuffer) count(part string) int { return strings.Count(b.String(), part) }

func (b *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
