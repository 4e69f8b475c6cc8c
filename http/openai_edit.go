package http

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// maxEditJSON bounds a JSON body with an image in it: base64 of the largest.
const maxEditJSON = maxInput/3*4 + 1<<20

// readOpenAIEdit reads the body of POST /v1/images/edits, in either of the forms
// that clients send. A body that is refused is read to its end, since a client
// that still writes would never see why.
func (s *Server) readOpenAIEdit(w http.ResponseWriter, r *http.Request) (req *openAIRequest, err error) {
	allowUpload(w)
	in := &inputs{}
	defer func() {
		if err != nil {
			s.dropInputs(in)
			_, _ = io.Copy(io.Discard, r.Body) // whatever becomes of it, the answer is the same
		}
	}()
	var f fields
	if isMultipart(r) {
		f, err = s.readUpload(r, in)
	} else {
		f, err = s.readEditJSON(w, r, in)
	}
	if err != nil {
		return nil, err
	}
	if len(in.list) == 0 {
		return nil, badParam("image", "There is no image to start from.")
	}
	return s.openAIRequest("edits", f, in)
}

// readEditJSON reads {"images":[{"image_url"|"file_id"}], "mask":{…}, …}.
func (s *Server) readEditJSON(w http.ResponseWriter, r *http.Request, in *inputs) (fields, error) {
	if err := s.bigBodies.Acquire(r.Context(), 1); err != nil {
		return nil, err
	}
	defer s.bigBodies.Release(1)
	r.Body = http.MaxBytesReader(w, r.Body, maxEditJSON)
	f := fields{}
	if err := readJSON(r, &f); err != nil {
		return nil, err
	}
	images, mask := f["images"], f["mask"]
	delete(f, "images")
	delete(f, "mask")
	list, isList := images.([]any)
	if images != nil && !isList {
		return nil, badParam("images", `images is a list of {"image_url": "…"}.`)
	}
	if len(list) > maxFormFields {
		return nil, badParam("images", "There are too many images.")
	}
	user := viewerOf(r).user.ID
	for n, one := range list {
		if err := s.takeOpenAIRef(r.Context(), user, in, fmt.Sprintf("images[%d]", n), one, false); err != nil {
			return nil, err
		}
	}
	if mask != nil {
		return f, s.takeOpenAIRef(r.Context(), user, in, "mask", mask, true)
	}
	return f, nil
}

// takeOpenAIRef secures one image of a JSON body. There are no files here but
// the person's images, so their ids are what a file_id can be.
func (s *Server) takeOpenAIRef(ctx context.Context, user string, in *inputs, field string, ref any, mask bool) error {
	object, _ := ref.(map[string]any)
	address, _ := object["image_url"].(string)
	id, _ := object["file_id"].(string)
	switch {
	case address != "" && id == "":
		return s.takeURL(ctx, user, in, field, address, mask)
	case id != "" && address == "":
		return s.takeOwn(ctx, user, in, field, id, mask)
	}
	return badParam(field, field+" has an image_url, which may be a data: URL, or the id of an image of yours as file_id.")
}
