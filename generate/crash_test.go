package generate_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"afterimage/generate"
	"afterimage/records"
)

// Killed in the middle of a call: nobody knows whether it was paid for, so it
// is not made again; one that costs nothing simply is.
func TestCrashDuringACall(t *testing.T) {
	tests := []struct {
		name     string
		provider func() *played
		began    bool
		status   records.GenerationStatus
		images   []string
		calls    []time.Duration
	}{
		{"of a paid provider", func() *played { return paid(emits(body(0), body(1))) }, true,
			records.GenerationUnknown, []string{"unknown unknown_outcome", "unknown unknown_outcome"}, nil},
		{"of a paid provider, just before it", func() *played { return paid(emits(body(0), body(1))) }, false,
			records.GenerationSucceeded, []string{"generated", "generated"}, []time.Duration{0}},
		{"of one that costs nothing", func() *played { return free(emits(body(0), body(1))) }, true,
			records.GenerationSucceeded, []string{"generated", "generated"}, []time.Duration{0}},
		{"of the demo", func() *played { return nil }, true,
			records.GenerationSucceeded, []string{"generated", "generated"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, test.provider, func(t *testing.T, w *world) {
				id := w.crashed(2, test.began)
				w.start()
				w.pass(time.Minute)
				w.wantImages(id, test.images...)
				w.wantGeneration(id, test.status, map[bool]string{true: generate.ReasonUnknownOutcome}[test.status == records.GenerationUnknown])
				w.wantJob(id, "")
				if w.provider != nil {
					w.wantCalls(test.calls...)
				}
			})
		})
	}
}

// Killed between the spool's write and the note of it: those bytes are paid
// for and cannot be had again.
func TestBytesInTheSpoolOutliveACrash(t *testing.T) {
	tests := []struct {
		name     string
		provider func() *played
		file     []byte
		want     []string
		spooled  int
	}{
		{"a paid image is taken up", func() *played { return paid(says(errors.New("never called"))) }, picture(),
			[]string{"unknown unknown_outcome", "generated"}, 1},
		{"even if its provider is not set up any more", func() *played { p := paid(nil); p.info.Name = "renamed"; return p }, picture(),
			[]string{"unknown unknown_outcome", "generated"}, 1},
		{"what is no image is not", func() *played { return paid(says(errors.New("never called"))) }, []byte("<html>"),
			[]string{"unknown unknown_outcome", "generate_failed provider_error"}, 0},
		{"the rest is made again where it costs nothing", func() *played { return free(emits(body(0))) }, picture(),
			[]string{"generated", "generated"}, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, test.provider, func(t *testing.T, w *world) {
				name := w.provider.info.Name
				if name == "renamed" {
					w.provider.info.Name = "paid"
				}
				id := w.crashed(2, true)
				w.provider.info.Name = name
				_, images, err := w.Generation(t.Context(), w.user, id)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.spool.Write(images[1].ID, bytes.NewReader(test.file)); err != nil {
					t.Fatal(err)
				}
				w.start()
				w.sweeps()
				w.wantImages(id, test.want...)
				w.wantJob(id, "")
				w.wantSpool(test.spooled)
			})
		})
	}
}

// Cancelled in the middle: what was made stays, the rest is called off, and
// what the provider still gives leaves nothing behind.
func TestCancelInTheMiddle(t *testing.T) {
	play := func(_ context.Context, _ int, _ generate.Request, emit func(generate.Output) error) error {
		for n := range 3 {
			if err := emit(body(n)); err != nil {
				return err
			}
			time.Sleep(10 * time.Second)
		}
		return nil
	}
	bubble(t, func() *played { return paid(play) }, func(t *testing.T, w *world) {
		w.start()
		id := w.asks(3, nil)
		w.pass(time.Second)
		if err := w.CancelGeneration(t.Context(), w.user, id); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		w.wantImages(id, "generated", "canceled", "canceled")
		w.wantGeneration(id, records.GenerationSucceeded, "")
		w.wantJob(id, "")
		w.wantSpool(1)
	})
}

