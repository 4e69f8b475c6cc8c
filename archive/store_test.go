package archive_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"afterimage/archive"
	"afterimage/fetch"
	"afterimage/records"
	"afterimage/storage"
)

// An outage of the store costs an image nothing: its bytes are secured within
// seconds, no attempt is counted, and it is stored when the store is back, even
// if its source died long ago.
func TestStoreIsDown(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.store.fails(down())
		w.start(options{})
		id := w.imported("https://source.example/a.png")
		w.pass(2 * time.Second)
		i := w.wantStatus(id, records.Archiving, storage.ReasonUnreachable)
		if !i.Secured() || i.SpoolID != w.spool.ID() || i.ObjectKey != "" {
			t.Fatalf("the image is not secured in the spool: %+v", i)
		}
		if wait := i.NextAttemptAt.Sub(i.UpdatedAt.Time); wait < 4*time.Second || wait > 5*time.Second {
			t.Errorf("the next attempt is in %s, want the next probe in 5 s", wait)
		}
		if got := w.wantJobs(id, records.JobHeld)[0]; got.Attempt != 0 || got.SpoolID != w.spool.ID() || !strings.Contains(got.LastError, "put object") {
			t.Errorf("the job has %d attempts, spool %q, error %q; want none, ours, and what the store said", got.Attempt, got.SpoolID, got.LastError)
		}
		reason, since, paused := w.archiver.Paused()
		if !paused || reason != storage.ReasonUnreachable || w.Now().Sub(since.Time) > 3*time.Second {
			t.Errorf("paused is %v %q since %v", paused, reason, since)
		}

		w.source.answers(func(int, *http.Request) (*http.Response, error) { return answer(410, nil), nil })
		w.pass(10 * time.Minute)
		w.wantStatus(id, records.Archiving, storage.ReasonUnreachable)
		if n := w.log.count(`msg="the store is paused"`); n != 1 {
			t.Errorf("the alarm was raised %d times, want once", n)
		}
		if _, checks := w.store.counts(); checks < 115 || checks > 121 {
			t.Errorf("the store was probed %d times in 10 min, want every 5 s", checks)
		}

		w.store.fails(nil)
		w.pass(6 * time.Second)
		i = w.wantArchived(id, picture("/a.png"))
		if i.Attempt != 1 || len(w.source.times("/a.png")) != 1 {
			t.Errorf("attempt %d, fetched %d times; want the first and once", i.Attempt, len(w.source.times("/a.png")))
		}
		w.wantEvents(id, "imported", "paused "+storage.ReasonUnreachable, "archived")
		w.wantEmpty("spool")
		if _, _, paused := w.archiver.Paused(); paused {
			t.Error("the store is still paused")
		}
	})
}

// All images of an outage are fetched while it lasts, nearly none is tried
// against the dead store, one probe asks at a time, and all go on together.
func TestManyImagesWhileTheStoreIsDown(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		checks, most := 0, 0
		w.store.does(func(ctx context.Context, op, _ string) error {
			if op != "check" {
				return down()
			}
			mu.Lock()
			checks++
			most = max(most, checks)
			mu.Unlock()
			time.Sleep(7 * time.Second) // a server that is slow to refuse
			mu.Lock()
			checks--
			mu.Unlock()
			return down()
		})
		w.start(options{})
		n := 100
		if os.Getenv("TEST_LONG") != "" {
			n = 400
		}
		items := make([]records.ImportItem, n)
		for i := range items {
			items[i].URL = fmt.Sprintf("https://s%d.example/%d.png", i%40, i)
		}
		images := w.imports(items...)
		w.pass(30 * time.Second)
		if got := len(w.files("spool")); got != n {
			t.Fatalf("%d images are in the spool, want %d", got, n)
		}
		if puts, _ := w.store.counts(); puts > 4 {
			t.Errorf("%d images were tried against a store that is down, want those of 2 slots", puts)
		}
		if most != 1 {
			t.Errorf("%d probes asked together, want one", most)
		}
		w.source.answers(func(int, *http.Request) (*http.Response, error) { return answer(404, nil), nil })
		w.store.fails(nil)
		w.pass(20 * time.Second)
		for i, image := range images {
			got := w.wantArchived(image.ID, picture(fmt.Sprintf("/%d.png", i)))
			if got.Attempt != 1 {
				t.Fatalf("attempt %d, want 1", got.Attempt)
			}
		}
		w.wantEmpty("spool")
		if most := w.store.most; most > 2 {
			t.Errorf("%d images were stored together, want 2", most)
		}
	})
}

