package http

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"afterimage/records"
	"afterimage/web"
)

const (
	createTiles   = 12
	recentPrompts = 6
)

// showCreate shows the form: empty, filled from an image (from), or with a
// prompt.
func (s *Server) showCreate(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	form := web.CreateForm{Prompt: cutRunes(strings.ToValidUTF8(q.Get("prompt"), ""), maxPrompt)}
	if from := q.Get("from"); from != "" {
		i, err := s.imageOf(r, from)
		if err != nil {
			s.failPage(w, r, err)
			return
		}
		form = remix(i)
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
// words wants another picture.
func remix(i *records.Image) web.CreateForm {
	form := web.CreateForm{Prompt: i.Prompt, NegativePrompt: i.NegativePrompt, Model: i.Provider + "/" + i.Model}
	form.Size, _ = i.Params["size"].(string)
	return form
}

func (s *Server) renderCreate(w http.ResponseWriter, r *http.Request, status int, form web.CreateForm, faults []web.FieldError) {
	view := web.CreateView{Layout: s.layout(r, "create"), Form: form, Errors: faults, IdempotencyKey: rand.Text()}
	notice := s.takeNotice(w, r)
	view.Notice, view.Accepted = message(notice), notice == noticeAccepted
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
			v.Models = append(v.Models, web.ModelChoice{Provider: name, Model: m.Name, Sizes: m.Sizes, MaxN: m.MaxN})
			v.MaxPrompt = max(v.MaxPrompt, orElse(m.MaxPrompt, maxPrompt))
			v.MaxCount = max(v.MaxCount, orElse(m.MaxN, maxImages))
		}
	}
	if v.Form.Model == "" && len(v.Models) > 0 {
		v.Form.Model = v.Models[0].Value()
	}
	v.Form.Count = max(v.Form.Count, 1)
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

// create takes the form.
func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	if err := readForm(r); err != nil {
		s.failPage(w, r, err)
		return
	}
	form := readCreateForm(r)
	req, err := form.request()
	if err == nil {
		_, _, err = s.generate(r.Context(), viewerOf(r).user.ID, req, formKey(r.PostForm.Get("idempotency_key"), req))
	}
	if p, ok := errors.AsType[*problem](err); ok && p.Field != "" {
		s.renderCreate(w, r, http.StatusUnprocessableEntity, form.CreateForm, s.createFaults(p.Field, req))
		return
	}
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	s.redirect(w, r, "/create", noticeAccepted)
}

// createForm is the form as it was sent; n may be no number.
type createForm struct {
	web.CreateForm
	n string
}

func readCreateForm(r *http.Request) createForm {
	f := r.PostForm
	form := createForm{n: cmp.Or(strings.TrimSpace(f.Get("n")), "1"), CreateForm: web.CreateForm{
		Prompt: f.Get("prompt"), NegativePrompt: f.Get("negative_prompt"), Model: f.Get("model"),
		Size: f.Get("size"), Seed: strings.TrimSpace(f.Get("seed"))}}
	form.Count, _ = strconv.Atoi(form.n)
	return form
}

// request is the form as the API takes it.
func (f createForm) request() (generationRequest, error) {
	req := generationRequest{Prompt: f.Prompt, NegativePrompt: f.NegativePrompt, Size: f.Size, Model: f.Model}
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
	return req, nil
}

// formKey makes a form that is sent twice one request. What it asks for is a
// part of the key: somebody who goes back to the form and changes it wants
// something else.
func formKey(key string, req generationRequest) records.Idempotency {
	if key == "" {
		return records.Idempotency{}
	}
	text, _ := json.Marshal(req) // plain values: cannot fail
	sum := sha256.Sum256(append([]byte(key+"\n"), text...))
	return keyFor("form-"+hex.EncodeToString(sum[:16]), "generation", req)
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
	// The selects have no room for a fault; they only send what they offer.
	case "provider", "model":
		return fault("", "err.model.unknown", nil)
	case "size":
		return fault("", "err.size.bad", nil)
	case "n":
		return fault("", "err.n.bad", web.Args{"max": orElse(model.MaxN, maxImages)})
	}
	return fault("", "err.provider", nil)
}

func cutRunes(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most])
}
