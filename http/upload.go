package http

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"time"
)

const (
	// maxUpload bounds a body with images, in bytes.
	maxUpload = 256 << 20
	// maxFormField bounds a field of it that is no file: a prompt of 32,000
	// characters of four bytes.
	maxFormField = 128 << 10
	// maxFormFields bounds how many there are.
	maxFormFields = 100
	// uploadTime is how long a body with images may take to arrive.
	uploadTime = 10 * time.Minute
)

// bodyLimit is how many bytes a request's body may have.
func bodyLimit(r *http.Request) int64 {
	edit := r.URL.Path == "/v1/images/edits"
	if edit || isMultipart(r) && (r.URL.Path == "/api/v1/generations" || r.URL.Path == "/create") {
		return maxUpload
	}
	return maxBody
}

func isMultipart(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "multipart/form-data"
}

// allowUpload gives a body with images the time that it needs.
func allowUpload(w http.ResponseWriter) {
	// Not every writer has deadlines.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(uploadTime))
}

// readUpload reads a multipart body: its fields, and the files "image", "image[]"
// and "mask", which go to the spool as they arrive.
func (s *Server) readUpload(r *http.Request, in *inputs) (fields, error) {
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, badRequest(codeBadRequest, "The body is not multipart/form-data.")
	}
	f := fields{}
	for {
		part, err := parts.NextPart()
		if err == io.EOF {
			return f, nil
		}
		if err != nil {
			return nil, brokenForm(err)
		}
		if len(f)+len(in.list) >= maxFormFields {
			return nil, badRequest(codeBadRequest, "The form has too many fields.")
		}
		if err := s.takePart(part, f, in); err != nil {
			return nil, err
		}
	}
}

func (s *Server) takePart(part *multipart.Part, f fields, in *inputs) error {
	name, isList := strings.CutSuffix(part.FormName(), "[]")
	if !isList {
		if base, _, numbered := strings.Cut(name, "["); numbered && base == "image" { // image[0]
			name = base
		}
	}
	switch {
	case name == "image" || name == "mask":
		if part.FileName() == "" && isEmpty(part) {
			return nil // of a form whose file was not chosen
		}
		if part.FileName() == "" {
			return invalid(name, name+" is a file. An address goes into a JSON body, as image_url.")
		}
		err := s.takeUpload(in, name, part, name == "mask")
		if _, ok := errors.AsType[*problem](err); err != nil && !ok {
			err = brokenForm(err)
		}
		return err
	case part.FileName() != "":
		return invalid(cutRunes(name, 40), "The files of a form are image, image[] and mask.")
	}
	text, err := io.ReadAll(io.LimitReader(part, maxFormField+1))
	if err != nil {
		return brokenForm(err)
	}
	if len(text) > maxFormField {
		return invalid(cutRunes(name, 40), fmt.Sprintf("A field has %d bytes at most.", maxFormField))
	}
	f[name] = string(text)
	return nil
}

func isEmpty(r io.Reader) bool {
	_, err := io.ReadFull(r, make([]byte, 1))
	return err == io.EOF
}

// brokenForm tells a body that is too large from one that is damaged.
func brokenForm(err error) error {
	if p := tooLargeBody(err); p != nil {
		return p
	}
	return badRequest(codeBadRequest, "The form is damaged or ends too early.")
}
