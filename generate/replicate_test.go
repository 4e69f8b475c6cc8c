package generate

import (
	"testing"
	"time"
)

// The bodies are those of https://replicate.com/docs/reference/http,
// https://replicate.com/docs/topics/predictions/rate-limits and the sample of
// a prediction that Replicate's webhooks carry, with the ids shortened.
const (
	replicateRoute = "POST /v1/models/black-forest-labs/flux-schnell/predictions"
	replicatePoll  = "GET /v1/predictions/qz7mfx"

	replicateStarting = `{"id":"qz7mfx","model":"black-forest-labs/flux-schnell","version":"a3f1c9","input":{"prompt":"x"},"logs":null,"output":null,"error":null,"status":"starting","created_at":"2026-07-14T09:12:03.221000Z","source":"api","data_removed":false,"started_at":null,"completed_at":null,"metrics":{},"urls":{"web":"https://replicate.com/p/qz7mfx","get":"https://api.replicate.com/v1/predictions/qz7mfx","cancel":"https://api.replicate.com/v1/predictions/qz7mfx/cancel"}}`
	replicateWorking  = `{"id":"qz7mfx","status":"processing","output":null,"error":null,"logs":"Using seed: 1\n  0%|          | 0/4 [00:00<?, ?it/s]\n 50%|#####     | 2/4 [00:00<00:00]\n"}`
	replicateDone     = `{"id":"qz7mfx","status":"succeeded","output":["https://replicate.delivery/xezq/a/out-0.webp","https://replicate.delivery/xezq/b/out-1.webp"],"error":null,"logs":"","metrics":{"predict_time":0.5}}`
)

func replicateOf(c ServerConfig) Provider {
	p, err := NewReplicate(c)
	if err != nil {
		panic(err)
	}
	return p
}

func TestReplicate(t *testing.T) {
	s := newStandIn(t, map[string][]reply{replicateRoute: {{201, "", replicateStarting}},
		replicatePoll: {{200, "", replicateStarting}, {503, "", "busy"}, {429, "Retry-After: 1", `{}`}, {200, "", replicateWorking}, {200, "", replicateDone}}})
	out, task, err := through(t, replicateOf(s.config()), Request{Prompt: "a dog", N: 2, Width: 1344, Height: 768, Seed: 7, HasSeed: true,
		Params: map[string]any{"output_format": "png", "size": "1344x768", "seed": 7.0}})
	wantOutputs(t, out, err, got{Progress: .5},
		got{Index: 0, URL: "https://replicate.delivery/xezq/a/out-0.webp"}, got{Index: 1, URL: "https://replicate.delivery/xezq/b/out-1.webp"})
	if task != "qz7mfx" || s.times(replicateRoute) != 1 {
		t.Errorf("task %q after %v", task, s.asked)
	}
	input := s.json(t, replicateRoute)["input"].(map[string]any)
	if input["prompt"] != "a dog" || input["aspect_ratio"] != "16:9" || input["num_outputs"] != 2.0 || input["seed"] != 7.0 || input["output_format"] != "png" || len(input) != 5 {
		t.Errorf("sent %v", input)
	}
	if prefer := s.heads[replicateRoute].Get("Prefer"); prefer != "" {
		t.Errorf("Prefer: %s: the id would come only with the images", prefer)
	}
}

func TestReplicateOutputsOfAnyShape(t *testing.T) {
	for _, test := range []struct {
		name, output string
		want         []got
		reason       string
	}{
		{"one link", `"https://replicate.delivery/a.png"`, []got{{URL: "https://replicate.delivery/a.png"}}, ""},
		{"a list", `["https://h/0.png","https://h/1.png"]`, []got{{URL: "https://h/0.png"}, {Index: 1, URL: "https://h/1.png"}}, ""},
		{"an object, in its order", `{"text":"hello","b":"https://h/0.png","a":["https://h/1.png"]}`, []got{{URL: "https://h/0.png"}, {Index: 1, URL: "https://h/1.png"}}, ""},
		{"a data URL", `["data:image/png;base64,aGk="]`, []got{{URL: "data:image/png;base64,aGk="}}, ""},
		{"text alone", `"a picture of a dog"`, nil, ReasonProviderError},
		{"removed", `null`, nil, ReasonUnknownOutcome},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStandIn(t, map[string][]reply{replicatePoll: {{200, "", `{"id":"qz7mfx","status":"succeeded","output":` + test.output + `}`}}})
			out, err := polled(t, replicateOf(s.config()).(Tasker), "qz7mfx")
			if test.reason != "" {
				wantError(t, err, failure{reason: test.reason})
				return
			}
			wantOutputs(t, out, err, test.want...)
		})
	}
}

