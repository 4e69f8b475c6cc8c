package generate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"afterimage/fetch"
	"afterimage/generate"
	"afterimage/jobs"
	"afterimage/records"
	"afterimage/records/recordstest"
	"afterimage/storage"
)

// world is a runner on real parts, with providers that a test plays. It lives
// in a bubble, whose clock runs as fast as the work allows.
type world struct {
	*records.DB
	recordstest.Raw
	t        *testing.T
	dir      string
	spool    *storage.Spool
	log      *logBuffer
	user     string
	provider *played
	maxBytes int64

	more   []generate.Provider // beside the played one and the demo
	store  storage.Store
	runner *generate.Runner
	worker *jobs.Worker
}

// played is a provider whose calls a test answers.
type played struct {
	info  generate.Info
	mu    sync.Mutex
	times []time.Time // of the calls
	asked []generate.Request
	play  func(ctx context.Context, nth int, req generate.Request, emit func(generate.Output) error) error
}

func (p *played) Info() generate.Info { return p.info }

func (p *played) Generate(ctx context.Context, req generate.Request, emit func(generate.Output) error) (generate.Task, error) {
	p.mu.Lock()
	p.times, p.asked = append(p.times, time.Now()), append(p.asked, req)
	nth := len(p.times)
	p.mu.Unlock()
	return "", p.play(ctx, nth, req, emit)
}

// calls are when the provider was called, counted from the first time.
func (p *played) calls() []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []time.Duration
	for _, at := range p.times {
		list = append(list, at.Sub(p.times[0]).Round(time.Second))
	}
	return list
}

func (w *world) wantCalls(want ...time.Duration) {
	w.t.Helper()
	if got := w.provider.calls(); fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Fatalf("the provider was called at %v, want %v\nlog:\n%s", got, want, w.log)
	}
}

type player = func(ctx context.Context, nth int, req generate.Request, emit func(generate.Output) error) error

// paid plays a provider that takes money: a call is never made twice.
func paid(play player) *played {
	return &played{info: generate.Info{Name: "paid", Models: []generate.Model{{Name: "m"}}}, play: play}
}

// free plays one whose calls may be made again.
func free(play player) *played {
	p := paid(play)
	p.info.Name, p.info.Repeatable = "free", true
	return p
}

// bubble runs a test in a world of its own on SQLite and on PostgreSQL.
func bubble(t *testing.T, provider func() *played, test func(t *testing.T, w *world)) {
	t.Parallel()
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			// A bubble begins in the year 2000, when no link could have been signed.
			time.Sleep(time.Until(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)))
			dir := t.TempDir()
			spool, err := storage.OpenSpool(filepath.Join(dir, "spool"))
			if err != nil {
				t.Fatal(err)
			}
			w := &world{DB: recordstest.Open(t, c), Raw: recordstest.OpenRaw(t, c), t: t, dir: dir, spool: spool, log: &logBuffer{}, provider: provider()}
			w.user = records.NewID()
			w.Exec(t, `INSERT INTO users (id, username, password_hash, role, created_at) VALUES (?, 'ada', '', 'member', ?)`, w.user, w.Now())
			w.Exec(t, `INSERT INTO change_heads (user_id, seq) VALUES (?, 0)`, w.user)
			t.Cleanup(w.stop)
			test(t, w)
		})
	})
}

// start starts a worker as main does, with the played provider and the demo.
func (w *world) start() {
	w.t.Helper()
	client, err := fetch.New(fetch.Config{})
	if err != nil {
		w.t.Fatal(err)
	}
	providers := []generate.Provider{generate.NewDemo()}
	if w.provider != nil {
		providers = append(providers, w.provider)
	}
	providers = append(providers, w.more...)
	r := generate.New(generate.Config{DB: w.DB, Store: w.store, Spool: w.spool, Fetch: client, Providers: providers, MaxBytes: w.maxBytes, Log: w.log.logger()})
	w.runner = r
	w.worker = jobs.New(jobs.Config{DB: w.DB, InstanceID: records.NewID(), SpoolID: w.spool.ID(), Kinds: r.Kinds(), Log: w.log.logger(),
		Poll: time.Hour, Sweep: time.Hour}) // nothing here may need the safety nets
	if _, err := w.StartInstance(w.t.Context(), w.worker.Instance()); err != nil {
		w.t.Fatal(err)
	}
	w.OnJobs(w.worker.Wake)
	w.worker.Start()
}

func (w *world) stop() {
	if w.worker != nil {
		w.worker.Stop()
	}
	w.worker = nil
}