// A store that goes away again and again in short turns loses nothing and
// counts nothing.
func TestStoreFlaps(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(options{})
		var ids []string
		for n := range 10 {
			w.store.fails(down())
			ids = append(ids, w.imported(fmt.Sprintf("https://source.example/%d.png", n)))
			w.pass(12 * time.Second)
			w.store.fails(nil)
			w.pass(4 * time.Second)
		}
		w.pass(30 * time.Second)
		for n, id := range ids {
			if i := w.wantArchived(id, picture(fmt.Sprintf("/%d.png", n))); i.Attempt != 1 {
				t.Errorf("image %d took %d attempts, want 1", n, i.Attempt)
			}
		}
	})
}

// An image that the store refuses alone, such as one that a proxy in between
// finds too large, must not pause it for all others for ever: at first each
// pause ended with the probe's success, which let that image pause it again.
func TestImageThatTheStoreNeverTakesDoesNotStopTheOthers(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(options{})
		bad := w.imported("https://source.example/bad.png")
		w.store.does(func(_ context.Context, op, key string) error {
			if strings.Contains(key, bad) {
				return down()
			}
			return nil
		})
		for n := range 10 {
			w.imported(fmt.Sprintf("https://source.example/%d.png", n))
			w.pass(30 * time.Second)
		}
		i := w.wantStatus(bad, records.Archiving, storage.ReasonUnreachable)
		if job := w.wantJobs(bad, records.JobWaiting)[0]; job.Attempt != 0 || !i.Secured() {
			t.Errorf("%d attempts counted, secured %v; want none, and secured", job.Attempt, i.Secured())
		}
		if n := w.log.count(`msg="the store is paused"`); n != 1 {
			t.Errorf("the store was paused %d times, want once", n)
		}
		if got := len(w.files("objects")); got != 10 {
			t.Errorf("%d images were stored, want the 10 others", got)
		}
		w.store.fails(nil)
		w.pass(10 * time.Minute)
		w.wantArchived(bad, picture("/bad.png"))
	})
}

func TestStoreSaysThatItNeverCan(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.store.fails(&storage.Error{Reason: storage.ReasonError, Final: true, Op: "put object", Err: io.ErrShortBuffer})
		w.start(options{})
		id := w.imported("https://source.example/a.png")
		w.pass(time.Second)
		i := w.wantStatus(id, records.ArchiveFailed, storage.ReasonError)
		if !i.Secured() {
			t.Error("the bytes were thrown away, though only the store's rules are against them")
		}
		if _, _, paused := w.archiver.Paused(); paused {
			t.Error("the store is paused for one image")
		}
		w.store.fails(nil)
		w.source.answers(func(int, *http.Request) (*http.Response, error) { return answer(404, nil), nil })
		if err := w.RetryImage(t.Context(), w.user, id); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
		w.wantArchived(id, picture("/a.png"))
		w.wantEmpty("spool")
	})
}

func TestStoreFindsOtherBytes(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.store.fails(&storage.Error{Reason: storage.ReasonMismatch, Op: "put object", Err: io.ErrNoProgress})
		w.start(options{})
		id := w.imported("https://source.example/a.png")
		w.pass(time.Second)
		w.wantStatus(id, records.RetryWait, storage.ReasonMismatch)
		w.store.fails(nil)
		w.pass(time.Minute)
		w.wantArchived(id, picture("/a.png"))
	})
}

// Bytes that rot in the spool are not stored; if the source lives, it gives
// them again.
func TestSpooledBytesGoBad(t *testing.T) {
	spoil := map[string]func(file []byte) []byte{
		"a flipped bit": func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
		"cut short":     func(b []byte) []byte { return b[:len(b)/2] },
	}
	for name, rot := range spoil {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.store.fails(down())
				w.start(options{})
				id := w.imported("https://source.example/a.png")
				w.pass(time.Second)
				path := filepath.Join(w.dir, "spool", id)
				file, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, rot(file), 0o600); err != nil {
					t.Fatal(err)
				}
				w.store.fails(nil)
				w.pass(time.Minute)
				w.wantArchived(id, picture("/a.png"))
				w.wantEmpty("spool")
			})
		})
	}
}