// A stop in the middle: what costs nothing is given back as it was; a paid
// call that was cut off is not made again.
func TestStopInTheMiddle(t *testing.T) {
	hangs := func(ctx context.Context, nth int, req generate.Request, emit func(generate.Output) error) error {
		if nth > 1 {
			return emits(body(0))(ctx, nth, req, emit)
		}
		if err := emit(body(0)); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
	unsent := func(ctx context.Context, nth int, req generate.Request, emit func(generate.Output) error) error {
		if nth > 1 {
			return emits(body(0), body(1))(ctx, nth, req, emit)
		}
		<-ctx.Done()
		return &generate.Error{Reason: generate.ReasonProviderError, Retryable: true, Err: context.Cause(ctx)}
	}
	tests := []struct {
		name     string
		provider func() *played
		stopped  []string
		job      string
		restart  []string
	}{
		{"of one that costs nothing", func() *played { return free(hangs) },
			[]string{"generated", "generating"}, records.JobReady, []string{"generated", "generated"}},
		{"of a paid one", func() *played { return paid(hangs) },
			[]string{"generated", "unknown unknown_outcome"}, "", []string{"generated", "unknown unknown_outcome"}},
		{"of a paid one that nothing was sent to", func() *played { return paid(unsent) },
			[]string{"generating", "generating"}, records.JobReady, []string{"generated", "generated"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, test.provider, func(t *testing.T, w *world) {
				w.start()
				id := w.asks(2, nil)
				w.pass(time.Second)
				w.stop()
				w.wantImages(id, test.stopped...)
				if job := w.wantJob(id, test.job); job != nil && (job.Attempt != 0 || job.Crashes != 0) {
					t.Errorf("%d attempts and %d crashes were counted", job.Attempt, job.Crashes)
				}
				w.start()
				w.pass(time.Second)
				w.wantImages(id, test.restart...)
				w.wantJob(id, "")
			})
		})
	}
}

func TestPanic(t *testing.T) {
	panics := func(ctx context.Context, nth int, req generate.Request, emit func(generate.Output) error) error {
		if nth == 1 {
			if err := emit(body(0)); err != nil {
				return err
			}
			panic("a bug")
		}
		return emits(body(0))(ctx, nth, req, emit)
	}
	tests := []struct {
		name     string
		provider func() *played
		want     []string
	}{
		{"in a paid call", func() *played { return paid(panics) }, []string{"generated", "unknown unknown_outcome"}},
		{"in one that costs nothing", func() *played { return free(panics) }, []string{"generated", "generated"}},
		{"every time", func() *played {
			return free(func(context.Context, int, generate.Request, func(generate.Output) error) error { panic("a bug") })
		}, []string{"generate_failed provider_error", "generate_failed provider_error"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, test.provider, func(t *testing.T, w *world) {
				w.start()
				id := w.asks(2, nil)
				w.pass(20 * time.Minute)
				w.wantImages(id, test.want...)
				w.wantJob(id, "")
			})
		})
	}
}

// Nothing is bought that could not be kept.
func TestDiskIsAwayBeforeACall(t *testing.T) {
	bubble(t, func() *played { return paid(emits(body(0))) }, func(t *testing.T, w *world) {
		drafts := filepath.Join(w.dir, "spool", ".tmp")
		if err := os.Remove(drafts); err != nil {
			t.Fatal(err)
		}
		w.start()
		id := w.asks(1, nil)
		w.pass(time.Hour / 4)
		w.wantImages(id, "generating")
		w.wantCalls()
		if err := os.Mkdir(drafts, 0o700); err != nil {
			t.Fatal(err)
		}
		w.pass(6 * time.Second)
		w.wantImages(id, "generated")
		w.wantCalls(0)
	})
}

