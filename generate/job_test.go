package generate_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"time"

	"afterimage/generate"
	"afterimage/records"
)

func TestEachImageIsRecordedAsSoonAsItIsMade(t *testing.T) {
	slow := func(_ context.Context, _ int, req generate.Request, emit func(generate.Output) error) error {
		for n := range req.N {
			time.Sleep(10 * time.Second)
			if err := emit(body(req.N - 1 - n)); err != nil {
				return err
			}
		}
		return nil
	}
	bubble(t, func() *played { return paid(slow) }, func(t *testing.T, w *world) {
		w.start()
		id := w.asks(3, nil)
		w.pass(5 * time.Second)
		w.wantImages(id, "generating", "generating", "generating")
		w.pass(10 * time.Second)
		w.wantImages(id, "generating", "generating", "generated")
		w.pass(10 * time.Second)
		w.wantImages(id, "generating", "generated", "generated")
		w.wantGeneration(id, records.GenerationGenerating, "")
		w.pass(10 * time.Second)
		images := w.wantImages(id, "generated", "generated", "generated")
		w.wantGeneration(id, records.GenerationSucceeded, "")
		w.wantJob(id, "")
		w.wantSpool(3)
		for _, i := range images {
			if i.SHA256 != fmt.Sprintf("%x", sha256.Sum256(picture())) || i.Bytes != int64(len(picture())) ||
				i.MIME != "image/png" || i.Width != 20 || i.Height != 10 || i.SpoolID != w.spool.ID() {
				t.Errorf("the row does not describe the picture: %+v", i)
			}
		}
		w.wantCalls(0)
	})
}

func TestLinksAndWhenTheyDie(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	inTwoHours := fmt.Sprintf("https://made.example/a.png?Expires=%d&Signature=x", now.Add(2*time.Hour).Unix())
	tests := []struct {
		name string
		out  generate.Output
		ttl  time.Duration
		want time.Duration // from now; 0: unknown
	}{
		{"the link says it", generate.Output{URL: inTwoHours}, time.Hour, 2 * time.Hour},
		{"the provider says it", generate.Output{URL: "https://made.example/a.png", Expires: now.Add(3 * time.Hour)}, time.Hour, 3 * time.Hour},
		{"both say it: the sooner", generate.Output{URL: inTwoHours, Expires: now.Add(3 * time.Hour)}, 0, 2 * time.Hour},
		{"nobody says it: the provider's rule", generate.Output{URL: "https://made.example/a.png"}, time.Hour, time.Hour},
		{"nobody knows", generate.Output{URL: "https://made.example/a.png"}, 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func() *played {
				p := paid(emits(test.out))
				p.info.TTL = test.ttl
				return p
			}, func(t *testing.T, w *world) {
				w.start()
				id := w.asks(1, nil)
				w.pass(time.Second)
				i := w.wantImages(id, "generated")[0]
				if i.SourceURL != test.out.URL {
					t.Errorf("source %q, want %q, byte for byte", i.SourceURL, test.out.URL)
				}
				if got := i.SourceExpiresAt; test.want == 0 != got.IsZero() || test.want > 0 && got.Sub(now.Add(test.want)).Abs() > time.Second {
					t.Errorf("it dies at %v, want in %v", got, test.want)
				}
			})
		})
	}
}

