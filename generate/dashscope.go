package generate

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// DashScope makes images by the tasks of Alibaba's Model Studio (Wan, Qwen).
type DashScope struct {
	api    *api
	models []Model
}

var _ Tasker = (*DashScope)(nil)

// NewDashScope makes the provider "dashscope". Keys are of one region:
// Singapore's server is https://dashscope-intl.aliyuncs.com.
func NewDashScope(c ServerConfig) (*DashScope, error) {
	a, err := newAPI(c, "DASHSCOPE_BASE_URL", "DASHSCOPE_API_KEY", "https://dashscope.aliyuncs.com", "Bearer ")
	if err != nil {
		return nil, err
	}
	a.base = strings.TrimSuffix(a.base, "/api/v1") + "/api/v1"
	return &DashScope{api: a, models: dashScopeModels(c.Models)}, nil
}

// Info describes the provider. Accounts may run one or two tasks at a time;
// links and tasks live for a day.
func (p *DashScope) Info() Info {
	return Info{Name: "dashscope", Models: p.models, Origins: []string{p.api.origin}, TTL: 24 * time.Hour, TaskTTL: 24 * time.Hour, Slots: 2}
}

const wanOptions = "prompt_extend"

var (
	wanBools = []Option{{Name: wanOptions, Values: []string{"true", "false"}}, {Name: "watermark", Values: []string{"false", "true"}}}
	wan      = Model{Sizes: []string{"1024x1024", "1280x720", "720x1280", "1152x864", "864x1152"}, MaxSide: 1440, MaxN: 10, PerCall: 4,
		MaxPrompt: 800, NegativePrompt: true, Seed: true, Options: wanBools}
	qwen = Model{Sizes: []string{"1328x1328", "1664x928", "1472x1140", "1140x1472", "928x1664"}, MaxSide: 1664, MaxN: 10, PerCall: 1,
		MaxPrompt: 800, NegativePrompt: true, Seed: true, Options: wanBools}
)

// dashScopeDefaults are offered where nobody named any.
var dashScopeDefaults = []string{"wan2.5-t2i-preview", "wan2.6-t2i", "wan2.2-t2i-flash", "wan2.2-t2i-plus", "wanx2.1-t2i-turbo",
	"qwen-image", "qwen-image-plus", "wan2.5-i2i-preview"}

func dashScopeModels(names []string) (models []Model) {
	if len(names) == 0 {
		names = dashScopeDefaults
	}
	for _, name := range names {
		m := wan
		switch {
		case strings.HasPrefix(name, "qwen"):
			m = qwen
		case strings.Contains(name, "i2i"):
			m.MaxInputs, m.MaxInputBytes = 3, 10<<20
		}
		if strings.HasPrefix(name, "wan2.5") || strings.HasPrefix(name, "wan2.6") {
			m.MaxPrompt = 2000
			m.Sizes = []string{"1280x1280", "1024x1024", "1280x720", "720x1280", "1200x800", "800x1200"}
		}
		m.Name = name
		models = append(models, m)
	}
	return models
}