// sweeps is what the sweep finds after a while.
func (w *world) sweeps() {
	w.t.Helper()
	w.pass(2 * time.Minute)
	if _, err := w.DiscardUnknown(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.pass(time.Second)
}

func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// asks asks the played provider for n images and returns the generation's id.
func (w *world) asks(n int, params records.Params) string {
	w.t.Helper()
	name := "demo"
	if w.provider != nil {
		name = w.provider.info.Name
	}
	return w.asksOf(name, n, params)
}

func (w *world) asksOf(provider string, n int, params records.Params) string {
	w.t.Helper()
	g, _, err := w.CreateGeneration(w.t.Context(), records.NewGeneration{UserID: w.user, Provider: provider, Prompt: "dunes",
		N: n, Params: params, Width: 64, Height: 48})
	if err != nil {
		w.t.Fatal(err)
	}
	time.Sleep(time.Millisecond) // what happens next happens later
	return g.ID
}

// wantImages checks the state of each image of a generation, as "status" or
// "status reason".
func (w *world) wantImages(id string, want ...string) []records.Image {
	w.t.Helper()
	_, images, err := w.Generation(w.t.Context(), w.user, id)
	if err != nil {
		w.t.Fatal(err)
	}
	var got []string
	for _, i := range images {
		got = append(got, strings.TrimSpace(string(i.Status)+" "+i.Reason))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Fatalf("images are %q, want %q\nlog:\n%s", got, want, w.log)
	}
	for _, i := range images {
		w.checkJob(i)
	}
	return images
}

// checkJob checks that whatever was made is on its way into the store, and
// nothing else.
func (w *world) checkJob(i records.Image) {
	w.t.Helper()
	list, err := w.JobsOf(w.t.Context(), i.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	if made := i.Status == records.Generated; made != (len(list) == 1) {
		w.t.Fatalf("an image that is %s has %d archive jobs", i.Status, len(list))
	}
	if len(list) == 1 && list[0].SpoolID != i.SpoolID {
		w.t.Fatalf("the job is bound to spool %q, the image's is %q", list[0].SpoolID, i.SpoolID)
	}
	if i.SpoolID != "" && !w.spool.Has(i.ID) {
		w.t.Fatal("the row promises a file in the spool that is not there")
	}
}

func (w *world) wantGeneration(id string, status records.GenerationStatus, reason string) *records.Generation {
	w.t.Helper()
	g, _, err := w.Generation(w.t.Context(), w.user, id)
	if err != nil {
		w.t.Fatal(err)
	}
	if g.Status != status || g.Reason != reason {
		w.t.Fatalf("the generation is %s %q, want %s %q\nlog:\n%s", g.Status, g.Reason, status, reason, w.log)
	}
	running := status == records.GenerationQueued || status == records.GenerationGenerating
	if running == !g.FinishedAt.IsZero() {
		w.t.Fatalf("it is %s and finished at %v", status, g.FinishedAt)
	}
	return g
}

// wantJob checks the state of a generation's job, "" for none.
func (w *world) wantJob(id, state string) *records.Job {
	w.t.Helper()
	list, err := w.JobsOf(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	if state == "" && len(list) == 0 {
		return nil
	}
	if len(list) != 1 || list[0].State != state {
		w.t.Fatalf("jobs are %+v, want one that is %q\nlog:\n%s", list, state, w.log)
	}
	return &list[0]
}

// wantSpool checks how many files wait in the spool, and that no draft was
// left.
func (w *world) wantSpool(n int) {
	w.t.Helper()
	got := 0
	for _, err := range w.spool.List() {
		if err != nil {
			w.t.Fatal(err)
		}
		got++
	}
	drafts, err := os.ReadDir(filepath.Join(w.dir, "spool", ".tmp"))
	if got != n || len(drafts) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatalf("the spool holds %d files and %d drafts, want %d and none: %v", got, len(drafts), n, err)
	}
}

// crashed leaves a generation as a process does that was killed at it.
func (w *world) crashed(n int, submitted bool) string {
	w.t.Helper()
	id := w.asks(n, nil)
	_, claimed, err := w.Advance(w.t.Context(), nil, records.ClaimRequest{Kind: records.KindGenerate, Limit: 1,
		InstanceID: "killed", SpoolID: w.spool.ID(), TTL: time.Minute})
	if err != nil || len(claimed) != 1 {
		w.t.Fatalf("claimed %v: %v", claimed, err)
	}
	if submitted {
		if err := w.BeginCall(w.t.Context(), claimed[0].Fence(), id, nil); err != nil {
			w.t.Fatal(err)
		}
	}
	return id
}

func picture() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 20, 10))); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// body is an output with a picture's bytes.
func body(index int) generate.Output {
	return generate.Output{Index: index, Body: bytes.NewReader(picture())}
}

// link is an output with a link.
func link(index int) generate.Output {
	return generate.Output{Index: index, URL: fmt.Sprintf("https://made.example/%d.png?sig=%s", index, secret)}
}

// secret is in every link and must be in no log.
const secret = "c4n4ry5ecret"

// emits hands over outputs one after the other.
func emits(outputs ...generate.Output) player {
	return func(_ context.Context, _ int, _ generate.Request, emit func(generate.Output) error) error {
		for _, o := range outputs {
			if r, ok := o.Body.(*bytes.Reader); ok {
				again := *r // each call and each database reads it from the start
				o.Body = &again
			}
			if err := emit(o); err != nil {
				return err
			}
		}
		return nil
	}
}

// says ends every call with an error.
func says(err error) player {
	return func(context.Context, int, generate.Request, func(generate.Output) error) error { return err }
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