// What a provider may do wrong with one image is that image's failure, and
// the others are kept.
func TestOneBadImageDoesNotTakeTheOthersAlong(t *testing.T) {
	refused := &generate.Error{Reason: generate.ReasonRefused, Message: "no faces"}
	badText := &generate.Error{Reason: generate.ReasonProviderError, Detail: "the base64 is broken"}
	dataURL := "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture())
	tests := []struct {
		name    string
		outputs []generate.Output // for three images
		want    []string
		spooled int
	}{
		{"all are there", []generate.Output{body(0), link(1), body(2)}, []string{"generated", "generated", "generated"}, 2},
		{"in any order", []generate.Output{body(2), body(0), body(1)}, []string{"generated", "generated", "generated"}, 3},
		{"one is refused", []generate.Output{body(0), {Index: 1, Err: refused}, body(2)}, []string{"generated", "generate_failed refused", "generated"}, 2},
		{"one is missing", []generate.Output{body(0), body(2)}, []string{"generated", "generate_failed provider_error", "generated"}, 2},
		{"one is a page", []generate.Output{body(0), {Index: 1, Body: bytes.NewReader([]byte("<html>"))}, body(2)}, []string{"generated", "generate_failed provider_error", "generated"}, 2},
		{"one is empty", []generate.Output{body(0), {Index: 1, Body: bytes.NewReader(nil)}, body(2)}, []string{"generated", "generate_failed provider_error", "generated"}, 2},
		{"one is cut short", []generate.Output{body(0), {Index: 1, Body: bytes.NewReader(picture()[:40])}, body(2)}, []string{"generated", "generate_failed provider_error", "generated"}, 2},
		{"one is too large", []generate.Output{body(0), {Index: 1, Body: bytes.NewReader(make([]byte, 1001))}, body(2)}, []string{"generated", "generate_failed provider_error", "generated"}, 2},
		{"one has broken text", []generate.Output{body(0), {Index: 1, Body: errReader{badText}}, body(2)}, []string{"generated", "generate_failed provider_error", "generated"}, 2},
		{"one breaks off: who knows", []generate.Output{body(0), {Index: 1, Body: errReader{errors.New("connection reset")}}, body(2)}, []string{"generated", "unknown unknown_outcome", "generated"}, 2},
		{"one is nothing", []generate.Output{body(0), {Index: 1}, body(2)}, []string{"generated", "generate_failed provider_error", "generated"}, 2},
		{"one comes twice", []generate.Output{body(0), body(0), link(0), {Index: 0, Err: refused}, body(1), body(2)}, []string{"generated", "generated", "generated"}, 3},
		{"there are more than asked for", []generate.Output{body(0), body(3), body(-1), body(1), body(2), body(99)}, []string{"generated", "generated", "generated"}, 3},
		{"one is in its own link", []generate.Output{body(0), {Index: 1, URL: dataURL}, body(2)}, []string{"generated", "generated", "generated"}, 3},
		{"one's own link holds a page", []generate.Output{body(0), {Index: 1, URL: "DATA:,<html>"}, body(2)}, []string{"generated", "generate_failed provider_error", "generated"}, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func() *played { return paid(emits(test.outputs...)) }, func(t *testing.T, w *world) {
				w.maxBytes = 1000
				w.start()
				id := w.asks(3, nil)
				w.pass(time.Second)
				w.wantImages(id, test.want...)
				w.wantGeneration(id, records.GenerationSucceeded, "")
				w.wantJob(id, "")
				w.wantSpool(test.spooled)
				w.wantCalls(0)
			})
		})
	}
}

// errReader gives the start of a picture and breaks off.
type errReader struct{ err error }

func (r errReader) Read(p []byte) (int, error) { return copy(p, picture()[:30]), r.err }

func TestCallFails(t *testing.T) {
	refused := &generate.Error{Reason: generate.ReasonRefused, Message: "That picture is not allowed.", Detail: "status 400"}
	throttled := func(after time.Duration) error {
		return &generate.Error{Reason: generate.ReasonThrottled, Retryable: true, RetryAfter: after, Detail: "status 429"}
	}
	const s = time.Second
	tests := []struct {
		name   string
		err    error
		status records.GenerationStatus
		image  string
		calls  []time.Duration
	}{
		{"refused is final", refused, records.GenerationFailed, "generate_failed refused", []time.Duration{0}},
		{"throttled is tried five times", throttled(0), records.GenerationFailed, "generate_failed throttled", []time.Duration{0, 5 * s, 15 * s, 35 * s, 75 * s}},
		{"nobody knows", &generate.Error{Reason: generate.ReasonUnknownOutcome}, records.GenerationUnknown, "unknown unknown_outcome", []time.Duration{0}},
		{"an error nobody sorted", errors.New("odd"), records.GenerationUnknown, "unknown unknown_outcome", []time.Duration{0}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func() *played { return paid(says(test.err)) }, func(t *testing.T, w *world) {
				w.start()
				id := w.asks(2, nil)
				w.pass(5 * time.Minute)
				images := w.wantImages(id, test.image, test.image)
				g := w.wantGeneration(id, test.status, images[0].Reason)
				w.wantJob(id, "")
				w.wantCalls(test.calls...)
				if e, ok := errors.AsType[*generate.Error](test.err); ok && (g.ProviderMessage != e.Message || images[0].ProviderMessage != e.Message) {
					t.Errorf("the person is told %q and %q, want %q", g.ProviderMessage, images[0].ProviderMessage, e.Message)
				}
			})
		})
	}
}

