package http

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"afterimage/generate"
	"afterimage/web"
)

// createForm is the form of the page "create" as it was sent.
type createForm struct {
	web.CreateForm
	n      string // may be no number
	key    string
	choose bool // another model, nothing else
}

// readCreateForm reads the form. With a file, which goes to the spool as it
// arrives, it is multipart.
func (s *Server) readCreateForm(w http.ResponseWriter, r *http.Request) (form createForm, in *inputs, err error) {
	f, in := url.Values{}, &inputs{}
	if isMultipart(r) {
		allowUpload(w)
		parts, err := s.readUpload(r, in)
		for name, value := range parts {
			if text, ok := value.(string); ok {
				f.Set(name, strings.ReplaceAll(text, "\r\n", "\n"))
			}
		}
		if err != nil {
			return fillForm(f), in, err
		}
	} else {
		if err := readForm(r); err != nil {
			return form, in, err
		}
		f = r.PostForm
	}
	form = fillForm(f)
	if from := f.Get("from"); from != "" {
		i, err := s.imageOf(r, from)
		if err != nil {
			return form, in, invalid("image", "This is no image of yours.")
		}
		if err := s.takeOwn(r.Context(), viewerOf(r).user.ID, in, "image", from, false); err != nil {
			return form, in, err
		}
		form.From = new(s.tile(i))
	}
	return form, in, nil
}

func fillForm(f url.Values) createForm {
	form := createForm{n: cmp.Or(strings.TrimSpace(f.Get("n")), "1"), key: f.Get("idempotency_key"), choose: f.Has("choose"),
		CreateForm: web.CreateForm{Prompt: f.Get("prompt"), NegativePrompt: f.Get("negative_prompt"), Model: f.Get("model"),
			Size: f.Get("size"), Seed: strings.TrimSpace(f.Get("seed")), Options: map[string]string{}}}
	for name := range f {
		if option, ok := strings.CutPrefix(name, "opt."); ok && strings.TrimSpace(f.Get(name)) != "" {
			form.Options[option] = strings.TrimSpace(f.Get(name))
		}
	}
	form.Count, _ = strconv.Atoi(form.n)
	return form
}

// createRequest is the form as the API takes it.
func (s *Server) createRequest(f createForm, in *inputs) (generationRequest, error) {
	req := generationRequest{Prompt: f.Prompt, NegativePrompt: f.NegativePrompt, Size: f.Size, Model: f.Model, inputs: in, Params: map[string]any{}}
	if provider, model, ok := strings.Cut(f.Model, "/"); ok {
		req.Provider, req.Model = provider, model
	}
	n, err := strconv.Atoi(f.n)
	if err != nil {
		return req, invalid("n", "n is a number.")
	}
	req.N = &n
	if f.Seed != "" {
		seed, err := strconv.ParseInt(f.Seed, 10, 64)
		if err != nil {
			return req, invalid("seed", "A seed is a number.")
		}
		req.Seed = &seed
	}
	_, model, err := s.findModel(req.Provider, req.Model)
	if err != nil {
		return req, err
	}
	for name, text := range f.Options {
		o, ok := model.Option(name)
		if !ok {
			continue // of another model that was chosen before
		}
		if req.Params[name], err = optionValue(o, text); err != nil {
			return req, err
		}
	}
	return req, nil
}

// optionValue is what an option is set to: a number where it is bounded, else
// the words.
func optionValue(o generate.Option, text string) (any, error) {
	if len(o.Values) > 0 || o.Min == 0 && o.Max == 0 {
		return text, checkText("opt."+o.Name, text, 1000)
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < o.Min || n > o.Max {
		return nil, invalid("opt."+o.Name, o.Name+" is a number within its bounds.")
	}
	return n, nil
}
