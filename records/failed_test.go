package records_test

import (
	"testing"
	"time"

	"afterimage/records"
)

// An operator mends the storage and presses Retry all: what was given up
// starts anew, what waits is tried at once, and nothing else is touched.
func TestRetryFailed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann, bob := w.person("ann"), w.person("bob")
		images := append(w.imports(ann, 4), w.importItems(bob, records.ImportItem{URL: "https://other.example/1.png"})...)
		state := func(n int, status, reason string) {
			w.Exec(t, `UPDATE images SET status = ?, reason = ?, attempt = 3, updated_at = ? WHERE id = ?`, status, reason, w.Now(), images[n].ID)
		}
		jobState := func(n int, state string) {
			w.Exec(t, `UPDATE jobs SET state = ?, run_at = ? WHERE ref = ?`, state, w.Now().Add(time.Hour), images[n].ID)
		}
		state(0, "archive_failed", "source_error")
		jobState(0, "discarded")
		state(1, "retry_wait", "source_error")
		jobState(1, "waiting")
		state(2, "archive_failed", "source_corrupt")
		jobState(2, "discarded")
		state(3, "archive_failed", "source_error") // with nothing left to archive from
		jobState(3, "discarded")
		w.Exec(t, `UPDATE images SET source_url = '' WHERE id = ?`, images[3].ID)
		state(4, "archive_failed", "source_error")
		jobState(4, "discarded")

		failures, err := w.Failures(t.Context(), w.Now().Add(-time.Hour))
		want := []records.Failure{{Status: records.ArchiveFailed, Reason: "source_error", N: 3, Retryable: 2},
			{Status: records.ArchiveFailed, Reason: "source_corrupt", N: 1, Retryable: 1},
			{Status: records.RetryWait, Reason: "source_error", N: 1, Retryable: 1}}
		if err != nil || len(failures) != len(want) {
			t.Fatalf("%+v (%v)", failures, err)
		}
		for n, f := range failures {
			if f != want[n] {
				t.Errorf("failure %d: %+v, want %+v", n, f, want[n])
			}
		}

		if n, err := w.RetryFailed(t.Context(), "source_error"); n != 3 || err != nil {
			t.Fatalf("retried %d (%v), want 3", n, err)
		}
		for n, want := range map[int]records.Status{0: records.Generated, 1: records.RetryWait, 2: records.ArchiveFailed, 3: records.ArchiveFailed, 4: records.Generated} {
			if i, err := w.Image(t.Context(), images[n].UserID, images[n].ID); err != nil || i.Status != want {
				t.Errorf("image %d is %v (%v), want %s", n, i.Status, err, want)
			}
		}
		if got := len(w.claims(records.KindArchive, 10)); got != 3 {
			t.Errorf("%d jobs are ready, want 3", got)
		}
		if n, err := w.RetryFailed(t.Context(), "source_error"); n != 0 || err != nil {
			t.Errorf("again: %d (%v), want none", n, err)
		}
	})
}

// Two instances see the same five minutes: what they archived adds up, and of
// the rest the worse is kept.
func TestSamplesOfSeveralInstancesAreOne(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		at := records.At(w.Now().Truncate(records.SampleStep))
		for _, s := range []records.Sample{
			{At: at.Add(time.Minute), Archiving: 7, Oldest: 900, Archived: 10, Bytes: 100, P95: 40, Slots: 2},
			{At: at.Add(4 * time.Minute), Archiving: 5, Oldest: 1200, Archived: 1, Bytes: 5, P95: 30, Slots: 4},
		} {
			if err := w.AddSample(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		list, err := w.Samples(t.Context(), at)
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v (%v)", list, err)
		}
		want := records.Sample{At: at, Archiving: 7, Oldest: 1200, Archived: 11, Bytes: 105, P95: 40, Slots: 4}
		if got := list[0]; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}
