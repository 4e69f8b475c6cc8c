package archive_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
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
	j.DB, j.InstanceID, j.SpoolID, j.Kinds, j.Log = w.DB, instance, spool.ID(), archiver.Kinds(), w.log.logger()
	if _, err := w.StartInstance(w.t.Context(), instance, spool.ID()); err != nil {
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

// source is the network: what it answers, and when it was asked for what.
type source struct {
	mu     sync.Mutex
	asked  map[string][]time.Time // by path
	answer func(nth int, r *http.Request) (*http.Response, error)
}

// RoundTrip implements http.RoundTripper; nth counts from 1 for each path.
func (s *source) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(time.Millisecond) // time goes on in a bubble too
	s.mu.Lock()
	s.asked[r.URL.Path] = append(s.asked[r.URL.Path], time.Now())
	nth, answer := len(s.asked[r.URL.Path]), s.answer
	s.mu.Unlock()
	if answer == nil {
		return ok(picture(r.URL.Path)), nil
	}
	return answer(nth, r)
}

func (s *source) answers(answer func(nth int, r *http.Request) (*http.Response, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// times are when a path was asked for, counted from the first time.
func (s *source) times(path string) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []time.Duration
	for _, at := range s.asked[path] {
		list = append(list, at.Sub(s.asked[path][0]))
	}
	return list
}

func ok(body []byte) *http.Response { return answer(http.StatusOK, body) }

func answer(status int, body []byte, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body))}
}

// untilDone waits for the end of a request, as a source that hangs does.
func untilDone(ctx context.Context) (*http.Response, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// faultyStore is a disk that does what the test says first.
type faultyStore struct {
	*storage.Disk
	mu    sync.Mutex
	fault func(ctx context.Context, op, key string) error
	puts  map[string]int // by key; not those of a check
	tried int            // puts begun
	check int            // checks begun
	now   int            // puts that run
	most  int            // the most that ran together
}

func (s *faultyStore) Put(ctx context.Context, o storage.Object, body io.ReadSeeker) (storage.Info, error) {
	time.Sleep(time.Millisecond)
	s.mu.Lock()
	s.tried++
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.now--; s.mu.Unlock() }()
	if err := s.trouble(ctx, "put", o.Key); err != nil {
		return storage.Info{}, err
	}
	info, err := s.Disk.Put(ctx, o, body)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.puts == nil {
			s.puts = map[string]int{}
		}
		s.puts[o.Key]++
	}
	return info, err
}

func (s *faultyStore) Delete(ctx context.Context, key string) error {
	if err := s.trouble(ctx, "delete", key); err != nil {
		return err
	}
	return s.Disk.Delete(ctx, key)
}

func (s *faultyStore) Check(ctx context.Context) error {
	s.mu.Lock()
	s.check++
	s.mu.Unlock()
	if err := s.trouble(ctx, "check", ""); err != nil {
		return err
	}
	return s.Disk.Check(ctx)
}

func (s *faultyStore) trouble(ctx context.Context, op, key string) error {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(ctx, op, key)
}

// fails makes every call fail, or none.
func (s *faultyStore) fails(err error) {
	s.does(func(context.Context, string, string) error { return err })
}

func (s *faultyStore) does(fault func(ctx context.Context, op, key string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// counts are the puts and the checks that were begun.
func (s *faultyStore) counts() (puts, checks int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tried, s.check
}

// down is what a store says that cannot be reached.
func down() error {
	return &storage.Error{Reason: storage.ReasonUnreachable, Op: "put object", Err: io.ErrClosedPipe}
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

// picture is a PNG that only its name has. A name with "large" in it does not
// fit into memory on its way.
func picture(name string) []byte {
	pictures.Lock()
	defer pictures.Unlock()
	if file := pictures.made[name]; file != nil {
		return file
	}
	side := 16
	if strings.Contains(name, "large") {
		side = 500 // noise does not shrink: 750 KB
	}
	var seed [32]byte
	copy(seed[:], name)
	noise := rand.NewChaCha8(seed)
	img := image.NewNRGBA(image.Rect(0, 0, side, side))
	noise.Read(img.Pix)
	for i := 3; i < len(img.Pix); i += 4 {
		img.Pix[i] = 255
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	pictures.made[name] = b.Bytes()
	return b.Bytes()
}

var pictures = struct {
	sync.Mutex
	made map[string][]byte
}{made: map[string][]byte{}}
