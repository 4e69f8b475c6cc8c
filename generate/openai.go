package generate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// OpenAIConfig says which OpenAI-compatible server makes the images.
type OpenAIConfig = ServerConfig

// openAILinkTTL is how long OpenAI's links live.
const openAILinkTTL = 60 * time.Minute

// OpenAI is any server that speaks OpenAI's images API.
type OpenAI struct {
	api    *api
	models []Model
}

var _ Provider = (*OpenAI)(nil)

// NewOpenAI makes the provider "openai". The error is about BaseURL, which may
// or may not end in "/v1", and says what it accepts.
func NewOpenAI(c ServerConfig) (*OpenAI, error) {
	a, err := newAPI(c, "OPENAI_BASE_URL", "OPENAI_API_KEY", "https://api.openai.com/v1", "Bearer ")
	if err != nil {
		return nil, err
	}
	a.base = strings.TrimSuffix(a.base, "/images/generations")
	if !versionSegment.MatchString(strings.TrimPrefix(a.base, a.origin)) {
		a.base += "/v1"
	}
	return &OpenAI{api: a, models: openAIModels(c.Models)}, nil
}

// versionSegment is the part of a path that names the API's version: v1, v3,
// v1beta. Where there is none, OpenAI's "/v1" is meant.
var versionSegment = regexp.MustCompile(`/v\d+[a-z0-9]*(/|$)`)

// Info describes the provider "openai".
func (p *OpenAI) Info() Info {
	return Info{Name: "openai", Models: p.models, Origins: []string{p.api.origin}, TTL: openAILinkTTL}
}

// Generate makes one call for all images. The bytes of a b64_json answer go
// to emit while the answer is still arriving; it is never held as a whole.
// A revised prompt is known only where the server sends it before the bytes.
func (p *OpenAI) Generate(ctx context.Context, req Request, emit func(Output) error) (Task, error) {
	req.N = max(req.N, 1)
	x, err := p.exchange(req)
	if err != nil {
		return "", err
	}
	answer, err := p.api.send(ctx, x)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	read := readAnswer
	if kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); kind == "text/event-stream" {
		read = readEvents
	}
	err = read(answer.Body, req.N, p.api.maxBytes, func(o Output) error {
		if strings.HasPrefix(o.URL, "/") { // some servers name their own files without the host
			o.URL = p.api.origin + o.URL
		}
		if o.Err != nil {
			o.Err = p.api.clean(o.Err)
		}
		return emit(o)
	})
	if e, ok := errors.AsType[*Error](err); ok && e == err { // ours, not emit's
		return "", p.api.clean(e)
	}
	return "", err
}

// exchange is the request: JSON, or a form with files where there are images
// to start from.
func (p *OpenAI) exchange(req Request) (exchange, error) {
	fields := p.fields(req)
	if len(req.Images) > 0 {
		return p.edit(req, fields)
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return exchange{}, &Error{Reason: ReasonInvalidRequest, Detail: "encode the request", Err: err}
	}
	return exchange{method: http.MethodPost, path: "/images/generations", body: bytes.NewReader(text),
		header: map[string]string{"Content-Type": "application/json"}}, nil
}

// edit names several images "image[]", as OpenAI's own clients do, and a
// single one "image", which older servers know alone.
func (p *OpenAI) edit(req Request, fields map[string]any) (exchange, error) {
	form := newForm()
	for name, value := range fields {
		form.field(name, value)
	}
	name := "image"
	if len(req.Images) > 1 {
		name = "image[]"
	}
	for _, i := range req.Images {
		form.file(name, i)
	}
	if req.Mask != nil {
		form.file("mask", *req.Mask)
	}
	body, length, contentType, err := form.done()
	return exchange{method: http.MethodPost, path: "/images/edits", body: body, length: length,
		header: map[string]string{"Content-Type": contentType}}, err
}