// Who comes back when he was told to has not used up a try.
func TestRetryAfterIsObeyed(t *testing.T) {
	play := func(_ context.Context, nth int, req generate.Request, emit func(generate.Output) error) error {
		if nth <= 7 {
			return &generate.Error{Reason: generate.ReasonThrottled, Retryable: true, RetryAfter: 20 * time.Second}
		}
		return emits(body(0))(nil, nth, req, emit)
	}
	bubble(t, func() *played { return paid(play) }, func(t *testing.T, w *world) {
		w.start()
		id := w.asks(1, nil)
		w.pass(5 * time.Minute)
		w.wantImages(id, "generated")
		const s = time.Second
		w.wantCalls(0, 20*s, 40*s, 60*s, 80*s, 100*s, 120*s, 140*s)
	})
}

func TestThrottledCallAsksOnlyForWhatIsMissing(t *testing.T) {
	play := func(_ context.Context, nth int, req generate.Request, emit func(generate.Output) error) error {
		if nth == 1 {
			return errors.Join(emit(body(1)), &generate.Error{Reason: generate.ReasonThrottled, Retryable: true, RetryAfter: 2 * time.Second})
		}
		return emits(body(0), body(1))(nil, nth, req, emit)
	}
	bubble(t, func() *played { return paid(play) }, func(t *testing.T, w *world) {
		w.start()
		id := w.asks(3, nil)
		w.pass(time.Second)
		w.wantImages(id, "generating", "generated", "generating")
		w.wantGeneration(id, records.GenerationGenerating, "")
		w.pass(time.Minute)
		w.wantImages(id, "generated", "generated", "generated")
		w.wantGeneration(id, records.GenerationSucceeded, "")
		if n := w.provider.asked[1].N; n != 2 {
			t.Errorf("the second call asked for %d images, want the 2 that were missing", n)
		}
	})
}

// With a seed each image has its own. When the one in the middle is there
// already, the others were asked for as if their seeds followed one another,
// and the last came out like the one in the middle.
func TestMissingImagesKeepTheirSeeds(t *testing.T) {
	bubble(t, func() *played { return free(emits(body(0))) }, func(t *testing.T, w *world) {
		id := w.asks(3, records.Params{"seed": int64(40)})
		w.Exec(t, `UPDATE images SET status = 'archived' WHERE generation_id = ? AND position = 1`, id)
		w.start()
		w.pass(time.Second)
		w.wantGeneration(id, records.GenerationSucceeded, "")
		var seeds []int64
		for _, r := range w.provider.asked {
			if r.N != 1 || !r.HasSeed {
				t.Errorf("a call asked for %d images", r.N)
			}
			seeds = append(seeds, r.Seed)
		}
		if fmt.Sprint(seeds) != "[40 42]" {
			t.Errorf("asked for seeds %v, want 40 and 42", seeds)
		}
	})
}

func TestDemoEndToEnd(t *testing.T) {
	bubble(t, func() *played { return nil }, func(t *testing.T, w *world) {
		w.start()
		id := w.asks(3, records.Params{"seed": int64(7)})
		w.pass(time.Minute)
		images := w.wantImages(id, "generated", "generated", "generated")
		for n, i := range images {
			if seed, ok := i.Params.Int("seed"); !ok || seed != int64(7+n) || i.Width != 64 || i.Height != 48 {
				t.Errorf("image %d has seed %d and %dx%d", n, seed, i.Width, i.Height)
			}
		}
		w.wantSpool(3)
	})
}

func TestProviderIsNotSetUpAnyMore(t *testing.T) {
	bubble(t, func() *played { return nil }, func(t *testing.T, w *world) {
		w.start()
		id := w.asksOf("gone", 2, nil)
		w.sweeps()
		w.wantImages(id, "generate_failed model_missing", "generate_failed model_missing")
		w.wantGeneration(id, records.GenerationFailed, generate.ReasonModelMissing)
	})
}

func TestLinksAreInNoLog(t *testing.T) {
	bubble(t, func() *played {
		return paid(emits(link(0), link(1), link(1), link(7), generate.Output{Index: 2, Body: errReader{errors.New("x")}}))
	}, func(t *testing.T, w *world) {
		w.start()
		id := w.asks(4, nil)
		w.pass(time.Second)
		w.wantImages(id, "generated", "generated", "unknown unknown_outcome", "generate_failed provider_error")
		var n int
		w.Get(t, &n, `SELECT count(*) FROM image_events WHERE detail LIKE ?`, "%"+secret+"%")
		if n > 0 || w.log.count(secret) > 0 {
			t.Errorf("%d events and the log hold the link's secret:\n%s", n, w.log)
		}
	})
}
