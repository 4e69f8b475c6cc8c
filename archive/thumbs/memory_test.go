package thumbs_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"afterimage/archive/thumbs"
)

// reader is a file that may fail, or wait before it gives its pixels.
type reader struct {
	file   []byte
	err    error
	gate   chan struct{} // nil: nobody waits
	inside *atomic.Int32 // how many have been asked for their pixels
	asked  bool
}

// ReadAt implements io.ReaderAt. What asks for more than a head decodes.
func (r *reader) ReadAt(p []byte, off int64) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.gate != nil && len(p) > 100 && !r.asked {
		r.asked = true
		r.inside.Add(1)
		<-r.gate
	}
	return bytes.NewReader(r.file).ReadAt(p, off)
}

// A header of a few bytes can claim what takes gigabytes: nothing is allocated
// for what does not fit.
func TestWhatNeedsTooMuchMemoryIsRefusedBeforeItIsTaken(t *testing.T) {
	file := pngOf(corners(8, 8))
	what := identify(t, file)
	what.Width, what.Height = 9000, 9000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := thumbs.New(200<<20).Make(t.Context(), bytes.NewReader(file), int64(len(file)), what)
	runtime.ReadMemStats(&after)
	if _, ok := errors.AsType[*thumbs.UndrawableError](err); !ok || !strings.Contains(err.Error(), "200 are set aside") {
		t.Errorf("the error is %v", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("it took %d bytes to refuse it", took)
	}
}

func TestNoMoreAreDrawnAtOnceThanFit(t *testing.T) {
	for _, c := range []struct {
		name   string
		memory int64
		want   int32
	}{
		{"two at once by default", 0, 2},
		{"one when there is no memory for two", 100 << 20, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				file := pngOf(corners(64, 48))
				what := identify(t, file)
				maker, gate, inside := thumbs.New(c.memory), make(chan struct{}), new(atomic.Int32)
				done := make(chan error)
				for range 4 {
					r := &reader{file: file, gate: gate, inside: inside}
					go func() {
						_, err := maker.Make(t.Context(), r, int64(len(file)), what)
						done <- err
					}()
				}
				synctest.Wait()
				if got := inside.Load(); got != c.want {
					t.Errorf("%d are drawn at once, want %d", got, c.want)
				}
				close(gate)
				for range 4 {
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

func TestAWorkerThatStopsDoesNotWaitForAPicture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := pngOf(corners(64, 48))
		what := identify(t, file)
		maker, gate, inside := thumbs.New(100<<20), make(chan struct{}), new(atomic.Int32)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		for range 2 {
			r := &reader{file: file, gate: gate, inside: inside}
			go func() {
				_, err := maker.Make(ctx, r, int64(len(file)), what)
				done <- err
			}()
		}
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) { // the one that waited
			t.Errorf("the error is %v", err)
		}
		close(gate)
		<-done // the other had its bytes already
	})
}
