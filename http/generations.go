package http

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"afterimage/generate"
	"afterimage/records"
)

const (
	defaultSize      = "1024x1024"
	maxPrompt        = 32_000 // characters, where the model sets no limit
	maxImages        = 10     // of one request, where the model sets no limit
	maxSide          = 8192   // pixels, where the model sets no limit
	maxSeed          = 1<<53 - 1
	maxParams        = 4096 // bytes of JSON
	pendingRetry     = 2 * time.Second
	maxIdempotency   = 255 // bytes of a key
	idempotencyField = "Idempotency-Key"
)

// generationRequest is the body of POST /api/v1/generations.
type generationRequest struct {
	Prompt         string         `json:"prompt"`
	NegativePrompt string         `json:"negative_prompt"`
	Provider       string         `json:"provider"`
	Model          string         `json:"model"`
	Size           string         `json:"size"`
	N              *int           `json:"n"`
	Seed           *int64         `json:"seed"`
	Params         map[string]any `json:"params"` // under the provider's own names
	Images         []imageRef     `json:"images,omitempty"`
	Mask           *imageRef      `json:"mask,omitempty"`

	partials int     // unfinished pictures to show on the way
	id       string  // of the generation; default: a new one
	inputs   *inputs // what Images and Mask name, or what was uploaded
	attempt  records.Attempt
}

