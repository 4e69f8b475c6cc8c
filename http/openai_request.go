package http

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"afterimage/generate"
	"afterimage/records"
)

// openAIRequest is what a client of OpenAI's API asks for, in our terms.
type openAIRequest struct {
	generationRequest
	format string // url or b64_json
	stream bool
	digest string // of the body
}

// The forms in which an image is handed over.
const (
	formatURL   = "url"
	formatBytes = "b64_json"
)

// readOpenAI reads the body of POST /v1/images/generations.
func (s *Server) readOpenAI(w http.ResponseWriter, r *http.Request) (*openAIRequest, error) {
	f := fields{}
	if err := readJSON(r, &f); err != nil {
		return nil, err
	}
	return s.openAIRequest("generations", f, nil)
}

// openAIRequest sorts the fields of a body. What we know has a place of its
// own, the rest goes to the provider, which drops what it does not know: a
// client sends what it likes and is never refused for it.
func (s *Server) openAIRequest(path string, f fields, inputs *inputs) (*openAIRequest, error) {
	req := &openAIRequest{digest: digest(path, f, inputs)}
	req.inputs = inputs
	text := func(into *string, name string) error { return f.text(name, into) }
	var n, seed, partials *int64
	err := firstError(text(&req.Prompt, "prompt"), text(&req.Model, "model"), text(&req.Size, "size"),
		text(&req.NegativePrompt, "negative_prompt"), text(&req.format, "response_format"),
		f.number("n", &n, 1, maxImages), f.number("seed", &seed, 0, maxSeed), f.number("partial_images", &partials, 0, 3),
		f.flag("stream", &req.stream))
	if err != nil {
		return nil, err
	}
	model, err := s.openAIDefaults(req, inputs)
	if err != nil {
		return nil, err
	}
	if req.Seed = seed; n != nil {
		req.N = new(int(*n))
	}
	if req.Params, err = f.params(model); err != nil {
		return nil, err
	}
	if req.stream {
		req.format = formatBytes // events have nothing else
		req.partials = int(*cmp.Or(partials, new(int64)))
	}
	return req, nil
}

// openAIDefaults completes what a client left to us.
func (s *Server) openAIDefaults(req *openAIRequest, in *inputs) (generate.Model, error) {
	if req.Model == "" && in != nil {
		req.Model = s.firstForImages()
	}
	_, model, err := s.findModel("", req.Model)
	if err != nil {
		return model, err
	}
	if req.Size == "auto" && !model.AutoSize {
		req.Size = ""
	}
	switch {
	case req.format == "" && model.BytesOnly:
		req.format = formatBytes
	case req.format == "":
		req.format = formatURL
	case req.format != formatURL && req.format != formatBytes:
		return model, badParam("response_format", "response_format is url or b64_json.")
	}
	return model, nil
}

// firstForImages is the model for a request that starts from images and names
// none.
func (s *Server) firstForImages() string {
	for _, name := range s.order {
		for _, m := range s.providers[name].Models {
			if m.MaxInputs > 0 {
				return name + "/" + m.Name
			}
		}
	}
	return ""
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// digest tells one request from another, whatever the order of its fields.
func digest(path string, f fields, in *inputs) string {
	text, _ := json.Marshal(f) // it came from JSON or from a form; keys are sorted
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", path, text)
	if in != nil {
		for _, sum := range in.sums {
			fmt.Fprintf(h, "%s\n", sum)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// fields are those of a body by name; reading one takes it out. A form has only
// texts, which count for the number or the word that they are.
type fields map[string]any

func (f fields) take(name string) (any, bool) {
	v := f[name]
	delete(f, name)
	return v, v != nil && v != ""
}

func (f fields) text(name string, into *string) error {
	v, given := f.take(name)
	if !given {
		return nil
	}
	text, ok := v.(string)
	if !ok {
		return badParam(name, name+" is a text.")
	}
	*into = text
	return nil
}

func (f fields) number(name string, into **int64, least, most int64) error {
	v, given := f.take(name)
	if !given {
		return nil
	}
	x, ok := v.(float64)
	if text, isText := v.(string); isText {
		var err error
		x, err = strconv.ParseFloat(text, 64)
		ok = err == nil
	}
	if !ok || x != float64(int64(x)) || x < float64(least) || x > float64(most) {
		return badParam(name, fmt.Sprintf("%s is a whole number from %d to %d.", name, least, most))
	}
	*into = new(int64(x))
	return nil
}

func (f fields) flag(name string, into *bool) error {
	v, given := f.take(name)
	if !given {
		return nil
	}
	flag, ok := v.(bool)
	if text, isText := v.(string); isText {
		var err error
		flag, err = strconv.ParseBool(text)
		ok = err == nil
	}
	if !ok {
		return badParam(name, name+" is true or false.")
	}
	*into = flag
	return nil
}

// params are what is left, as far as it is something that a provider could
// want and a row can hold.
func (f fields) params(m generate.Model) (map[string]any, error) {
	params, size := map[string]any{}, 0
	for _, name := range slices.Sorted(maps.Keys(f)) {
		option, _ := m.Option(name)
		value := f[name]
		switch v := value.(type) {
		case string:
			if checkText(name, v, maxParams) != nil {
				continue
			}
			if x, err := strconv.ParseFloat(v, 64); err == nil && option.Max > option.Min {
				value = x
			}
		case float64, bool:
		default:
			continue
		}
		if x, isNumber := value.(float64); isNumber && option.Max > option.Min && (x < option.Min || x > option.Max) {
			return nil, badParam(name, fmt.Sprintf("%s is %v to %v for this model.", name, option.Min, option.Max))
		}
		if size += len(name) + len(fmt.Sprint(value)) + 8; size > maxParams/2 || checkText(name, name, 64) != nil || strings.HasPrefix(name, "revised_") {
			continue
		}
		params[name] = value
	}
	return params, nil
}

// fingerprint is by what a repeat of a request is known: all of it, and the key.
func fingerprint(v *viewer, digest string) string {
	id := v.user.ID
	if v.key != nil {
		id = v.key.ID
	}
	sum := sha256.Sum256([]byte(id + "\n" + digest))
	return hex.EncodeToString(sum[:])
}

// idempotencyOf reads the key of a request whose body has a digest already.
func idempotencyOf(r *http.Request, digest string) (records.Idempotency, error) {
	return idempotency(r, "openai", digest)
}
