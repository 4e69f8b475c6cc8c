package generate

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Replicate makes images by predictions: tasks that go on without us.
type Replicate struct {
	api    *api
	models []Model
}

var _ Tasker = (*Replicate)(nil)

// NewReplicate makes the provider "replicate".
func NewReplicate(c ServerConfig) (*Replicate, error) {
	a, err := newAPI(c, "REPLICATE_BASE_URL", "REPLICATE_API_TOKEN", "https://api.replicate.com", "Bearer ")
	if err != nil {
		return nil, err
	}
	a.base = strings.TrimSuffix(a.base, "/v1") + "/v1"
	return &Replicate{api: a, models: replicateModels(c.Models)}, nil
}

// Info describes the provider. What an API prediction made is removed after an
// hour, and what it says of it too.
func (p *Replicate) Info() Info {
	return Info{Name: "replicate", Models: p.models, Origins: []string{p.api.origin},
		TTL: time.Hour, TaskTTL: time.Hour, Slots: 8}
}

// prediction is what the API says of one.
type prediction struct {
	ID          string          `json:"id"`
	Status      string          `json:"status"`
	Output      json.RawMessage `json:"output"`
	Error       any             `json:"error"` // text, mostly
	Logs        string          `json:"logs"`
	DataRemoved bool            `json:"data_removed"`
}

// Generate starts a prediction. It does not ask the server to wait for it
// (Prefer: wait): its id would come only with the images, and be lost with the
// connection.
func (p *Replicate) Generate(ctx context.Context, req Request, _ func(Output) error) (Task, error) {
	if req.Model == "" {
		req.Model = p.models[0].Name
	}
	input, err := p.input(ctx, req)
	if err != nil {
		return "", err
	}
	x, body := exchange{method: http.MethodPost, path: "/predictions"}, map[string]any{"input": input}
	if name, version, ok := strings.Cut(req.Model, ":"); ok {
		body["version"] = version
	} else {
		owner, model, _ := strings.Cut(name, "/")
		x.path = "/models/" + url.PathEscape(owner) + "/" + url.PathEscape(model) + "/predictions"
	}
	var made prediction
	if err := p.api.json(ctx, x, body, &made); err != nil {
		if e, ok := err.(*Error); ok && e.Status == http.StatusNotFound {
			e.Reason = ReasonModelMissing
		}
		return "", err
	}
	if made.ID == "" {
		return "", &Error{Reason: ReasonUnknownOutcome, Detail: "the prediction was accepted without an id"}
	}
	return Task(made.ID), nil
}

// Poll reads a prediction. The status is looked at before the output, which
// some models fill while they are still at work.
func (p *Replicate) Poll(ctx context.Context, task Task, emit func(Output) error) (bool, error) {
	var now prediction
	if err := p.api.ask(ctx, "/predictions/"+url.PathEscape(string(task)), &now); err != nil {
		return false, err
	}
	switch now.Status {
	case "succeeded":
		return true, p.hand(now, emit)
	case "failed", "canceled", "aborted":
		return true, p.api.clean(predictionError(now))
	}
	if done := lastPercent(now.Logs); done > 0 {
		return false, emit(Output{Progress: done})
	}
	return false, nil
}

func (p *Replicate) hand(now prediction, emit func(Output) error) error {
	links := outputLinks(now.Output)
	if len(links) == 0 {
		e := &Error{Reason: ReasonProviderError, Detail: "the prediction succeeded without an image"}
		if now.DataRemoved || len(now.Output) == 0 || string(now.Output) == "null" {
			e = &Error{Reason: ReasonUnknownOutcome, Detail: "the prediction's output has been removed"}
		}
		return e
	}
	for n, link := range links {
		if err := emit(Output{Index: n, URL: link}); err != nil {
			return err
		}
	}
	return nil
}

// outputLinks walks an output of any shape, in order, and takes what can be
// fetched.
func outputLinks(raw json.RawMessage) (links []string) {
	var text string
	var list []json.RawMessage
	switch {
	case json.Unmarshal(raw, &text) == nil:
		if strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "data:image/") {
			return []string{text}
		}
		return nil
	case json.Unmarshal(raw, &list) != nil:
		list = objectValues(raw)
	}
	for _, one := range list {
		links = append(links, outputLinks(one)...)
	}
	return links
}

// objectValues are an object's values in the order in which they stand.
func objectValues(raw json.RawMessage) (values []json.RawMessage) {
	s := newJSONStream(strings.NewReader(string(raw)))
	_ = s.object(func(string) error { // what is broken has no more values
		value, err := s.raw(jsonLimit)
		values = append(values, value)
		return err
	})
	return values
}

// predictionError sorts a prediction that ended without images. It has no
// status of its own: only its text tells.
func predictionError(p prediction) *Error {
	text, _ := p.Error.(string)
	e := &Error{Reason: ReasonProviderError, Message: text, Detail: "the prediction " + p.Status}
	if p.Status != "failed" {
		e.Detail = "the prediction was stopped at the provider: " + p.Status
	}
	if refusalText.MatchString(text) {
		e.Reason = ReasonRefused
	}
	return e
}

// refusalText is how models say that a picture is against the rules.
var refusalText = regexp.MustCompile(`(?i)\b(nsfw|flagged as sensitive|content polic(y|ies)|safety (system|filter|checker)|moderation|\(E005\))`)

// percent is how progress bars in logs begin: " 42%|████".
var percent = regexp.MustCompile(`(\d{1,3})%\|`)

func lastPercent(logs string) float64 {
	all := percent.FindAllStringSubmatch(logs, -1)
	if len(all) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(all[len(all)-1][1])
	return min(float64(n), 100) / 100
}

// Cancel stops a prediction. One that has ended stays as it is.
func (p *Replicate) Cancel(ctx context.Context, task Task) error {
	err := p.api.json(ctx, exchange{method: http.MethodPost, path: fmt.Sprintf("/predictions/%s/cancel", url.PathEscape(string(task)))}, nil, nil)
	return ended(err)
}

// ended forgives an error of Cancel that says that there is nothing to stop.
func ended(err error) error {
	if e, ok := err.(*Error); ok {
		switch e.Status {
		case http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusGone, http.StatusUnprocessableEntity:
			return nil
		}
	}
	return err
}
