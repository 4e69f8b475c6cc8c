package generate

import (
	"testing"
	"time"
)

// The bodies are those of Model Studio's reference:
// https://www.alibabacloud.com/help/en/model-studio/text-to-image-v2-api-reference
// and https://docs.qwencloud.com/api-reference/image-generation/wan-text-to-image-v2/query-result,
// the codes those of https://www.alibabacloud.com/help/en/model-studio/error-code.
const (
	dashRoute = "POST /api/v1/services/aigc/text2image/image-synthesis"
	dashPoll  = "GET /api/v1/tasks/0385dc79"

	dashPending = `{"output":{"task_status":"PENDING","task_id":"0385dc79"},"request_id":"4909100c-7b5a"}`
	dashRunning = `{"request_id":"e5d70b02","output":{"task_id":"0385dc79","task_status":"RUNNING","task_metrics":{"TOTAL":4,"SUCCEEDED":1,"FAILED":0}}}`
	dashPartly  = `{"request_id":"85eaba38","output":{"task_id":"0385dc79","task_status":"SUCCEEDED","submit_time":"2026-01-08 14:00:04.123","end_time":"2026-01-08 14:00:13.210",
		"results":[{"orig_prompt":"a flower shop","actual_prompt":"A flower shop with exquisite windows","url":"https://dashscope-result-wlcb.oss-cn-wulanchabu.aliyuncs.com/1d/a.png?Expires=1767938405&OSSAccessKeyId=LTAI&Signature=x%2By%3D"},
		{"code":"InternalError.Timeout","message":"An internal timeout error has occurred during execution, please try again later or contact service support."},
		{"code":"DataInspectionFailed","message":"Output data may contain inappropriate content."}],
		"task_metrics":{"TOTAL":3,"SUCCEEDED":1,"FAILED":2}},"usage":{"image_count":1}}`
	dashChoices = `{"request_id":"815505c6","output":{"task_id":"0385dc79","task_status":"SUCCEEDED","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":[{"image":"https://dashscope-463f.oss-accelerate.aliyuncs.com/x.png?Expires=1768036000","type":"image"}]}},
		{"finish_reason":"stop","message":{"role":"assistant","content":[{"image":"https://dashscope-463f.oss-accelerate.aliyuncs.com/y.png?Expires=1768036000","type":"image"}]}}],"finished":true},"usage":{"image_count":2,"size":"1280*1280"}}`
)

func dashScopeOf(c ServerConfig) Provider {
	p, err := NewDashScope(c)
	if err != nil {
		panic(err)
	}
	return p
}

func TestDashScopeItemsFailOneByOne(t *testing.T) {
	s := newStandIn(t, map[string][]reply{dashRoute: {{200, "", dashPending}},
		dashPoll: {{200, "", dashPending}, {503, "", ""}, {504, "", ""}, {200, "", dashRunning}, {200, "", dashPartly}}})
	out, task, err := through(t, dashScopeOf(s.config()), Request{Model: "wan2.2-t2i-flash", Prompt: "a flower shop", NegativePrompt: "people", N: 3,
		Width: 1280, Height: 720, Seed: 9, HasSeed: true, Params: map[string]any{"watermark": "false", "quality": "high"}})
	wantOutputs(t, out, err,
		got{URL: "https://dashscope-result-wlcb.oss-cn-wulanchabu.aliyuncs.com/1d/a.png?Expires=1767938405&OSSAccessKeyId=LTAI&Signature=x%2By%3D", Revised: "A flower shop with exquisite windows"},
		got{Index: 1, Reason: ReasonProviderError, Message: "An internal timeout error has occurred during execution, please try again later or contact service support."},
		got{Index: 2, Reason: ReasonRefused, Message: "Output data may contain inappropriate content."})
	if task != "0385dc79" || s.times(dashRoute) != 1 {
		t.Errorf("task %q after %v", task, s.asked)
	}
	body := s.json(t, dashRoute)
	input, parameters := body["input"].(map[string]any), body["parameters"].(map[string]any)
	if body["model"] != "wan2.2-t2i-flash" || input["prompt"] != "a flower shop" || input["negative_prompt"] != "people" ||
		parameters["size"] != "1280*720" || parameters["n"] != 3.0 || parameters["seed"] != 9.0 || parameters["watermark"] != false || len(parameters) != 4 {
		t.Errorf("sent %v", body)
	}
	if s.heads[dashRoute].Get("X-DashScope-Async") != "enable" || s.heads[dashRoute].Get("Authorization") != "Bearer "+testKey {
		t.Errorf("headers %v", s.heads[dashRoute])
	}
}

func TestDashScopeNewerModels(t *testing.T) {
	const route = "POST /api/v1/services/aigc/image-generation/generation"
	s := newStandIn(t, map[string][]reply{route: {{200, "", dashPending}}, dashPoll: {{200, "", dashChoices}}})
	out, _, err := through(t, dashScopeOf(s.config()), Request{Model: "wan2.6-t2i", Prompt: "x", N: 2})
	wantOutputs(t, out, err, got{URL: "https://dashscope-463f.oss-accelerate.aliyuncs.com/x.png?Expires=1768036000"},
		got{Index: 1, URL: "https://dashscope-463f.oss-accelerate.aliyuncs.com/y.png?Expires=1768036000"})
}

