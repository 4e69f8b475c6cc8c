package generate_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"afterimage/generate"
	"afterimage/records"
)

func TestTaskThatTakesSevenMinutes(t *testing.T) {
	tasks(t, 7*time.Minute, func(t *testing.T, w *world, v *vendor) {
		w.start()
		id := w.asksOf("dashscope", 3, nil)
		w.pass(time.Second)
		w.wantImages(id, "generating", "generating", "generating")
		if g := w.wantGeneration(id, records.GenerationGenerating, ""); len(g.Calls) != 1 || g.Calls[0].Task != "t-1" {
			t.Fatalf("the task's name was not kept at once: %+v", g.Calls)
		}
		w.pass(8 * time.Minute)
		images := w.wantImages(id, "generated", "generate_failed refused", "generated")
		w.wantGeneration(id, records.GenerationSucceeded, "")
		w.wantJob(id, "")
		if images[1].ProviderMessage != "Output data may contain inappropriate content." {
			t.Errorf("the person is told %q", images[1].ProviderMessage)
		}
		if polls := v.times("GET"); polls < 80 || polls > 120 {
			t.Errorf("it was asked %d times in 7 minutes", polls)
		}
	})
}

func TestTaskOutlivesItsProcess(t *testing.T) {
	t.Run("that stops in good order", func(t *testing.T) {
		tasks(t, 7*time.Minute, func(t *testing.T, w *world, v *vendor) {
			w.start()
			id := w.asksOf("dashscope", 3, nil)
			w.pass(time.Minute)
			w.stop()
			w.wantImages(id, "generating", "generating", "generating")
			w.pass(time.Hour) // it is done long since
			w.start()
			w.pass(10 * time.Second)
			w.wantImages(id, "generated", "generate_failed refused", "generated")
		})
	})
	for name, test := range map[string]struct {
		calls records.Calls
		want  []string
	}{
		"that was killed with the task's name": {records.Calls{{ID: "c", Positions: []int{0, 1, 2}, Task: "t-1"}}, []string{"generated", "generate_failed refused", "generated"}},
		"that was killed before it had the name": {records.Calls{{ID: "c", Positions: []int{0, 1, 2}}},
			[]string{"unknown unknown_outcome", "unknown unknown_outcome", "unknown unknown_outcome"}},
		"that was killed in the second call": {records.Calls{{ID: "c", Positions: []int{0}, Done: true}, {ID: "d", Positions: []int{2, 1}, Task: "t-1"}},
			[]string{"unknown unknown_outcome", "generate_failed refused", "generated"}},
	} {
		t.Run(name, func(t *testing.T) {
			tasks(t, 0, func(t *testing.T, w *world, v *vendor) {
				calls := slices.Clone(test.calls) // each database has its own
				for n := range calls {
					calls[n].At = w.Now()
				}
				id := w.asksOf("dashscope", 3, nil)
				_, claimed, err := w.Advance(t.Context(), nil, records.ClaimRequest{Kind: records.KindGenerate, Limit: 1, InstanceID: "killed", TTL: time.Minute})
				if err != nil || len(claimed) != 1 {
					t.Fatalf("claimed %v: %v", claimed, err)
				}
				if err := w.BeginCall(t.Context(), claimed[0].Fence(), id, calls); err != nil {
					t.Fatal(err)
				}
				w.pass(time.Minute)
				if _, err := w.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
				w.start()
				w.pass(time.Minute)
				w.wantImages(id, test.want...)
				if v.times("image-synthesis") > 0 {
					t.Errorf("it was bought again: %v", v.asked)
				}
			})
		})
	}
}

