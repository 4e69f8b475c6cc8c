package archive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"afterimage/archive"
	"afterimage/records"
	"afterimage/records/recordstest"
	"afterimage/storage"
)

// crashed leaves an image as a process does that was killed at work on it.
func (w *world) crashed(url string) string {
	w.t.Helper()
	id := w.imported(url)
	time.Sleep(time.Second)
	_, claimed, err := w.Advance(w.t.Context(), nil, records.ClaimRequest{Kind: records.KindArchive, Limit: 1,
		InstanceID: "killed", SpoolID: w.spool.ID(), TTL: 10 * time.Minute})
	if err != nil || len(claimed) != 1 {
		w.t.Fatalf("claimed %v: %v", claimed, err)
	}
	return id
}

func (w *world) sourceIsDead() {
	w.source.answers(func(int, *http.Request) (*http.Response, error) { return answer(404, nil), nil })
}

// Killed between the spool's write and the note of it: the source is not asked
// a second time.
func TestBytesInTheSpoolOutliveACrash(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		id := w.crashed("https://source.example/a.png")
		if _, err := w.spool.Write(id, bytes.NewReader(picture("a"))); err != nil {
			t.Fatal(err)
		}
		w.sourceIsDead()
		w.start(options{})
		w.pass(time.Second)
		if i := w.wantArchived(id, picture("a")); i.Attempt != 1 {
			t.Errorf("attempt %d, want 1: a crash is no failure of the image", i.Attempt)
		}
		w.wantEmpty("spool")
		if n := len(w.source.times("/a.png")); n > 0 {
			t.Errorf("the source was asked %d times", n)
		}
	})
}

// Killed between the store's answer and the note of it: the object is found
// again, even if the source has died since.
func TestStoredBytesOutliveACrash(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		id := w.crashed("https://source.example/a.png")
		w.storeBehindTheRow(id)
		w.sourceIsDead()
		w.start(options{})
		w.pass(time.Second)
		w.wantArchived(id, picture("a"))
		w.wantEmpty("spool")
	})
}

// storeBehindTheRow stores an image's object without recording it.
func (w *world) storeBehindTheRow(id string) {
	w.t.Helper()
	file := picture("a")
	o := storage.Object{Key: "images/2026/03/01/" + id + ".png", ContentType: "image/png", Size: int64(len(file)), SHA256: sha256.Sum256(file)}
	if _, err := w.store.Disk.Put(w.t.Context(), o, bytes.NewReader(file)); err != nil {
		w.t.Fatal(err)
	}
}

func TestNothingStoredBeforeACrashMeansTheSource(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		id := w.crashed("https://source.example/a.png")
		w.start(options{})
		w.pass(time.Second)
		w.wantArchived(id, picture("/a.png"))
		w.wantEvents(id, "imported", "interrupted interrupted", "archived")
	})
}

// The secured bytes of images that are kept by now, called off or gone are
// removed; those that are still needed, and what is not ours, are not.
func TestCleanSpool(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		write := func(id string, age time.Duration) {
			t.Helper()
			if _, err := w.spool.Write(id, bytes.NewReader(picture("a"))); err != nil {
				t.Fatal(err)
			}
			at := time.Now().Add(-age)
			if err := os.Chtimes(filepath.Join(w.dir, "spool", id), at, at); err != nil {
				t.Fatal(err)
			}
		}
		kept := map[string]bool{"a-note": true}
		write("a-note", 365*24*time.Hour)
		for status, needed := range map[records.Status]bool{
			records.Generating: true, records.Generated: true, records.Archiving: true, records.RetryWait: true,
			records.ArchiveFailed: true, records.Unknown: true,
			records.Archived: false, records.Canceled: false, records.GenerateFailed: false,
		} {
			id := w.imported("https://source.example/a.png")
			w.Exec(t, `UPDATE images SET status = ? WHERE id = ?`, string(status), id)
			write(id, 0)
			kept[id] = needed
		}
		old, young := records.NewID(), records.NewID()
		write(old, 8*24*time.Hour)
		write(young, 6*24*time.Hour)
		kept[young] = true
		upload := records.NewID() // of a generation that has waited for long
		write(upload, 8*24*time.Hour)
		w.waitsFor(upload)
		kept[upload] = true

		a := archive.New(archive.Config{DB: w.DB, Store: w.store, Spool: w.spool, Log: w.log.logger()})
		removed, err := a.CleanSpool(t.Context())
		if err != nil || removed != 4 {
			t.Fatalf("removed %d: %v; want 4", removed, err)
		}
		for _, name := range w.files("spool") {
			if !kept[name] {
				t.Errorf("%s is still there", name)
			}
			delete(kept, name)
		}
		for name, needed := range kept {
			if needed {
				t.Errorf("%s was removed", name)
			}
		}
	})
}