// Our own disk is ours too: nothing is counted, and images that fit into
// memory go past it.
func TestSpoolsDiskIsAway(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		drafts := filepath.Join(w.dir, "spool", ".tmp")
		if err := os.Remove(drafts); err != nil {
			t.Fatal(err)
		}
		w.start(options{})
		small := w.imported("https://source.example/small.png")
		w.pass(time.Second)
		w.wantArchived(small, picture("/small.png"))

		large := w.imported("https://source.example/large.png")
		w.pass(time.Second)
		w.wantStatus(large, records.Archiving, storage.ReasonMissing)
		w.wantJobs(large, records.JobHeld)
		small = w.imported("https://source.example/small2.png")
		w.pass(time.Second)
		w.wantArchived(small, picture("/small2.png"))

		if err := os.Mkdir(drafts, 0o700); err != nil {
			t.Fatal(err)
		}
		w.pass(6 * time.Second)
		if i := w.wantArchived(large, picture("/large.png")); i.Attempt != 1 {
			t.Errorf("attempt %d, want 1", i.Attempt)
		}
		if n := w.log.count(`msg="the store is paused"`); n != 1 {
			t.Errorf("the alarm was raised %d times, want once", n)
		}
		w.wantEmpty("spool")
	})
}

// With store and disk both away nothing is lost that the source still has.
func TestStoreAndDiskAreAway(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		drafts := filepath.Join(w.dir, "spool", ".tmp")
		if err := os.Remove(drafts); err != nil {
			t.Fatal(err)
		}
		w.store.fails(down())
		w.start(options{})
		id := w.imported("https://source.example/a.png")
		w.pass(time.Minute)
		if i := w.wantStatus(id, records.Archiving, storage.ReasonUnreachable); i.Secured() {
			t.Error("the image says that it is secured")
		}
		w.store.fails(nil)
		if err := os.Mkdir(drafts, 0o700); err != nil {
			t.Fatal(err)
		}
		w.pass(6 * time.Second)
		w.wantArchived(id, picture("/a.png"))
	})
}

// The release of held images has to be written too. If the database does not
// take it, they were left lying until the next start.
func TestReleaseOfHeldImagesIsTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.store.fails(down())
		w.start(options{})
		id := w.imported("https://source.example/a.png")
		w.pass(time.Second)
		w.wantJobs(id, records.JobHeld)
		w.Exec(t, `ALTER TABLE jobs RENAME TO away`)
		w.store.fails(nil)
		w.pass(20 * time.Second)
		w.Exec(t, `ALTER TABLE away RENAME TO jobs`)
		w.pass(20 * time.Second)
		w.wantArchived(id, picture("/a.png"))
	})
}

func TestSourceFailsWhileTheStoreIsDown(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.source.answers(func(_ int, r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/gone.png" {
				return answer(404, nil), nil
			}
			return ok(picture(r.URL.Path)), nil
		})
		w.store.fails(down())
		w.start(options{archive: archive.Config{}})
		w.imported("https://source.example/a.png")
		w.pass(time.Second)
		gone := w.imported("https://source.example/gone.png")
		w.pass(time.Second)
		w.wantStatus(gone, records.ArchiveFailed, fetch.Missing)
	})
}

// The store came back while it was being written that an image waits for it:
// nobody else would release that one.
func TestStoreComesBackWhileAnImageIsPutOnHold(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		goOn := make(chan struct{})
		w.source.answers(func(_ int, r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/late.png" {
				<-goOn
			}
			return ok(picture(r.URL.Path)), nil
		})
		w.store.fails(down())
		w.start(options{})
		late := w.imported("https://source.example/late.png")
		w.imported("https://source.example/first.png") // closes the gate; a probe comes in 5 s
		w.pass(4500 * time.Millisecond)
		w.Exec(t, `ALTER TABLE image_events RENAME TO away`) // nothing can be told of an image
		close(goOn)
		w.store.fails(nil)
		w.pass(time.Second)
		w.Exec(t, `ALTER TABLE away RENAME TO image_events`)
		if _, _, paused := w.archiver.Paused(); paused {
			t.Fatal("the store is still paused")
		}
		w.wantJobs(late, records.JobRunning)
		w.pass(10 * time.Second)
		w.wantArchived(late, picture("/late.png"))
	})
}
