package http

import (
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"

	"afterimage/records"
)

// openAIRoutes are for clients of OpenAI's images API, which need no change but
// the base URL and the key. Errors have OpenAI's shape there (openai_error.go).
func (s *Server) openAIRoutes(r chi.Router) {
	r.Route("/v1", func(r chi.Router) {
		r.Group(func(r chi.Router) {
			r.Use(s.need(records.ScopeImagesRead))
			r.Get("/models", s.openAIModels)
			r.Get("/models/*", s.openAIModel)
		})
		r.Group(func(r chi.Router) {
			r.Use(s.need(records.ScopeImagesWrite))
			r.Post("/images/generations", s.openAIGenerate)
			r.Post("/images/edits", s.openAIEdit)
			r.Post("/images/variations", s.openAIVariations)
		})
	})
}

// openAIModel is a model in a list. Its id is what a request names it by.
type openAIModel struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// modelJSON: nobody knows when a model was made, but clients want a number.
func modelJSON(provider, model string) openAIModel {
	return openAIModel{ID: provider + "/" + model, Object: "model", OwnedBy: provider}
}

// openAIModels lists every model by the name that is always clear; those that
// only one provider has can be named without it too.
func (s *Server) openAIModels(w http.ResponseWriter, r *http.Request) {
	list := []openAIModel{}
	for _, name := range s.order {
		for _, m := range s.providers[name].Models {
			list = append(list, modelJSON(name, m.Name))
		}
	}
	writeJSON(w, http.StatusOK, struct {
		Object string        `json:"object"`
		Data   []openAIModel `json:"data"`
	}{"list", list})
}

func (s *Server) openAIModel(w http.ResponseWriter, r *http.Request) {
	name, err := url.PathUnescape(chi.URLParam(r, "*"))
	if err != nil || name == "" {
		s.fail(w, r, records.ErrNotFound)
		return
	}
	info, model, err := s.findModel("", name)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, modelJSON(info.Name, model.Name))
}

// openAIVariations is an endpoint that only dall-e-2 ever had.
func (s *Server) openAIVariations(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, newProblem(http.StatusNotFound, codeNotFound, "There are no variations here. Use /v1/images/edits."))
}

func (s *Server) openAIGenerate(w http.ResponseWriter, r *http.Request) {
	s.openAIImages(w, r, "image_generation", s.readOpenAI)
}

func (s *Server) openAIEdit(w http.ResponseWriter, r *http.Request) {
	s.openAIImages(w, r, "image_edit", s.readOpenAIEdit)
}

// openAIImages records what was asked for, and answers when the bytes are safe.
// A client that gives up meanwhile loses nothing: the job does not know of it.
func (s *Server) openAIImages(w http.ResponseWriter, r *http.Request, kind string, read func(http.ResponseWriter, *http.Request) (*openAIRequest, error)) {
	req, err := read(w, r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	// The server's own deadline is for reading a request, and would end this
	// one while it waits. Not every writer has one.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	a := &openAIAnswer{Server: s, w: w, r: r, kind: kind, req: req}
	if err := a.place(); err != nil {
		s.fail(w, r, err)
		return
	}
	defer a.leave()
	w.Header().Set("X-Afterimage-Generation", a.id)
	if req.stream {
		a.stream()
	} else {
		a.answer()
	}
}
