package http

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"afterimage/fetch"
	"afterimage/records"
)

const (
	maxImport     = 1000
	maxImportName = 100 // characters of a provider or a model
)

// importRequest is the body of POST /api/v1/images/import.
type importRequest struct {
	Items []importItem `json:"items"`
}

type importItem struct {
	URL      string         `json:"url"` // http, https or data
	Prompt   string         `json:"prompt"`
	Provider string         `json:"provider"`
	Model    string         `json:"model"`
	Params   map[string]any `json:"params"`
}

type importAnswer struct {
	ID    string      `json:"id"`
	Items []imageJSON `json:"items"`
}

// importImages takes addresses to archive: one image for each, in order, also
// for an address that cannot be, whose image says so.
func (s *Server) importImages(w http.ResponseWriter, r *http.Request) {
	var req importRequest
	if err := readJSON(r, &req); err != nil {
		s.fail(w, r, err)
		return
	}
	if len(req.Items) == 0 || len(req.Items) > maxImport {
		s.fail(w, r, invalid("items", fmt.Sprintf("An import has 1 to %d items.", maxImport)))
		return
	}
	key, err := idempotency(r, "import", req)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	id, images, err := s.importAll(r.Context(), viewerOf(r).user.ID, req.Items, key)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Retry-After", seconds(pendingRetry))
	writeJSON(w, http.StatusAccepted, importAnswer{id, s.imagesJSON(r, images)})
}

// importAll is the one way to an import, for the API and for the page.
func (s *Server) importAll(ctx context.Context, user string, list []importItem, key records.Idempotency) (id string, images []records.Image, err error) {
	items := make([]records.ImportItem, len(list))
	for n, item := range list {
		if items[n], err = s.checkImport(n, item); err != nil {
			return "", nil, err
		}
	}
	for n := range items {
		s.secureData(ctx, &items[n])
	}
	if id, images, err = s.DB.CreateImport(ctx, user, items, key); err != nil {
		return "", nil, err
	}
	s.dropUnused(items, images)
	return id, images, nil
}

// checkImport refuses an item that is no item, and marks one whose address
// cannot be.
func (s *Server) checkImport(n int, item importItem) (records.ImportItem, error) {
	field := func(name string) string { return fmt.Sprintf("items[%d].%s", n, name) }
	out := records.ImportItem{URL: strings.TrimSpace(item.URL), Prompt: strings.TrimSpace(item.Prompt),
		Provider: item.Provider, Model: item.Model, Params: item.Params}
	if out.URL == "" {
		return out, invalid(field("url"), "An item needs a url.")
	}
	if err := checkText(field("url"), out.URL, maxBody); err != nil {
		return out, err
	}
	if err := checkText(field("prompt"), out.Prompt, maxPrompt); err != nil {
		return out, err
	}
	for name, value := range map[string]string{"provider": out.Provider, "model": out.Model} {
		if err := checkText(field(name), value, maxImportName); err != nil {
			return out, err
		}
	}
	if err := s.Fetch.Check(fetch.Source{URL: out.URL}); err != nil {
		e, ok := errors.AsType[*fetch.Error](err)
		if !ok {
			return out, err
		}
		out.Reason, out.Detail = e.Reason, e.Error()
	}
	if at, ok := fetch.Expiry(out.URL); ok {
		out.ExpiresAt = records.At(at)
	}
	return out, nil
}