// takenOver makes a running job another worker's.
func (w *world) takenOver(id string) {
	w.t.Helper()
	if _, err := w.StartInstance(w.t.Context(), records.Instance{ID: "other", SpoolID: "spool of other"}); err != nil {
		w.t.Fatal(err)
	}
	w.Exec(w.t, `UPDATE jobs SET claim = claim + 1, owner = 'other', instance_id = 'other', leased_until = ? WHERE ref = ?`,
		w.Now().Add(time.Hour), id)
}

func TestLateFinisherChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		goOn := make(chan struct{})
		w.source.answers(func(_ int, r *http.Request) (*http.Response, error) { <-goOn; return ok(picture(r.URL.Path)), nil })
		w.start(options{})
		id := w.imported("https://source.example/a.png")
		w.pass(time.Second)
		w.takenOver(id)
		before := *w.image(id)
		close(goOn)
		w.pass(time.Second)
		if after := *w.image(id); after.Seq != before.Seq || after.Status != records.Archiving {
			t.Errorf("the image was changed by a worker that had lost its claim: %+v", after)
		}
		w.wantJobs(id, records.JobRunning)
		if n := w.log.count("its claim was lost"); n != 1 {
			t.Errorf("it was logged %d times, want once", n)
		}
		w.wantEmpty("spool")
	})
}

// Two workers were at one image: the late one, whose store had failed it, left
// a file in the spool for good.
func TestLateFinisherLeavesNothingInTheSpool(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		goOn := make(chan struct{})
		w.store.does(func(context.Context, string, string) error { <-goOn; return down() })
		w.start(options{})
		id := w.imported("https://source.example/a.png")
		w.pass(time.Second)
		w.takenOver(id)
		w.Exec(t, `UPDATE images SET status = 'archived', object_key = 'images/x.png' WHERE id = ?`, id)
		close(goOn)
		w.pass(time.Second)
		w.wantEmpty("spool")
	})
}

func TestWorkEndsWhenItsClaimIsLost(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		ended := make(chan error, 1)
		w.source.answers(func(_ int, r *http.Request) (*http.Response, error) {
			_, err := untilDone(r.Context())
			ended <- err
			return nil, err
		})
		w.start(options{worker: jobsConfig(30 * time.Second)})
		id := w.imported("https://source.example/a.png")
		w.pass(time.Second)
		w.takenOver(id)
		w.pass(11 * time.Second)
		select {
		case err := <-ended:
			if err != records.ErrLeaseLost {
				t.Errorf("the fetch ended with %v, want %v", err, records.ErrLeaseLost)
			}
		default:
			t.Error("the fetch goes on")
		}
		w.wantJobs(id, records.JobRunning)
	})
}

