package archive_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"afterimage/jobs"
	"afterimage/records"
	"afterimage/storage"
)

func jobsConfig(ttl time.Duration) jobs.Config { return jobs.Config{TTL: ttl} }

func (w *world) deletes(id string) {
	w.t.Helper()
	if err := w.DeleteImage(w.t.Context(), w.user, id); err != nil {
		w.t.Fatal(err)
	}
}

// wantGone checks that nothing is left of an image, anywhere.
func (w *world) wantGone(id string) {
	w.t.Helper()
	if _, err := w.Image(w.t.Context(), w.user, id); !errors.Is(err, records.ErrNotFound) {
		w.t.Fatalf("the image is back: %v", err)
	}
	w.wantJobs(id)
	w.wantEmpty("spool")
	w.wantEmpty("objects")
}

// Deleted while a worker is at it: no resurrection, no object without a row,
// no file in the spool.
func TestDeleteWhileArchiving(t *testing.T) {
	tests := []struct {
		name   string
		inPut  bool  // deleted while it is stored, else while it is fetched
		stored error // how the put ends
	}{
		{"in the middle of the fetch", false, nil},
		{"in the middle of the fetch, before the store fails", false, down()},
		{"in the middle of the put", true, nil},
		{"in the middle of the put, before the store fails", true, down()},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				goOn := make(chan struct{})
				if !test.inPut {
					w.source.answers(func(_ int, r *http.Request) (*http.Response, error) { <-goOn; return ok(picture(r.URL.Path)), nil })
				}
				w.store.does(func(_ context.Context, op, _ string) error {
					if op != "put" {
						return nil
					}
					<-goOn
					return test.stored
				})
				w.start(options{})
				id := w.imported("https://source.example/a.png")
				w.pass(time.Second)
				w.deletes(id)
				w.pass(time.Minute)
				close(goOn)
				w.pass(time.Minute)
				w.wantGone(id)
			})
		})
	}
}

func TestDeleteWhileHeldForTheStore(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.store.fails(down())
		w.start(options{})
		id := w.imported("https://source.example/a.png")
		w.pass(time.Second)
		w.deletes(id)
		w.pass(time.Minute)
		w.store.fails(nil)
		w.pass(time.Minute)
		w.wantGone(id)
	})
}

func TestDeleteOfWhatIsArchived(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(options{})
		id := w.imported("https://source.example/a.png")
		w.pass(time.Second)
		w.wantArchived(id, picture("/a.png"))
		w.store.fails(down())
		w.deletes(id)
		w.pass(2 * time.Minute)
		w.wantJobs(id, records.JobWaiting) // until the store is back, however long
		w.store.fails(nil)
		w.pass(time.Minute)
		w.wantGone(id)
	})
}

// A process ended after it had stored an image and before it said so; then the
// image was deleted. No row knew of the object, so nobody took it away.
func TestDeleteTakesAwayWhatNoRowKnowsOf(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		id := w.crashed("https://source.example/a.png")
		w.storeBehindTheRow(id)
		w.deletes(id)
		w.start(options{})
		w.pass(time.Second)
		w.wantGone(id)
	})
}

func TestDeleteJobWithAKeyThatCannotBe(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.store.does(func(_ context.Context, op, key string) error {
			if op == "delete" && key == "../x" {
				return &storage.Error{Reason: storage.ReasonError, Final: true, Op: op, Key: key, Err: io.ErrUnexpectedEOF}
			}
			return nil
		})
		id := records.NewID()
		w.Exec(t, `INSERT INTO jobs (id, kind, ref, data, state, deadline, run_at, created_at) VALUES ('j1', 'delete', ?, '../x', 'ready', ?, ?, ?)`,
			id, records.Never, w.Now(), w.Now())
		w.start(options{})
		w.pass(2 * time.Minute)
		if job := w.wantJobs(id, records.JobDiscarded)[0]; job.LastError == "" {
			t.Error("the job does not say why")
		}
	})
}
