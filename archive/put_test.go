package archive_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"afterimage/archive"
	"afterimage/fetch"
	"afterimage/jobs"
	"afterimage/records"
	"afterimage/storage"
)

// answersIn is a store that takes that long, and then says err.
func answersIn(d time.Duration, err error) func(context.Context, string, string) error {
	return func(ctx context.Context, op, _ string) error {
		if op != "put" {
			return nil
		}
		select {
		case <-time.After(d):
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A store that takes a minute over each image is not down, but until it has
// answered only the source had the bytes: a link that died in this minute and a
// crash together lost the image.
func TestBytesAreSecuredWhileTheStoreIsSlow(t *testing.T) {
	for _, name := range []string{"small.png", "large.png"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.store.does(answersIn(time.Minute, nil))
				w.start(options{})
				id := w.imported("https://source.example/" + name)
				w.pass(1900 * time.Millisecond)
				if w.wantStatus(id, records.Archiving, "").Secured() {
					t.Error("it is secured before the store had its time")
				}
				if names := w.files("spool"); len(names) > 0 {
					t.Errorf("the spool holds %v", names)
				}
				w.pass(200 * time.Millisecond)
				i := w.wantStatus(id, records.Archiving, "")
				if i.SpoolID != w.spool.ID() || i.ObjectKey != "" || i.SHA256 != sum(picture("/"+name)) || i.SourceURL == "" {
					t.Errorf("the row does not say that it is secured and not stored: %+v", i)
				}
				if kept, err := w.spool.Stat(id); err != nil || i.SHA256 != fmt.Sprintf("%x", kept.SHA256) {
					t.Errorf("the spool has %+v: %v", kept, err)
				}
				if job := w.wantJobs(id, records.JobRunning)[0]; job.SpoolID != "" {
					t.Errorf("the job is bound to %q, though its source lives", job.SpoolID)
				}
				w.pass(time.Minute)
				w.wantArchived(id, picture("/"+name))
				w.wantEvents(id, "imported", "archived")
				w.wantEmpty("spool")
				if puts, asked := w.store.puts[w.image(id).ObjectKey], len(w.source.times("/"+name)); puts != 1 || asked != 1 {
					t.Errorf("stored %d times, fetched %d times; want once", puts, asked)
				}
			})
		})
	}
}

func TestSlowStoreFailsInTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.store.does(answersIn(20*time.Second, down()))
		w.start(options{})
		id := w.imported("https://source.example/a.png")
		w.pass(10 * time.Second)
		w.sourceIsDead()
		w.pass(11 * time.Second)
		w.wantStatus(id, records.Archiving, storage.ReasonUnreachable)
		w.wantJobs(id, records.JobHeld)
		w.wantEvents(id, "imported", "paused "+storage.ReasonUnreachable)
		w.store.fails(nil)
		w.pass(6 * time.Second)
		w.wantArchived(id, picture("/a.png"))
	})
}

// The process is killed while a slow store has the bytes. Its successor needs
// no source.
func TestBytesSecuredBesideASlowStoreOutliveACrash(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.store.does(answersIn(time.Hour, nil))
		w.start(options{worker: jobs.Config{Grace: time.Nanosecond}})
		id := w.imported("https://source.example/a.png")
		w.pass(3 * time.Second)
		killed := w.wantJobs(id, records.JobRunning)[0]
		w.stop()
		// As the killed process left it: nothing was settled.
		w.Exec(t, `UPDATE jobs SET state = 'running', owner = ?, instance_id = ?, spool_id = '', leased_until = ? WHERE ref = ?`,
			killed.Owner, killed.InstanceID, w.Now().Add(time.Hour), id)
		if _, err := w.StartInstance(t.Context(), records.Instance{ID: killed.InstanceID, SpoolID: w.spool.ID()}); err != nil {
			t.Fatal(err)
		}
		w.sourceIsDead()
		w.store.fails(nil)
		w.start(options{})
		w.pass(time.Second)
		w.wantArchived(id, picture("/a.png"))
		if n := len(w.source.times("/a.png")); n != 1 {
			t.Errorf("the source was asked %d times, want once", n)
		}
		w.wantEmpty("spool")
	})
}

// What another instance has secured is fetched again as long as the source
// lives. When it does not, nobody but that instance may end the image.
func TestBytesThatAnotherInstanceSecured(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		alive := w.handWritten(records.Generated, "https://source.example/a.png", "elsewhere")
		dead := w.handWritten(records.Generated, "https://source.example/dead.png", "elsewhere")
		failing := w.handWritten(records.Generated, "https://source.example/failing.png", "elsewhere")
		for n, id := range []string{alive, dead, failing} {
			w.job(string(rune('a'+n)), id)
		}
		w.source.answers(func(_ int, r *http.Request) (*http.Response, error) {
			switch r.URL.Path {
			case "/dead.png":
				return answer(404, nil), nil
			case "/failing.png":
				return answer(503, nil), nil
			}
			return ok(picture(r.URL.Path)), nil
		})
		w.start(options{archive: archive.Config{MaxAttempts: 2}})
		w.pass(time.Second)
		w.wantStatus(failing, records.RetryWait, fetch.Odd)
		w.pass(5 * time.Minute)
		w.wantArchived(alive, picture("/a.png"))
		for _, id := range []string{dead, failing} {
			w.wantStatus(id, records.Generated, "")
			if job := w.wantJobs(id, records.JobReady)[0]; job.SpoolID != "elsewhere" {
				t.Errorf("the job is bound to %q", job.SpoolID)
			}
		}
	})
}