// A stop in the middle gives the image back as it was, or finishes it; never
// both, and it is no failure of the image.
func TestStop(t *testing.T) {
	hangs := func(_ int, r *http.Request) (*http.Response, error) { return untilDone(r.Context()) }
	takes := func(d time.Duration) func(context.Context, string, string) error {
		return func(ctx context.Context, _, _ string) error {
			select {
			case <-time.After(d):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	tests := []struct {
		name     string
		source   func(int, *http.Request) (*http.Response, error)
		store    func(context.Context, string, string) error
		finished bool
		secured  bool // meanwhile
	}{
		{"a fetch that hangs is given back", hangs, nil, false, false},
		{"a put that hangs is given back", nil, takes(time.Hour), false, true},
		{"a put that ends within the grace time is finished", nil, takes(5 * time.Second), true, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.source.answers(test.source)
				w.store.does(test.store)
				w.start(options{})
				id := w.imported("https://source.example/a.png")
				w.pass(time.Second)
				begin := time.Now()
				w.stop()
				if took := time.Since(begin); took > 11*time.Second {
					t.Errorf("stopping took %s, want the grace time of 10 s at most", took)
				}
				if !test.finished {
					i := w.wantStatus(id, records.Generated, "")
					if job := w.wantJobs(id, records.JobReady)[0]; job.Attempt != 0 || job.Crashes != 0 || i.Attempt != 0 {
						t.Errorf("job has %d attempts and %d crashes, image %d attempts; want none", job.Attempt, job.Crashes, i.Attempt)
					}
					w.wantEmpty("objects")
					if job := w.wantJobs(id, records.JobReady)[0]; job.SpoolID != "" {
						t.Errorf("the job is bound to the spool %q, though its source lives", job.SpoolID)
					}
					if i.Secured() != test.secured || i.Secured() != (len(w.files("spool")) == 1) {
						t.Errorf("secured is %v with %v in the spool", i.Secured(), w.files("spool"))
					}
					w.source.answers(nil)
					w.store.fails(nil)
					w.start(options{})
					w.pass(time.Second)
				}
				w.wantArchived(id, picture("/a.png"))
			})
		})
	}
}

func TestStopWhileTheStoreIsPaused(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.store.fails(down())
		w.start(options{})
		id := w.imported("https://source.example/a.png")
		w.pass(7 * time.Second)
		w.stop()
		w.wantJobs(id, records.JobHeld)
		w.sourceIsDead()
		w.store.fails(nil)
		w.start(options{})
		w.pass(time.Second)
		w.wantArchived(id, picture("/a.png"))
	})
}

// panicBody panics in the middle of a large image.
type panicBody struct{ left int }

func (b *panicBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		panic("a bug")
	}
	n := min(len(p), b.left)
	copy(p, picture("/large.png")[:n])
	b.left -= n
	return n, nil
}
func (*panicBody) Close() error { return nil }

func TestPanicIsAFailureOfThatImageAlone(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.source.answers(func(nth int, r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/bad.png" {
				return &http.Response{StatusCode: 200, ContentLength: -1, Body: &panicBody{left: 600 << 10}}, nil
			}
			return ok(picture(r.URL.Path)), nil
		})
		w.start(options{})
		bad, good := w.imported("https://source.example/bad.png"), w.imported("https://source.example/good.png")
		w.pass(time.Second)
		w.wantStatus(bad, records.RetryWait, records.ReasonInternal)
		w.wantArchived(good, picture("/good.png"))
		w.wantEmpty("spool")
		w.pass(3 * time.Minute)
		w.wantStatus(bad, records.ArchiveFailed, records.ReasonInternal)
		w.wantEmpty("spool")
	})
}

// Two instances on one PostgreSQL: each image is archived by one of them.
func TestTwoInstancesShareTheWork(t *testing.T) {
	inBubble(t, recordstest.Postgres(t), func(t *testing.T, w *world) {
		const n = 200
		items := make([]records.ImportItem, n)
		for i := range items {
			items[i].URL = fmt.Sprintf("https://s%d.example/%d.png", i%50, i)
		}
		images := w.imports(items...)
		spool, err := storage.OpenSpool(filepath.Join(w.dir, "spool2"))
		if err != nil {
			t.Fatal(err)
		}
		o := options{archive: archive.Config{Slots: 8}}
		other, otherWorker := w.newWorker(records.NewID(), spool, o)
		w.start(o)
		otherWorker.Start()
		w.pass(time.Minute)
		otherWorker.Stop()
		other.Close()
		for i, image := range images {
			got := w.wantArchived(image.ID, picture(fmt.Sprintf("/%d.png", i)))
			if puts := w.store.puts[got.ObjectKey]; puts != 1 {
				t.Errorf("image %d was stored %d times, want once", i, puts)
			}
			w.wantEvents(image.ID, "imported", "archived")
		}
		w.wantEmpty("spool")
		w.wantEmpty("spool2")
		if w.log.count(otherWorker.InstanceID) > 0 || w.log.count("lost") > 0 {
			t.Errorf("the instances got in each other's way:\n%s", w.log)
		}
	})
}
