package http

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"afterimage/fetch"
	"afterimage/generate"
	"afterimage/records"
	"afterimage/storage"
	"afterimage/web"
)

// maxInput bounds an image to start from, in bytes: no provider takes more.
const maxInput = 50 << 20

// inputs are the images that a request starts from. Uploads among them lie in
// our spool already.
type inputs struct {
	list []records.Input
	sums []string // what tells one request's images from another's
}

// records are what is written of them; none of a request in words.
func (in *inputs) records() []records.Input {
	if in == nil {
		return nil
	}
	return in.list
}

// dropInputs removes uploads of which nothing was made.
func (s *Server) dropInputs(in *inputs) {
	for _, i := range in.records() {
		if i.File == "" {
			continue
		}
		if err := s.Spool.Remove(i.File); err != nil {
			s.Log.Warn("an upload that is not needed could not be removed", "err", err)
		}
	}
}

// takeUpload secures an image that is sent, and checks that it is one.
func (s *Server) takeUpload(in *inputs, field string, body io.Reader, mask bool) error {
	sum := sha256.New()
	input, err := generate.TakeInput(s.Spool, s.Fetch, io.TeeReader(body, sum), maxInput)
	if err != nil {
		return s.inputProblem(field, err)
	}
	input.Mask = mask
	in.list = append(in.list, input)
	in.sums = append(in.sums, fmt.Sprintf("%t %s", mask, hex.EncodeToString(sum.Sum(nil))))
	return nil
}

// inputProblem says why an image cannot be started from.
func (s *Server) inputProblem(field string, err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLargeBody(err)
	}
	if e, ok := errors.AsType[*fetch.Error](err); ok {
		words := s.Site.Words(s.DefaultLanguage)
		p := invalid(field, fmt.Sprintf("%s: %s", field, words.Reason(web.Reason{Code: e.Reason, Limit: maxInput})))
		if e.Reason == fetch.TooLarge {
			p.Status, p.Title, p.Code = http.StatusRequestEntityTooLarge, http.StatusText(http.StatusRequestEntityTooLarge), codeTooLarge
		}
		s.Log.Info("an image to start from was refused", "field", field, "err", e)
		return p
	}
	if e, ok := errors.AsType[*storage.Error](err); ok {
		s.Log.Error("an upload could not be kept", "err", e)
		return newProblem(http.StatusInsufficientStorage, codeStore, "There is no room for uploads right now.")
	}
	return err
}

// takeURL secures the image behind an address: data in itself, one of the
// person's own by its permanent URL, or one from elsewhere, which the guarded
// client gets.
func (s *Server) takeURL(ctx context.Context, user string, in *inputs, field, address string, mask bool) error {
	if own, ok := strings.CutPrefix(address, s.BaseURL+"/img/"); ok {
		id, _, _ := strings.Cut(own, "?")
		return s.takeOwn(ctx, user, in, field, id, mask)
	}
	r, w := io.Pipe()
	go func() {
		_, err := s.Fetch.Get(ctx, fetch.Source{URL: address}, w)
		w.CloseWithError(err)
	}()
	defer r.Close() // ends the fetch if the spool gave up
	return s.takeUpload(in, field, r, mask)
}

// takeOwn starts from one of the person's own images.
func (s *Server) takeOwn(ctx context.Context, user string, in *inputs, field, id string, mask bool) error {
	if !records.IsID(id) {
		return invalid(field, field+" is no image of yours.")
	}
	i, err := s.DB.Image(ctx, user, id)
	if errors.Is(err, records.ErrNotFound) {
		return invalid(field, field+" is no image of yours.")
	}
	if err != nil {
		return err
	}
	if !i.Secured() {
		return invalid(field, field+" has no bytes yet. Wait until it is archived.")
	}
	in.list = append(in.list, records.Input{ImageID: id, MIME: i.MIME, Bytes: i.Bytes, Width: i.Width, Height: i.Height, Mask: mask})
	in.sums = append(in.sums, fmt.Sprintf("%t own %s", mask, id))
	return nil
}

// checkInputs refuses images that the model cannot start from.
func (s *Server) checkInputs(m generate.Model, list []records.Input) error {
	var images, masks []records.Input
	for _, i := range list {
		if i.Mask {
			masks = append(masks, i)
		} else {
			images = append(images, i)
		}
	}
	switch {
	case len(list) == 0:
		return nil
	case m.MaxInputs == 0:
		return invalid("model", "This model makes images from words alone. These start from images: "+orNone(s.modelsForImages())+".")
	case len(images) == 0:
		return invalid("image", "There is a mask, but no image that it is for.")
	case len(images) > m.MaxInputs:
		return invalid("image", fmt.Sprintf("This model takes %d images at most.", m.MaxInputs))
	case len(masks) > 1:
		return invalid("mask", "There is one mask at most.")
	case len(masks) == 1 && !m.Mask:
		return invalid("mask", "This model takes no mask.")
	}
	for _, i := range images {
		if len(m.InputTypes) > 0 && !slices.Contains(m.InputTypes, i.MIME) {
			return invalid("image", fmt.Sprintf("This model starts from %s, not from %s.", strings.Join(m.InputTypes, ", "), i.MIME))
		}
		if m.MaxInputBytes > 0 && i.Bytes > m.MaxInputBytes {
			return invalid("image", fmt.Sprintf("This model takes images of %d bytes at most.", m.MaxInputBytes))
		}
	}
	return checkMask(masks, images[0])
}

func checkMask(masks []records.Input, image records.Input) error {
	for _, mask := range masks {
		if mask.MIME != "image/png" {
			return invalid("mask", "A mask is a PNG, transparent where the image is to change.")
		}
		if mask.Width != image.Width || mask.Height != image.Height {
			return invalid("mask", fmt.Sprintf("The mask has %d x %d pixels and the image %d x %d: they must be equal.",
				mask.Width, mask.Height, image.Width, image.Height))
		}
	}
	return nil
}

// modelsForImages are the models that can start from an image.
func (s *Server) modelsForImages() (names []string) {
	for _, name := range s.order {
		for _, m := range s.providers[name].Models {
			if m.MaxInputs > 0 {
				names = append(names, name+"/"+m.Name)
			}
		}
	}
	return names
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none that is set up"
	}
	return strings.Join(names, ", ")
}