func TestDashScopeStartsFromImages(t *testing.T) {
	const route = "POST /api/v1/services/aigc/image2image/image-synthesis"
	s := newStandIn(t, map[string][]reply{route: {{200, "", dashPending}}, dashPoll: {{200, "", dashPartly}}})
	if _, _, err := through(t, dashScopeOf(s.config()), Request{Model: "wan2.5-i2i-preview", Prompt: "x", N: 1, Images: []Picture{aPicture("hi")}}); err != nil {
		t.Fatal(err)
	}
	if images := s.json(t, route)["input"].(map[string]any)["images"].([]any); len(images) != 1 || images[0] != "data:image/png;base64,aGk=" {
		t.Errorf("sent %v", images)
	}
}

func TestDashScopeTasksThatFail(t *testing.T) {
	for _, f := range []failure{
		{"refused", reply{200, "", `{"output":{"task_id":"0385dc79","task_status":"FAILED","code":"DataInspectionFailed","message":"Input data may contain inappropriate content."}}`}, ReasonRefused, false, 0, "inappropriate"},
		{"a protected figure", reply{200, "", `{"output":{"task_status":"FAILED","code":"IPInfringementSuspect","message":"Input data is suspected of being involved in IP infringement."}}`}, ReasonRefused, false, 0, "IP infringement"},
		{"bad size", reply{200, "", `{"output":{"task_status":"FAILED","code":"InvalidParameter","message":"The size is not match xxxxxx"}}`}, ReasonInvalidRequest, false, 0, "size"},
		{"it broke", reply{200, "", `{"output":{"task_status":"FAILED","code":"InternalError","message":"The request processing has failed due to some unknown error"}}`}, ReasonProviderError, false, 0, ""},
		{"canceled", reply{200, "", `{"output":{"task_status":"CANCELED"}}`}, ReasonProviderError, false, 0, ""},
		{"a day old", reply{200, "", `{"request_id":"a4de7c32","output":{"task_id":"0385dc79","task_status":"UNKNOWN"}}`}, ReasonUnknownOutcome, false, 0, ""},
		{"a state nobody knows", reply{200, "", `{"output":{"task_status":"NEW"}}`}, ReasonProviderError, true, 0, ""},
	} {
		t.Run(f.name, func(t *testing.T) {
			s := newStandIn(t, map[string][]reply{dashPoll: {f.answer}})
			_, err := polled(t, dashScopeOf(s.config()).(Tasker), "0385dc79")
			wantError(t, err, f)
		})
	}
}

func TestDashScopeSortsErrors(t *testing.T) {
	checkFailures(t, dashRoute, append([]failure{
		{"too many", reply{429, "", `{"code":"Throttling.RateQuota","message":"Requests rate limit exceeded, please try again later.","request_id":"x"}`}, ReasonThrottled, true, 0, ""},
		{"allocation", reply{429, "", `{"code":"Throttling.AllocationQuota","message":"Allocated quota exceeded, please increase your quota limit."}`}, ReasonThrottled, true, 0, ""},
		{"throttled with another status", reply{400, "", `{"code":"Throttling","message":"Request limit exceeded. Please retry after 30s."}`}, ReasonThrottled, true, 30 * time.Second, ""},
		{"refused", reply{400, "", `{"code":"DataInspectionFailed","message":"Input data may contain inappropriate content.","request_id":"x"}`}, ReasonRefused, false, 0, "inappropriate"},
		{"bad parameter", reply{400, "", `{"code":"InvalidParameter","message":"num_images_per_prompt must be 1"}`}, ReasonInvalidRequest, false, 0, "must be 1"},
		{"bad key", reply{401, "", `{"code":"InvalidApiKey","message":"Invalid API-key provided."}`}, ReasonAuth, false, 0, ""},
		{"no asynchronous calls", reply{403, "", `{"code":"AccessDenied","message":"current user api does not support asynchronous calls"}`}, ReasonAuth, false, 0, ""},
		{"not paid", reply{400, "", `{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing."}`}, ReasonQuota, false, 0, "good standing"},
		{"no such model", reply{404, "", `{"code":"ModelNotFound","message":"Model can not be found."}`}, ReasonModelMissing, false, 0, ""},
		{"an error in a 200", reply{200, "", `{"code":"DataInspectionFailed","message":"no"}`}, ReasonRefused, false, 0, "no"},
		{"accepted without an id", reply{200, "", `{"output":{}}`}, ReasonUnknownOutcome, false, 0, ""},
	}, broken...), dashScopeOf)
}

func TestDashScopeCancels(t *testing.T) {
	for _, status := range []int{200, 400} { // one that runs already cannot be: UnsupportedOperation
		s := newStandIn(t, map[string][]reply{"POST /api/v1/tasks/0385dc79/cancel": {{status, "", `{"code":"UnsupportedOperation","message":"Failed to cancel the task, please confirm if the task is in PENDING status."}`}}})
		if err := dashScopeOf(s.config()).(Tasker).Cancel(t.Context(), "0385dc79"); err != nil {
			t.Errorf("with %d: %v", status, err)
		}
	}
}
