package http

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// imageRef names an image to start from: one of the person's own, or one at an
// address, which may be a data: URL.
type imageRef struct {
	ID  string `json:"id,omitempty"`
	URL string `json:"url,omitempty"`
}

// readGeneration reads the body of POST /api/v1/generations, which is JSON or,
// with uploads, a form with the same fields; and what tells it from others.
func (s *Server) readGeneration(w http.ResponseWriter, r *http.Request) (req generationRequest, digest string, err error) {
	req.inputs = &inputs{}
	if isMultipart(r) {
		allowUpload(w)
		err = s.readGenerationForm(r, &req)
	} else if err = readJSON(r, &req); err == nil {
		err = s.takeRefs(r.Context(), viewerOf(r).user.ID, &req)
	}
	if err != nil {
		s.dropInputs(req.inputs)
		return req, "", err
	}
	text, err := json.Marshal(req) // it came from JSON or from a form
	return req, fmt.Sprintf("%s\n%q", text, req.inputs.sums), err
}

// maxInputs is how many images a generation may start from: no provider takes
// more.
const maxInputs = 16

// takeRefs secures the images that a JSON body names.
func (s *Server) takeRefs(ctx context.Context, user string, req *generationRequest) error {
	take := func(field string, ref imageRef, mask bool) error {
		switch {
		case ref.ID != "" && ref.URL == "":
			return s.takeOwn(ctx, user, req.inputs, field, ref.ID, mask)
		case ref.URL != "" && ref.ID == "":
			return s.takeURL(ctx, user, req.inputs, field, ref.URL, mask)
		}
		return invalid(field, field+" has an id or a url.")
	}
	if len(req.Images) > maxInputs {
		return invalid("images", fmt.Sprintf("images has %d images; at most %d can be started from.", len(req.Images), maxInputs))
	}
	for n, ref := range req.Images {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := take(fmt.Sprintf("images[%d]", n), ref, false); err != nil {
			return err
		}
	}
	if req.Mask != nil {
		return take("mask", *req.Mask, true)
	}
	return nil
}

// readGenerationForm reads a form. What it does not know is refused, as in JSON.
func (s *Server) readGenerationForm(r *http.Request, req *generationRequest) error {
	f, err := s.readUpload(r, req.inputs)
	if err != nil {
		return err
	}
	var n *int64
	var params string
	err = firstError(f.text("prompt", &req.Prompt), f.text("negative_prompt", &req.NegativePrompt), f.text("provider", &req.Provider),
		f.text("model", &req.Model), f.text("size", &req.Size), f.text("params", &params),
		f.number("n", &n, 1, maxImages), f.number("seed", &req.Seed, 0, maxSeed))
	if err != nil {
		return err
	}
	if n != nil {
		req.N = new(int(*n))
	}
	if params != "" && json.Unmarshal([]byte(params), &req.Params) != nil {
		return invalid("params", "params is a JSON object.")
	}
	for name := range f {
		p := badRequest(codeUnknownField, "There is no field "+cutRunes(name, 40)+".")
		p.Field = cutRunes(name, 40)
		return p
	}
	return nil
}