// taskAnswer is what the API says of a task, new or old. The links of wan2.6
// are in choices, those of the others in results.
type taskAnswer struct {
	Output struct {
		TaskID  string `json:"task_id"`
		Status  string `json:"task_status"`
		Code    string `json:"code"`
		Message string `json:"message"`
		Results []struct {
			URL          string `json:"url"`
			ActualPrompt string `json:"actual_prompt"`
			Code         string `json:"code"`
			Message      string `json:"message"`
		} `json:"results"`
		Choices []struct {
			Message struct {
				Content []struct {
					Image string `json:"image"`
				} `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	} `json:"output"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Generate submits a task.
func (p *DashScope) Generate(ctx context.Context, req Request, _ func(Output) error) (Task, error) {
	if req.Model == "" {
		req.Model = p.models[0].Name
	}
	path, input, err := dashScopeInput(req)
	if err != nil {
		return "", err
	}
	var made taskAnswer
	err = p.api.json(ctx, exchange{method: http.MethodPost, path: "/services/aigc/" + path, header: map[string]string{"X-DashScope-Async": "enable"}},
		map[string]any{"model": req.Model, "input": input, "parameters": dashScopeParameters(req)}, &made)
	switch {
	case err != nil:
		return "", err
	case made.Output.TaskID == "" && made.Code != "": // an error in a 200
		return "", p.api.clean(codeError(made.Code, made.Message))
	case made.Output.TaskID == "":
		return "", &Error{Reason: ReasonUnknownOutcome, Detail: "the task was accepted without an id"}
	}
	return Task(made.Output.TaskID), nil
}

// dashScopeInput is where a model is asked, and what: three generations of
// models have three forms.
func dashScopeInput(req Request) (path string, input map[string]any, err error) {
	images, err := dataURLs(req.Images)
	if err != nil {
		return "", nil, err
	}
	if strings.HasPrefix(req.Model, "wan2.6") {
		content := []map[string]any{{"text": req.Prompt}}
		for _, i := range images {
			content = append(content, map[string]any{"image": i})
		}
		return "image-generation/generation", map[string]any{"messages": []any{map[string]any{"role": "user", "content": content}}}, nil
	}
	path, input = "text2image/image-synthesis", map[string]any{"prompt": req.Prompt}
	if req.NegativePrompt != "" {
		input["negative_prompt"] = req.NegativePrompt
	}
	if len(images) > 0 {
		path, input["images"] = "image2image/image-synthesis", images
	}
	return path, input, nil
}

func dashScopeParameters(req Request) map[string]any {
	out := map[string]any{"n": max(req.N, 1)}
	if req.Width > 0 && req.Height > 0 {
		out["size"] = fmt.Sprintf("%d*%d", req.Width, req.Height)
	}
	if req.HasSeed {
		out["seed"] = req.Seed % (1 << 31)
	}
	if req.NegativePrompt != "" && strings.HasPrefix(req.Model, "wan2.6") {
		out["negative_prompt"] = req.NegativePrompt
	}
	extra := maps.Clone(req.Params)
	for _, name := range []string{"prompt_extend", "watermark", "style"} {
		switch v := extra[name]; v {
		case nil, "":
		case "true", "false":
			out[name] = v == "true"
		default:
			out[name] = v
		}
	}
	return out
}

// dataURLs are images as a request holds them.
func dataURLs(images []Picture) (list []string, err error) {
	for _, i := range images {
		body, err := i.Open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(body)
		body.Close()
		if err != nil {
			return nil, err
		}
		list = append(list, "data:"+i.MIME+";base64,"+base64.StdEncoding.EncodeToString(data))
	}
	return list, nil
}

// Poll reads a task. Its items can fail one by one.
func (p *DashScope) Poll(ctx context.Context, task Task, emit func(Output) error) (bool, error) {
	var now taskAnswer
	if err := p.api.ask(ctx, "/tasks/"+url.PathEscape(string(task)), &now); err != nil {
		return false, err
	}
	o := now.Output
	switch o.Status {
	case "SUCCEEDED":
		return true, p.hand(now, emit)
	case "FAILED":
		return true, p.api.clean(codeError(o.Code, o.Message))
	case "CANCELED":
		return true, &Error{Reason: ReasonProviderError, Detail: "the task was canceled at the provider"}
	case "UNKNOWN":
		return true, &Error{Reason: ReasonUnknownOutcome, Detail: "the provider no longer knows the task"}
	case "PENDING", "RUNNING", "SUSPENDED":
		return false, nil
	}
	return false, &Error{Reason: ReasonProviderError, Retryable: true, Detail: fmt.Sprintf("the task has the state %q (%s)", o.Status, now.Code)}
}

func (p *DashScope) hand(now taskAnswer, emit func(Output) error) error {
	var outputs []Output
	for _, r := range now.Output.Results {
		o := Output{URL: r.URL, RevisedPrompt: r.ActualPrompt}
		if r.URL == "" {
			o = Output{Err: p.api.clean(codeError(r.Code, r.Message))}
		}
		outputs = append(outputs, o)
	}
	for _, choice := range now.Output.Choices {
		for _, c := range choice.Message.Content {
			if c.Image != "" {
				outputs = append(outputs, Output{URL: c.Image})
			}
		}
	}
	for n, o := range outputs {
		o.Index = n
		if err := emit(o); err != nil {
			return err
		}
	}
	return nil
}

// codeError sorts an error that has a code and no status.
func codeError(code, message string) *Error {
	quoted, _ := json.Marshal(map[string]string{"code": code, "message": message}) // texts
	return itemError(quoted)
}

// Cancel stops a task that waits; one that runs goes on, and that is no error.
func (p *DashScope) Cancel(ctx context.Context, task Task) error {
	return ended(p.api.json(ctx, exchange{method: http.MethodPost, path: "/tasks/" + url.PathEscape(string(task)) + "/cancel"}, nil, nil))
}