func TestCancelReachesTheProvider(t *testing.T) {
	t.Run("at once, while its task runs", func(t *testing.T) {
		tasks(t, time.Hour, func(t *testing.T, w *world, v *vendor) {
			w.start()
			id := w.asksOf("dashscope", 2, nil)
			w.pass(10 * time.Second)
			if err := w.CancelGeneration(t.Context(), w.user, id); err != nil {
				t.Fatal(err)
			}
			w.pass(100 * time.Millisecond)
			if v.times("/tasks/t-1/cancel") == 0 {
				t.Fatalf("the provider was not told: %v\n%s", v.asked, w.log)
			}
			polls := v.times("GET")
			w.pass(time.Minute)
			w.wantImages(id, "canceled", "canceled")
			w.wantGeneration(id, records.GenerationCanceled, "")
			w.wantJob(id, "")
			if v.times("GET") != polls {
				t.Error("it was asked about after that")
			}
		})
	})
	t.Run("by the next process, if none ran", func(t *testing.T) {
		tasks(t, time.Hour, func(t *testing.T, w *world, v *vendor) {
			w.start()
			id := w.asksOf("dashscope", 2, nil)
			w.pass(10 * time.Second)
			w.stop()
			if err := w.CancelGeneration(t.Context(), w.user, id); err != nil {
				t.Fatal(err)
			}
			w.start()
			w.pass(time.Second)
			if v.times("/tasks/t-1/cancel") != 1 {
				t.Fatalf("the provider was told %v", v.asked)
			}
			w.wantImages(id, "canceled", "canceled")
			w.wantJob(id, "")
		})
	})
	t.Run("where there is no task the call itself ends", func(t *testing.T) {
		bubble(t, func() *played { return nil }, func(t *testing.T, w *world) {
			ended := make(chan struct{})
			v := &vendor{answer: func(_ *vendor, r *http.Request) (int, string) {
				<-r.Context().Done()
				close(ended)
				return 0, ""
			}}
			p, err := generate.NewOpenAI(v.config())
			if err != nil {
				t.Fatal(err)
			}
			w.more = append(w.more, p)
			w.start()
			id := w.asksOf("openai", 1, nil)
			w.pass(time.Second)
			if err := w.CancelGeneration(t.Context(), w.user, id); err != nil {
				t.Fatal(err)
			}
			w.pass(100 * time.Millisecond)
			select {
			case <-ended:
			default:
				t.Error("the call goes on")
			}
			w.wantImages(id, "canceled")
		})
	})
}

// A provider that is still at it when the time is up may have been paid: the
// outcome is unknown, and it is asked until it forgets.
func TestTaskOfUnknownOutcomeIsAskedAboutAgain(t *testing.T) {
	t.Run("until it is done", func(t *testing.T) {
		tasks(t, 40*time.Minute, func(t *testing.T, w *world, v *vendor) {
			w.start()
			id := w.asksOf("dashscope", 3, nil)
			w.pass(20 * time.Minute)
			w.wantImages(id, "unknown unknown_outcome", "unknown unknown_outcome", "unknown unknown_outcome")
			w.wantGeneration(id, records.GenerationUnknown, "unknown_outcome")
			w.pass(30 * time.Minute)
			images := w.wantImages(id, "generated", "generate_failed refused", "generated")
			w.wantGeneration(id, records.GenerationSucceeded, "")
			w.wantJob(id, "")
			var unknown int
			w.Get(t, &unknown, `SELECT count(*) FROM image_events WHERE image_id = ? AND kind = 'unknown'`, images[0].ID)
			if unknown != 1 {
				t.Errorf("people are told %d times", unknown)
			}
		})
	})
	t.Run("or until the provider forgets it", func(t *testing.T) {
		bubble(t, func() *played { return nil }, func(t *testing.T, w *world) {
			v := &vendor{answer: func(v *vendor, r *http.Request) (int, string) { return 201, `{"id":"p","status":"processing"}` }}
			p, err := generate.NewReplicate(v.config())
			if err != nil {
				t.Fatal(err)
			}
			w.more = append(w.more, p)
			w.start()
			id := w.asksOf("replicate", 1, nil)
			w.pass(70 * time.Minute)
			w.wantImages(id, "unknown unknown_outcome")
			w.wantJob(id, records.JobWaiting)
			w.pass(15 * time.Minute)
			w.wantImages(id, "unknown unknown_outcome")
			w.wantJob(id, "")
		})
	})
}

func TestDeadLinkIsResolved(t *testing.T) {
	tasks(t, 0, func(t *testing.T, w *world, v *vendor) {
		w.start()
		id := w.asksOf("dashscope", 3, nil)
		w.pass(5 * time.Second)
		images := w.wantImages(id, "generated", "generate_failed refused", "generated")
		w.pass(time.Hour)
		link, expires, err := w.runner.Resolve(t.Context(), &images[2])
		if err != nil || link == images[2].SourceURL || !strings.HasPrefix(link, "https://oss.example/2.png?") {
			t.Fatalf("got %q until %v: %v", link, expires, err)
		}
		for name, image := range map[string]*records.Image{"failed": &images[1], "imported": {Provider: "dashscope"}, "of another provider": {Provider: "demo", GenerationID: &id}} {
			if link, _, err := w.runner.Resolve(t.Context(), image); link != "" || err != nil {
				t.Errorf("an image that was %s has the link %q: %v", name, link, err)
			}
		}
		v.answer = func(*vendor, *http.Request) (int, string) { return 503, "" }
		if link, _, err := w.runner.Resolve(t.Context(), &images[2]); link != "" || err == nil {
			t.Errorf("got %q from a provider that does not answer: %v", link, err)
		}
		v.answer = func(*vendor, *http.Request) (int, string) { return 200, `{"output":{"task_status":"UNKNOWN"}}` }
		if link, _, err := w.runner.Resolve(t.Context(), &images[2]); link != "" || err != nil {
			t.Errorf("got %q from a provider that has forgotten: %v", link, err)
		}
	})
}