func (s *Server) createGeneration(w http.ResponseWriter, r *http.Request) {
	req, digest, err := s.readGeneration(w, r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	key, err := idempotency(r, "generation", digest)
	if err != nil {
		s.dropInputs(req.inputs)
		s.fail(w, r, err)
		return
	}
	g, images, err := s.generate(r.Context(), viewerOf(r).user.ID, req, key)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Location", "/api/v1/generations/"+g.ID)
	w.Header().Set("Retry-After", seconds(pendingRetry))
	writeJSON(w, http.StatusAccepted, s.generationJSON(r, g, images))
}

// generate checks what was asked for and records it with its job. It is the
// one way to a generation, for the APIs and for the page. Uploads that nothing
// is made of are removed.
func (s *Server) generate(ctx context.Context, userID string, req generationRequest, key records.Idempotency) (*records.Generation, []records.Image, error) {
	g, err := s.checkGeneration(req)
	if err != nil {
		s.dropInputs(req.inputs)
		return nil, nil, err
	}
	g.ID, g.UserID, g.Idempotency, g.Attempt = cmp.Or(req.id, records.NewID()), userID, key, req.attempt
	made, images, err := s.DB.CreateGeneration(ctx, g)
	if errors.Is(err, records.ErrKeyReused) || err == nil && made.ID != g.ID {
		s.dropInputs(req.inputs)
	}
	return made, images, err
}

func (s *Server) checkGeneration(req generationRequest) (g records.NewGeneration, err error) {
	info, model, err := s.findModel(req.Provider, req.Model)
	if err != nil {
		return g, err
	}
	g = records.NewGeneration{Provider: info.Name, Model: model.Name, Prompt: strings.TrimSpace(req.Prompt),
		NegativePrompt: strings.TrimSpace(req.NegativePrompt), Params: records.Params{}, N: 1}
	limit := orElse(model.MaxPrompt, maxPrompt)
	switch {
	case g.Prompt == "":
		return g, invalid("prompt", "The prompt is empty.")
	case req.N != nil:
		g.N = *req.N
	}
	if err := checkText("prompt", g.Prompt, limit); err != nil {
		return g, err
	}
	if err := checkText("negative_prompt", g.NegativePrompt, limit); err != nil {
		return g, err
	}
	if most := orElse(model.MaxN, maxImages); g.N < 1 || g.N > most {
		return g, invalid("n", fmt.Sprintf("n is 1 to %d for this model.", most))
	}
	if g.Width, g.Height, err = checkSize(req.Size, model); err != nil {
		return g, err
	}
	g.Inputs = req.inputs.records()
	if err := s.checkInputs(model, g.Inputs); err != nil {
		return g, err
	}
	return g, setParams(&g, req, info)
}

func setParams(g *records.NewGeneration, req generationRequest, info generate.Info) error {
	if text, err := json.Marshal(req.Params); err != nil || len(text) > maxParams {
		return invalid("params", fmt.Sprintf("params are larger than %d bytes.", maxParams))
	}
	for name, value := range req.Params {
		g.Params[name] = value
	}
	if req.partials > 0 {
		g.Params["partial_images"] = req.partials
	}
	if g.Width > 0 {
		g.Params["size"] = fmt.Sprintf("%dx%d", g.Width, g.Height)
	}
	switch {
	case req.Seed != nil && (*req.Seed < 0 || *req.Seed > maxSeed):
		return invalid("seed", fmt.Sprintf("A seed is a number from 0 to %d.", int64(maxSeed)))
	case req.Seed != nil:
		g.Params["seed"] = *req.Seed
	case info.Repeatable: // so that a repeat after a crash makes the same picture
		g.Params["seed"] = rand.Int64N(1 << 31)
	}
	return nil
}

// findModel finds a model by its provider and name, by "provider/model", or
// by its name alone where only one provider has it.
func (s *Server) findModel(provider, model string) (generate.Info, generate.Model, error) {
	having := s.having(model)
	if before, after, ok := strings.Cut(model, "/"); ok && provider == "" && len(having) == 0 {
		if _, known := s.providers[before]; known {
			provider, model = before, after
		}
	}
	if provider != "" {
		info, ok := s.providers[provider]
		if !ok {
			return info, generate.Model{}, invalid("provider", "There is no such provider. There are: "+strings.Join(s.order, ", ")+".")
		}
		return found(info, model)
	}
	if model != "" && len(having) > 1 {
		return generate.Info{}, generate.Model{}, invalid("model", "Several providers have this model. Name one: "+strings.Join(having, ", ")+".")
	}
	if len(having) == 0 {
		return generate.Info{}, generate.Model{}, invalid("model", "No provider has this model. There are: "+strings.Join(s.modelNames(), ", ")+".")
	}
	return found(s.providers[having[0]], model)
}

// having are the providers that have a model, in their order; of no name, all.
func (s *Server) having(model string) (names []string) {
	for _, name := range s.order {
		if _, ok := s.providers[name].Model(model); ok {
			names = append(names, name)
		}
	}
	return names
}

// modelNames are all models by the names that are always clear.
func (s *Server) modelNames() (names []string) {
	for _, name := range s.order {
		for _, m := range s.providers[name].Models {
			names = append(names, name+"/"+m.Name)
		}
	}
	return names
}

func found(info generate.Info, model string) (generate.Info, generate.Model, error) {
	m, ok := info.Model(model)
	if ok {
		return info, m, nil
	}
	var names []string
	for _, m := range info.Models {
		names = append(names, m.Name)
	}
	return info, m, invalid("model", info.Name+" has no such model. It has: "+strings.Join(names, ", ")+".")
}

// checkSize reads "1024x768". No size is the model's first, "auto" leaves the
// choice to the provider.
func checkSize(size string, m generate.Model) (width, height int, err error) {
	if size == "" {
		size = defaultSize
		if len(m.Sizes) > 0 {
			size = m.Sizes[0]
		}
	}
	if size == "auto" && m.AutoSize {
		return 0, 0, nil
	}
	if len(m.Sizes) > 0 && !slices.Contains(m.Sizes, size) {
		return 0, 0, invalid("size", "This model makes "+strings.Join(m.Sizes, ", ")+".")
	}
	w, h, ok := strings.Cut(size, "x")
	width, wErr := strconv.Atoi(w)
	height, hErr := strconv.Atoi(h)
	most := orElse(m.MaxSide, maxSide)
	if !ok || strings.ContainsAny(size, "+-") || wErr != nil || hErr != nil || width < 16 || height < 16 || width > most || height > most {
		return 0, 0, invalid("size", fmt.Sprintf("A size is WIDTHxHEIGHT in pixels, each 16 to %d.", most))
	}
	if step := orElse(m.SideStep, 1); width%step != 0 || height%step != 0 {
		return 0, 0, invalid("size", fmt.Sprintf("Both sides are multiples of %d for this model.", step))
	}
	if m.MaxRatio > 0 && max(width, height) > m.MaxRatio*min(width, height) {
		return 0, 0, invalid("size", fmt.Sprintf("The long side is at most %d times the short one for this model.", m.MaxRatio))
	}
	return width, height, nil
}

func orElse(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// idempotency reads the key of a request; what names the route, so that one
// key does not serve two.
func idempotency(r *http.Request, what string, body any) (records.Idempotency, error) {
	key := r.Header.Get(idempotencyField)
	if key == "" {
		return records.Idempotency{}, nil
	}
	if len(key) > maxIdempotency || checkText("key", key, maxIdempotency) != nil {
		return records.Idempotency{}, badRequest(codeBadRequest, fmt.Sprintf("An Idempotency-Key has 1 to %d characters.", maxIdempotency))
	}
	return keyFor(key, what, body), nil
}

func keyFor(key, what string, body any) records.Idempotency {
	text, _ := json.Marshal(body) // it came from JSON or from a form
	sum := sha256.Sum256(append([]byte(what+"\n"), text...))
	return records.Idempotency{Key: key, RequestHash: hex.EncodeToString(sum[:])}
}

func (s *Server) getGeneration(w http.ResponseWriter, r *http.Request) {
	g, images, err := s.DB.Generation(r.Context(), viewerOf(r).user.ID, chi.URLParam(r, "id"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if g.FinishedAt.IsZero() {
		w.Header().Set("Retry-After", seconds(pendingRetry))
	}
	s.writeTagged(w, r, s.generationJSON(r, g, images))
}

func (s *Server) cancelGeneration(w http.ResponseWriter, r *http.Request) {
	user, id := viewerOf(r).user.ID, chi.URLParam(r, "id")
	if err := s.DB.CancelGeneration(r.Context(), user, id); err != nil {
		s.fail(w, r, err)
		return
	}
	g, images, err := s.DB.Generation(r.Context(), user, id)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, s.generationJSON(r, g, images))
}