func TestDiskGoesAwayDuringACall(t *testing.T) {
	play := func(drafts string) player {
		return func(ctx context.Context, nth int, req generate.Request, emit func(generate.Output) error) error {
			if nth == 1 {
				if err := os.Remove(drafts); err != nil {
					return err
				}
				time.AfterFunc(time.Minute, func() { os.Mkdir(drafts, 0o700) })
			}
			return emits(body(0), link(1))(ctx, nth, req, emit)
		}
	}
	tests := []struct {
		name     string
		provider func() *played
		want     []string
	}{
		{"of one that costs nothing: it is made again", func() *played { return free(nil) }, []string{"generated", "generated"}},
		{"of a paid one: the others are kept", func() *played { return paid(nil) }, []string{"unknown unknown_outcome", "generated"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, test.provider, func(t *testing.T, w *world) {
				w.provider.play = play(filepath.Join(w.dir, "spool", ".tmp"))
				w.start()
				id := w.asks(2, nil)
				w.pass(2 * time.Minute)
				w.wantImages(id, test.want...)
			})
		})
	}
}

// The database goes away while a paid image is in our hands: it waits for the
// database, instead of being given up as unknown.
func TestDatabaseIsAwayWhenAnImageIsMade(t *testing.T) {
	bubble(t, func() *played { return paid(nil) }, func(t *testing.T, w *world) {
		w.provider.play = func(ctx context.Context, nth int, req generate.Request, emit func(generate.Output) error) error {
			w.Exec(t, `ALTER TABLE image_events RENAME TO away`)
			time.AfterFunc(time.Minute, func() { w.Exec(t, `ALTER TABLE away RENAME TO image_events`) })
			return emits(link(0), body(1))(ctx, nth, req, emit)
		}
		w.start()
		id := w.asks(2, nil)
		w.pass(2 * time.Minute)
		w.wantImages(id, "generated", "generated")
		w.wantGeneration(id, records.GenerationSucceeded, "")
		w.wantCalls(0)
	})
}

// Stopped while a paid image is secured and the database does not take the
// note of it: the next run takes it up.
func TestStopBeforeASecuredImageIsRecorded(t *testing.T) {
	bubble(t, func() *played { return paid(nil) }, func(t *testing.T, w *world) {
		w.provider.play = func(ctx context.Context, nth int, req generate.Request, emit func(generate.Output) error) error {
			w.Exec(t, `ALTER TABLE image_events RENAME TO away`)
			return emits(body(0), body(1))(ctx, nth, req, emit)
		}
		w.start()
		id := w.asks(2, nil)
		w.pass(time.Second)
		w.stop()
		w.Exec(t, `ALTER TABLE away RENAME TO image_events`)
		if job := w.wantJob(id, records.JobReady); job.SpoolID != w.spool.ID() {
			t.Errorf("the job is bound to spool %q, but only we have the bytes", job.SpoolID)
		}
		w.start()
		w.pass(time.Second)
		w.wantImages(id, "generated", "unknown unknown_outcome")
		w.wantCalls(0)
	})
}

func TestJobAboutNothing(t *testing.T) {
	bubble(t, func() *played { return paid(emits()) }, func(t *testing.T, w *world) {
		w.Exec(t, `INSERT INTO jobs (id, kind, ref, state, deadline, run_at, created_at) VALUES ('j-unknown', 'generate', 'nosuch', 'ready', ?, ?, ?)`,
			records.Never, w.Now(), w.Now())
		w.start()
		w.sweeps()
		if job := w.wantJob("nosuch", records.JobDiscarded); job.LastError == "" {
			t.Error("the job does not say why")
		}
		if w.log.count("it was discarded\" job=j-unknown") != 1 {
			t.Errorf("the log does not name the job once:\n%s", w.log)
		}
	})
}

func TestJobWhoseGenerationHasMovedOn(t *testing.T) {
	bubble(t, func() *played { return paid(emits(body(0))) }, func(t *testing.T, w *world) {
		id := w.asks(1, nil)
		w.Exec(t, `UPDATE generations SET status = 'succeeded', finished_at = ? WHERE id = ?`, w.Now(), id)
		w.Exec(t, `UPDATE images SET status = 'generate_failed' WHERE generation_id = ?`, id)
		w.start()
		w.pass(time.Minute)
		w.wantJob(id, "")
		w.wantImages(id, "generate_failed")
		w.wantCalls()
	})
}
