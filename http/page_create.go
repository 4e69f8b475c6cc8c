package http

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"afterimage/generate"
	"afterimage/records"
	"afterimage/web"
)

const (
	createTiles   = 12
	recentPrompts = 6
)

// showCreate shows the form: empty, filled from an image (from), or with a
// prompt. With edit it starts from the image itself.
func (s *Server) showCreate(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	form := web.CreateForm{Prompt: cutRunes(strings.ToValidUTF8(q.Get("prompt"), ""), maxPrompt)}
	if from := q.Get("from"); from != "" {
		i, err := s.imageOf(r, from)
		if err != nil {
			s.failPage(w, r, err)
			return
		}
		if form = s.remix(i); q.Has("edit") && i.Secured() {
			s.startFrom(&form, i)
		}
	}
	s.renderCreate(w, r, http.StatusOK, form, nil)
}

// imageOf returns an image of the viewer by an id that may be none.
func (s *Server) imageOf(r *http.Request, id string) (*records.Image, error) {
	if !records.IsID(id) {
		return nil, records.ErrNotFound
	}
	return s.DB.Image(r.Context(), viewerOf(r).user.ID, id)
}

// remix is the form that made an image, but for its seed: whoever changes the
// words wants another picture. A model that is no more gives way to the first.
func (s *Server) remix(i *records.Image) web.CreateForm {
	form := web.CreateForm{Prompt: i.Prompt, NegativePrompt: i.NegativePrompt, Model: i.Provider + "/" + i.Model, Options: map[string]string{}}
	form.Size, _ = i.Params["size"].(string)
	_, model, err := s.findModel(i.Provider, i.Model)
	if err != nil {
		return web.CreateForm{Prompt: i.Prompt, NegativePrompt: i.NegativePrompt}
	}
	for _, o := range model.Options {
		if v, ok := i.Params[o.Name]; ok {
			form.Options[o.Name] = fmt.Sprint(v)
		}
	}
	return form
}

// startFrom makes an image the one to start from, with a model that can.
func (s *Server) startFrom(form *web.CreateForm, i *records.Image) {
	form.From = new(s.tile(i))
	provider, model, _ := strings.Cut(form.Model, "/")
	if _, m, err := s.findModel(provider, model); err == nil && m.MaxInputs > 0 {
		return
	}
	if able := s.modelsForImages(); len(able) > 0 {
		form.Model, form.Options = able[0], nil
	}
}

func (s *Server) renderCreate(w http.ResponseWriter, r *http.Request, status int, form web.CreateForm, faults []web.FieldError) {
	view := web.CreateView{Layout: s.layout(r, "create"), Form: form, Errors: faults, IdempotencyKey: rand.Text()}
	said := s.takeNotice(w, r)
	view.Notice, view.Accepted = message(said), said.key == noticeAccepted
	s.offerModels(&view)
	if err := s.fillCreate(r.Context(), viewerOf(r).user.ID, &view); err != nil {
		s.failPage(w, r, err)
		return
	}
	s.render(w, r, status, "create", view)
}

// offerModels lists what there is to choose, and the most of each limit: only
// a script can make the form follow the model that is chosen.
func (s *Server) offerModels(v *web.CreateView) {
	for _, name := range s.order {
		for _, m := range s.providers[name].Models {
			v.Models = append(v.Models, modelChoice(name, m))
			v.MaxPrompt = max(v.MaxPrompt, orElse(m.MaxPrompt, maxPrompt))
			v.MaxCount = max(v.MaxCount, orElse(m.MaxN, maxImages))
		}
	}
	if v.Form.Model == "" && len(v.Models) > 0 {
		v.Form.Model = v.Models[0].Value()
	}
	v.Form.Count = max(v.Form.Count, 1)
}

func modelChoice(provider string, m generate.Model) web.ModelChoice {
	c := web.ModelChoice{Provider: provider, Model: m.Name, Sizes: m.Sizes, AutoSize: m.AutoSize, MaxSide: m.MaxSide, MaxN: m.MaxN,
		MaxInputs: m.MaxInputs, NegativePrompt: m.NegativePrompt, Seed: m.Seed}
	for _, o := range m.Options {
		c.Options = append(c.Options, web.Option{Name: o.Name, Values: o.Values, Min: o.Min, Max: o.Max})
	}
	return c
}

