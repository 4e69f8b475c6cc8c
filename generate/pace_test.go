package generate_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"afterimage/generate"
	"afterimage/records"
)

// A 429 pauses the whole provider, in each of the ways to say for how long;
// then one call goes first.
func TestThrottlePausesTheWholeProvider(t *testing.T) {
	for name, test := range map[string]struct {
		body  string
		pause time.Duration
	}{
		"in the text":         {`{"detail":"Request was throttled. Your rate limit resets in ~30s."}`, 30 * time.Second},
		"in the older text":   {`{"detail":"Request was throttled. Expected available in 1 second."}`, time.Second},
		"or not said at all":  {`{}`, 5 * time.Second},
		"as Replicate begins": {`{"detail":"Request was throttled. Your rate limit resets in ~6s."}`, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func() *played { return nil }, func(t *testing.T, w *world) {
				v := &vendor{answer: func(v *vendor, r *http.Request) (int, string) {
					switch {
					case r.Method == http.MethodGet:
						return 200, `{"id":"p","status":"succeeded","output":"https://replicate.delivery/a.png"}`
					case v.times("POST") == 1:
						return 429, test.body
					}
					time.Sleep(time.Second)
					return 201, `{"id":"p","status":"starting"}`
				}}
				p, err := generate.NewReplicate(v.config())
				if err != nil {
					t.Fatal(err)
				}
				w.more = append(w.more, p)
				first := w.asksOf("replicate", 1, nil)
				w.start()
				w.pass(100 * time.Millisecond)
				ids := []string{first}
				for range 20 {
					ids = append(ids, w.asksOf("replicate", 1, nil))
				}
				free := w.asksOf("demo", 1, nil)
				w.pass(500 * time.Millisecond)
				w.wantImages(free, "generated")
				w.wantImages(ids[7], "queued") // and not as if somebody were at it
				w.pass(2 * time.Minute)
				for _, id := range ids {
					w.wantImages(id, "generated")
				}
				second := v.at[1].Sub(v.at[0])
				if second < test.pause || second > test.pause+time.Second {
					t.Errorf("the next call came after %v, want %v", second, test.pause)
				}
				if again := v.at[2].Sub(v.at[1]); again < time.Second {
					t.Errorf("another call came %v after the first: one should go first", again)
				}
			})
		})
	}
}

// Some of n may fail: dall-e-3 makes one a call, and each is its own.
func TestCallsOfOneGeneration(t *testing.T) {
	bubble(t, func() *played { return nil }, func(t *testing.T, w *world) {
		v := &vendor{answer: func(v *vendor, r *http.Request) (int, string) {
			switch v.times("POST") {
			case 2:
				return 500, `{"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}`
			case 3:
				return 502, `<html>`
			}
			return 200, `{"created":1,"data":[{"url":"https://oai.example/a.png"}]}`
		}}
		c := v.config()
		c.Models = []string{"dall-e-3"}
		p, err := generate.NewOpenAI(c)
		if err != nil {
			t.Fatal(err)
		}
		w.more = append(w.more, p)
		w.start()
		id := w.asksOf("openai", 4, nil)
		w.pass(time.Minute)
		w.wantImages(id, "generated", "generate_failed provider_error", "unknown unknown_outcome", "generated")
		w.wantGeneration(id, records.GenerationSucceeded, "")
		w.wantJob(id, "")
		if n := v.times("POST"); n != 4 {
			t.Errorf("%d calls for 4 images", n)
		}
	})
}

func TestProgressIsShown(t *testing.T) {
	bubble(t, func() *played { return nil }, func(t *testing.T, w *world) {
		v := &vendor{answer: func(v *vendor, r *http.Request) (int, string) {
			if r.Method == http.MethodPost {
				return 201, `{"id":"p","status":"starting"}`
			}
			return 200, `{"id":"p","status":"processing","logs":" 50%|#####     | 2/4"}`
		}}
		p, err := generate.NewReplicate(v.config())
		if err != nil {
			t.Fatal(err)
		}
		w.more = append(w.more, p)
		w.start()
		id := w.asksOf("replicate", 1, nil)
		sights, stop := w.runner.Watch(id)
		defer stop()
		w.pass(10 * time.Second)
		if g := w.wantGeneration(id, records.GenerationGenerating, ""); g.Progress != 50 {
			t.Errorf("it is at %d per cent", g.Progress)
		}
		if s := <-sights; s.Progress != .5 {
			t.Errorf("who watches sees %+v", s)
		}
	})
}

// 200 generations at once through four providers, of which one throttles and
// one hangs: the others keep their pace.
func TestOneProviderDoesNotSlowTheOthers(t *testing.T) {
	bubble(t, func() *played {
		return free(func(ctx context.Context, _ int, _ generate.Request, emit func(generate.Output) error) error {
			time.Sleep(time.Second)
			return emit(link(0))
		})
	}, func(t *testing.T, w *world) {
		steady := &vendor{answer: func(*vendor, *http.Request) (int, string) {
			time.Sleep(time.Second)
			return 200, `{"created":1,"data":[{"url":"https://oai.example/a.png"}]}`
		}}
		var mu sync.Mutex // several calls come at once
		var room time.Time
		throttling := &vendor{answer: func(_ *vendor, r *http.Request) (int, string) { // takes one in ten seconds
			mu.Lock()
			defer mu.Unlock()
			switch {
			case r.Method == http.MethodGet:
				return 200, `{"output":{"task_status":"SUCCEEDED","results":[{"url":"https://oss.example/a.png"}]}}`
			case time.Now().Before(room):
				return 429, `{"code":"Throttling.RateQuota","message":"Requests rate limit exceeded, please try again later."}`
			}
			room = time.Now().Add(10 * time.Second)
			return 200, `{"output":{"task_status":"PENDING","task_id":"t"}}`
		}}
		hanging := &vendor{answer: func(*vendor, *http.Request) (int, string) { return 0, "" }}
		openai, err1 := generate.NewOpenAI(steady.config())
		dashscope, err2 := generate.NewDashScope(throttling.config())
		replicate, err3 := generate.NewReplicate(hanging.config())
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		w.more = []generate.Provider{openai, dashscope, replicate}
		ids := map[string][]string{}
		for range 50 {
			for _, name := range []string{"replicate", "dashscope", "openai", "free"} {
				ids[name] = append(ids[name], w.asksOf(name, 1, nil))
			}
		}
		w.start()
		// 50 calls of a second through 4 slots take 13 s.
		w.pass(15 * time.Second)
		for _, name := range []string{"openai", "free"} {
			for _, id := range ids[name] {
				w.wantImages(id, "generated")
			}
		}
		made := 0
		for _, id := range ids["dashscope"] {
			g, _, err := w.Generation(t.Context(), w.user, id)
			if err != nil {
				t.Fatal(err)
			}
			if g.Status == records.GenerationSucceeded {
				made++
			}
		}
		if n := hanging.times("POST"); n != 8 || made == 0 {
			t.Errorf("%d calls hang, want the 8 that are allowed; the one that throttles made %d", n, made)
		}
		t.Logf("after 15 s: openai 50, free 50, dashscope (throttling) %d of 50 in %d calls, replicate (hanging) 0 of 50 in 8 calls", made, throttling.times("POST"))
		w.stop()
	})
}
