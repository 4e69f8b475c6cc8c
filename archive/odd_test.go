package archive_test

import (
	"bytes"
	"testing"
	"time"

	"afterimage/fetch"
	"afterimage/records"
)

// handWritten adds a row that no method of records would write, without a job.
func (w *world) handWritten(status records.Status, sourceURL, spoolID string) string {
	w.t.Helper()
	id := records.NewID()
	w.Exec(w.t, `UPDATE change_heads SET seq = seq + 1 WHERE user_id = ?`, w.user)
	w.Exec(w.t, `INSERT INTO images (id, user_id, seq, status, source_url, spool_id, created_at, updated_at)
		VALUES (?, ?, (SELECT seq FROM change_heads WHERE user_id = ?), ?, ?, ?, ?, ?)`,
		id, w.user, w.user, string(status), sourceURL, spoolID, w.Now(), w.Now())
	return id
}

// job adds an archive job by hand.
func (w *world) job(id, ref string) {
	w.t.Helper()
	w.Exec(w.t, `INSERT INTO jobs (id, kind, ref, state, deadline, run_at, created_at) VALUES (?, 'archive', ?, 'ready', ?, ?, ?)`,
		id, ref, records.Never, w.Now(), w.Now())
}

func TestRowsWrittenByHand(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		const source = "https://source.example/a.png"
		inSpool := w.handWritten(records.Generated, "", w.spool.ID())
		if _, err := w.spool.Write(inSpool, bytes.NewReader(picture("/a.png"))); err != nil {
			t.Fatal(err)
		}
		fine := []string{
			w.handWritten(records.Generated, source, ""),
			w.handWritten(records.Archiving, source, ""),
			w.handWritten(records.RetryWait, source, ""),
			w.handWritten(records.Generated, source, w.spool.ID()), // a promise that is not kept: the file is not there
			inSpool,
		}
		lost := []string{
			w.handWritten(records.Generated, "", ""),
			w.handWritten(records.Generated, "", w.spool.ID()),
		}
		w.start(options{})
		w.pass(time.Minute)
		for _, id := range fine {
			w.wantArchived(id, picture("/a.png"))
		}
		for _, id := range lost {
			if i := w.wantStatus(id, records.ArchiveFailed, fetch.Missing); i.Secured() {
				t.Error("it says that its bytes are secured")
			}
			w.wantJobs(id)
			w.wantEvents(id, "archive_failed "+fetch.Missing)
		}
	})
}

// Bytes that are only on another machine are left to that machine: no other
// may say that they are lost.
func TestBytesInAnotherInstancesSpool(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		id := w.handWritten(records.Generated, "", "elsewhere")
		unbound := w.handWritten(records.Generated, "", "elsewhere")
		w.job("j1", unbound)
		w.start(options{})
		w.pass(5 * time.Minute)
		for _, id := range []string{id, unbound} {
			w.wantStatus(id, records.Generated, "")
			if job := w.wantJobs(id, records.JobReady)[0]; job.SpoolID != "elsewhere" || job.Attempt != 0 {
				t.Errorf("the job is bound to %q with %d attempts, want elsewhere and none", job.SpoolID, job.Attempt)
			}
		}
		if n := w.log.count("another instance's spool"); n != 1 {
			t.Errorf("it was logged %d times, want once", n)
		}
	})
}

func TestJobAboutNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.job("j-unknown", "nosuchimage")
		w.start(options{})
		w.pass(time.Minute)
		if job := w.wantJobs("nosuchimage", records.JobDiscarded)[0]; job.LastError == "" {
			t.Error("the job does not say why it was discarded")
		}
		if w.log.count("it was discarded\" job=j-unknown") != 1 {
			t.Errorf("the log does not name the job once:\n%s", w.log)
		}
	})
}

func TestJobWhoseImageHasMovedOn(t *testing.T) {
	for _, status := range []records.Status{records.Archived, records.ArchiveFailed, records.Canceled, records.GenerateFailed, records.Unknown} {
		t.Run(string(status), func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				id := w.handWritten(status, "https://source.example/a.png", "")
				w.job("j1", id)
				before := *w.image(id)
				w.start(options{})
				w.pass(time.Minute)
				w.wantJobs(id)
				if after := *w.image(id); after.Status != status || after.Seq != before.Seq {
					t.Errorf("the image was changed: %+v", after)
				}
				if n := len(w.source.times("/a.png")); n > 0 {
					t.Errorf("the source was asked %d times", n)
				}
			})
		})
	}
}

// An id that can be no object's key ends where people can see it.
func TestImageWhoseIDCannotBeAKey(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		id := w.handWritten(records.Generated, "https://source.example/a.png", "")
		w.Exec(t, `UPDATE images SET id = 'Not A Key' WHERE id = ?`, id)
		w.start(options{})
		w.pass(5 * time.Minute)
		if i := w.image("Not A Key"); i.Status != records.ArchiveFailed {
			t.Errorf("the image is %s %q, want archive_failed\n%s", i.Status, i.Reason, w.log)
		}
		if _, _, paused := w.archiver.Paused(); paused {
			t.Error("the store is paused")
		}
	})
}