func TestReplicateTasksThatFail(t *testing.T) {
	for _, f := range []failure{
		{"nsfw", reply{200, "", `{"id":"qz7mfx","status":"failed","output":null,"error":"NSFW content detected. Try running it again, or try a different prompt."}`}, ReasonRefused, false, 0, "NSFW content detected"},
		{"flagged", reply{200, "", `{"id":"qz7mfx","status":"failed","error":"The input or output was flagged as sensitive. Please try again with different inputs. (E005)"}`}, ReasonRefused, false, 0, "flagged as sensitive"},
		{"out of memory", reply{200, "", `{"id":"qz7mfx","status":"failed","error":"CUDA out of memory."}`}, ReasonProviderError, false, 0, "CUDA"},
		{"canceled elsewhere", reply{200, "", `{"id":"qz7mfx","status":"canceled","error":null}`}, ReasonProviderError, false, 0, ""},
		{"aborted", reply{200, "", `{"id":"qz7mfx","status":"aborted","error":null}`}, ReasonProviderError, false, 0, ""},
		{"forgotten", reply{404, "", `{"detail":"The requested resource could not be found.","status":404}`}, ReasonUnknownOutcome, false, 0, ""},
		{"nobody answers", reply{502, "", "<html>"}, ReasonUnknownOutcome, true, 0, ""},
		{"the key went bad", reply{401, "", `{"title":"Unauthenticated","detail":"You did not pass a valid authentication token","status":401}`}, ReasonAuth, true, 0, ""},
	} {
		t.Run(f.name, func(t *testing.T) {
			s := newStandIn(t, map[string][]reply{replicatePoll: {f.answer}})
			_, err := polled(t, replicateOf(s.config()).(Tasker), "qz7mfx")
			wantError(t, err, f)
		})
	}
}

func polled(t *testing.T, p Tasker, task Task) (out []got, err error) {
	t.Helper()
	_, err = p.Poll(t.Context(), task, func(o Output) error {
		g := got{Index: o.Index, URL: o.URL, Revised: o.RevisedPrompt, Progress: o.Progress}
		if o.Err != nil {
			g.Reason, g.Message = o.Err.Reason, o.Err.Message
		}
		out = append(out, g)
		return nil
	})
	return out, err
}

func TestReplicateSortsErrors(t *testing.T) {
	checkFailures(t, replicateRoute, append([]failure{
		{"throttled, low on credit", reply{429, "", `{"detail":"Request was throttled. Your rate limit resets in ~30s."}`}, ReasonThrottled, true, 30 * time.Second, ""},
		{"throttled", reply{429, "", `{"detail":"Request was throttled. Expected available in 1 second."}`}, ReasonThrottled, true, time.Second, ""},
		{"no such model", reply{404, "", `{"detail":"The requested resource could not be found.","status":404}`}, ReasonModelMissing, false, 0, ""},
		{"bad token", reply{401, "", `{"title":"Unauthenticated","detail":"You did not pass a valid authentication token","status":401}`}, ReasonAuth, false, 0, ""},
		{"no credit", reply{402, "", `{"title":"Insufficient credit","detail":"You have insufficient credit to run this model.","status":402}`}, ReasonQuota, false, 0, "insufficient credit"},
		{"bad input", reply{422, "", `{"title":"Input validation failed","detail":"- input.num_outputs: Must be less than or equal to 4\n","status":422,"invalid_fields":[{"type":"number_lte","field":"input.num_outputs","description":"Must be less than or equal to 4"}]}`}, ReasonInvalidRequest, false, 0, "less than or equal"},
		{"accepted without an id", reply{201, "", `{"status":"starting"}`}, ReasonUnknownOutcome, false, 0, ""},
	}, broken...), replicateOf)
}

func TestReplicateCancels(t *testing.T) {
	for _, status := range []int{200, 422, 404} {
		s := newStandIn(t, map[string][]reply{"POST /v1/predictions/qz7mfx/cancel": {{status, "", `{}`}}})
		if err := replicateOf(s.config()).(Tasker).Cancel(t.Context(), "qz7mfx"); err != nil {
			t.Errorf("with %d: %v", status, err)
		}
	}
	s := newStandIn(t, map[string][]reply{"POST /v1/predictions/qz7mfx/cancel": {{503, "", ``}}})
	if replicateOf(s.config()).(Tasker).Cancel(t.Context(), "qz7mfx") == nil {
		t.Error("a cancel that nobody heard is no success")
	}
}

func TestReplicateStartsFromImages(t *testing.T) {
	const route = "POST /v1/models/black-forest-labs/flux-kontext-pro/predictions"
	s := newStandIn(t, map[string][]reply{"POST /v1/files": {{201, "", `{"id":"f1","name":"image-1.png","content_type":"image/png","size":5,"urls":{"get":"{base}/v1/files/f1"}}`}},
		route: {{201, "", replicateStarting}}, replicatePoll: {{200, "", replicateDone}}})
	_, _, err := through(t, replicateOf(s.config()), Request{Model: "black-forest-labs/flux-kontext-pro", Prompt: "add a hat", N: 1, Images: []Picture{aPicture("bytes")}})
	if err != nil {
		t.Fatal(err)
	}
	if input := s.json(t, route)["input"].(map[string]any); input["input_image"] != s.URL+"/v1/files/f1" {
		t.Errorf("sent %v", input)
	}
	t.Run("an upload that breaks off has bought nothing", func(t *testing.T) {
		s := newStandIn(t, map[string][]reply{"POST /v1/files": {{status: 0}}})
		_, _, err := through(t, replicateOf(s.config()), Request{Model: "black-forest-labs/flux-kontext-pro", Prompt: "x", N: 1, Images: []Picture{aPicture("b")}})
		wantError(t, err, failure{reason: ReasonProviderError, retryable: true})
	})
}

func TestReplicateVersions(t *testing.T) {
	s := newStandIn(t, map[string][]reply{"POST /v1/predictions": {{201, "", replicateStarting}}, replicatePoll: {{200, "", replicateDone}}})
	if _, _, err := through(t, replicateOf(s.config()), Request{Model: "me/mine:abc123", Prompt: "x", N: 1}); err != nil {
		t.Fatal(err)
	}
	if body := s.json(t, "POST /v1/predictions"); body["version"] != "abc123" {
		t.Errorf("sent %v", body)
	}
}
