package generate

import (
	"bytes"
	"mime"
	"mime/multipart"
	"slices"
	"strings"
	"testing"
)

// The events are those of
// https://platform.openai.com/docs/api-reference/images-streaming, with the
// images shortened; the third form is one that its SDKs read as well.
const openAIEvents = `event: image_generation.partial_image
data: {"type":"image_generation.partial_image","b64_json":"cDA=","created_at":1620000000,"size":"1024x1024","quality":"high","background":"transparent","output_format":"png","partial_image_index":0}

: keepalive, as some gateways send it between events and which may be a long line that nobody has to read at all, of more than a hundred bytes

event: image_generation.partial_image
data: {"type":"image_generation.partial_image","b64_json":"cDE=","partial_image_index":1}

event: image_generation.completed
data: {"type":"image_generation.completed","b64_json":"aGk=","created_at":1620000000,"size":"1024x1024","quality":"high","background":"transparent","output_format":"png","usage":{"total_tokens":100,"input_tokens":50,"output_tokens":50,"input_tokens_details":{"text_tokens":10,"image_tokens":40}}}

`

var openAIEventsGot = []got{{Partial: true, Body: "p0"}, {Partial: true, PartialIndex: 1, Body: "p1"}, {Body: "hi"}}

func TestOpenAIStreams(t *testing.T) {
	for _, test := range []struct {
		name, stream string
		want         []got
		reason       string
	}{
		{"partial images and the finished one", openAIEvents, openAIEventsGot, ""},
		{"with carriage returns", strings.ReplaceAll(openAIEvents, "\n", "\r\n"), openAIEventsGot, ""},
		{"with an end of its own", openAIEvents + "data: [DONE]\n\n", openAIEventsGot, ""},
		{"without event lines, the type last", "data: {\"b64_json\":\"cDA=\",\"partial_image_index\":0,\"type\":\"image_generation.partial_image\"}\n\ndata: {\"b64_json\":\"aGk=\",\"type\":\"image_generation.completed\"}\n\n",
			[]got{{Partial: true, Body: "p0"}, {Body: "hi"}}, ""},
		{"the finished one first", "data: {\"type\":\"image_generation.completed\",\"b64_json\":\"aGk=\"}\n\ndata: {\"type\":\"image_generation.partial_image\",\"b64_json\":\"cDA=\"}\n\n",
			[]got{{Body: "hi"}, {Index: 1, Partial: true, Body: "p0"}}, ""},
		{"an edit", strings.ReplaceAll(openAIEvents, "image_generation.", "image_edit."), openAIEventsGot, ""},
		{"refused in the middle", "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"image_generation_user_error\",\"code\":\"moderation_blocked\",\"message\":\"no\",\"param\":null}}\n\n", nil, ReasonRefused},
		{"it ends without the image", openAIEvents[:strings.Index(openAIEvents, "event: image_generation.completed")], openAIEventsGot[:2], ReasonUnknownOutcome},
		{"it breaks off in the image", openAIEvents[:strings.Index(openAIEvents, "aGk=")+2], openAIEventsGot[:2], ReasonUnknownOutcome},
		{"nothing at all", "", nil, ReasonUnknownOutcome},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStandIn(t, map[string][]reply{"POST /v1/images/generations": {{200, "Content-Type: text/event-stream", test.stream}}})
			p, err := NewOpenAI(s.config())
			if err != nil {
				t.Fatal(err)
			}
			out, _, err := through(t, p, Request{Prompt: "x", N: 1, Partials: 2})
			if test.reason != "" {
				wantError(t, err, failure{reason: test.reason})
				err = nil
			}
			wantOutputs(t, out, err, test.want...)
			if body := s.json(t, "POST /v1/images/generations"); body["stream"] != true || body["partial_images"] != 2.0 {
				t.Errorf("sent %v", body)
			}
		})
	}
}

func TestOpenAIAnswersWithoutAStream(t *testing.T) {
	s := newStandIn(t, map[string][]reply{"POST /v1/images/generations": {{200, "", `{"created":1,"data":[{"b64_json":"aGk="}]}`}}})
	p, _ := NewOpenAI(s.config())
	out, _, err := through(t, p, Request{Prompt: "x", N: 1, Partials: 2})
	wantOutputs(t, out, err, got{Body: "hi"})
}

func TestOpenAIEdits(t *testing.T) {
	const route = "POST /v1/images/edits"
	for name, images := range map[string][]Picture{"image": {aPicture("one")}, "image[]": {aPicture("one"), aPicture("two")}} {
		t.Run(name, func(t *testing.T) {
			s := newStandIn(t, map[string][]reply{route: {{200, "", `{"created":1,"data":[{"b64_json":"aGk="}]}`}}})
			p, _ := NewOpenAI(s.config())
			mask := aPicture("mask")
			out, _, err := through(t, p, Request{Model: "gpt-image-1.5", Prompt: "a hat", N: 1, Images: images, Mask: &mask, Params: map[string]any{"input_fidelity": "high", "size": "x"}})
			wantOutputs(t, out, err, got{Body: "hi"})
			_, params, _ := mime.ParseMediaType(s.heads[route].Get("Content-Type"))
			form, err := multipart.NewReader(bytes.NewReader(s.sent[route]), params["boundary"]).ReadForm(1 << 20)
			if err != nil {
				t.Fatal(err)
			}
			var files []string
			for field, list := range form.File {
				for _, f := range list {
					files = append(files, field+" "+f.Header.Get("Content-Type"))
				}
			}
			if len(form.File[name]) != len(images) || len(form.File["mask"]) != 1 || form.Value["prompt"][0] != "a hat" || form.Value["input_fidelity"][0] != "high" ||
				form.Value["model"][0] != "gpt-image-1.5" || slices.Contains(files, name+" ") {
				t.Errorf("sent %v %v", form.Value, files)
			}
			if s.heads[route].Get("Content-Length") == "" {
				t.Error("the length was not said")
			}
		})
	}
}