// fillCreate adds what the person made last. The change number is read first,
// so that the stream which goes on from it passes nothing over.
func (s *Server) fillCreate(ctx context.Context, user string, v *web.CreateView) error {
	seq, err := s.DB.HistoryHead(ctx, user)
	if err != nil {
		return err
	}
	images, err := s.DB.Images(ctx, user, records.ImageFilter{Limit: createTiles})
	if err != nil {
		return err
	}
	v.LiveURL, v.Tiles = s.liveURL(user, seq, ""), s.tiles(images)
	v.Recent, err = s.DB.RecentPrompts(ctx, user, recentPrompts)
	return err
}

// create takes the form. A form that only chooses another model comes back
// with what that one takes.
func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	form, in, err := s.readCreateForm(w, r)
	if err != nil {
		s.dropInputs(in)
		s.createFailed(w, r, form, generationRequest{}, err)
		return
	}
	if form.choose {
		s.dropInputs(in)
		s.renderCreate(w, r, http.StatusOK, form.CreateForm, nil)
		return
	}
	req, err := s.createRequest(form, in)
	if err != nil {
		s.dropInputs(in)
	} else {
		_, _, err = s.generate(r.Context(), viewerOf(r).user.ID, req, formKey(form.key, req))
	}
	if err != nil {
		s.createFailed(w, r, form, req, err)
		return
	}
	s.redirect(w, r, "/create", noticeAccepted)
}

// createFailed says at the field what is wrong, and keeps the rest.
func (s *Server) createFailed(w http.ResponseWriter, r *http.Request, form createForm, req generationRequest, err error) {
	if p, ok := errors.AsType[*problem](err); ok && p.Field != "" {
		s.renderCreate(w, r, http.StatusUnprocessableEntity, form.CreateForm, s.createFaults(p.Field, req))
		return
	}
	s.failPage(w, r, err)
}

// formKey makes a form that is sent twice one request. What it asks for is a
// part of the key: somebody who goes back to the form and changes it wants
// something else.
func formKey(key string, req generationRequest) records.Idempotency {
	if key == "" {
		return records.Idempotency{}
	}
	text, _ := json.Marshal(req) // plain values: cannot fail
	if req.inputs != nil {
		text = fmt.Appendf(text, "%q", req.inputs.sums)
	}
	sum := sha256.Sum256(append([]byte(key+"\n"), text...))
	return keyFor("form-"+hex.EncodeToString(sum[:16]), "generation", string(text))
}

// createFaults says what is wrong with a field, in the words of the page.
func (s *Server) createFaults(field string, req generationRequest) []web.FieldError {
	_, model, _ := s.findModel(req.Provider, req.Model)
	longest := web.Args{"max": orElse(model.MaxPrompt, maxPrompt)}
	switch field {
	case "prompt", "negative_prompt":
		text := map[string]string{"prompt": req.Prompt, "negative_prompt": req.NegativePrompt}[field]
		switch {
		case strings.TrimSpace(text) == "":
			return fault(field, "err.prompt.empty", nil)
		case utf8.RuneCountInString(text) > orElse(model.MaxPrompt, maxPrompt):
			return fault(field, "err."+field+".long", longest)
		}
		return fault(field, "err.provider", nil)
	case "seed":
		return fault("seed", "err.seed.bad", nil)
	case "image":
		return fault("", "err.image.bad", nil)
	// The selects have no room for a fault; they only send what they offer.
	case "provider", "model":
		return fault("", "err.model.unknown", nil)
	case "size":
		return fault("", "err.size.bad", nil)
	case "n":
		return fault("", "err.n.bad", web.Args{"max": orElse(model.MaxN, maxImages)})
	}
	if strings.HasPrefix(field, "opt.") {
		return fault(field, "err.option.bad", nil)
	}
	return fault("", "err.provider", nil)
}

func cutRunes(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most])
}
