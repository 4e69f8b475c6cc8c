package http

import (
	"cmp"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"afterimage/records"
	"afterimage/web"
)

// importTiles is how many images the page of an import shows.
const importTiles = 60

func (s *Server) showImport(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, http.StatusOK, "import", web.ImportView{Layout: s.layout(r, "create"), IdempotencyKey: rand.Text()})
}

// importForm takes addresses, one a line, and leads to the page that tells
// what becomes of them.
func (s *Server) importForm(w http.ResponseWriter, r *http.Request) {
	if err := readForm(r); err != nil {
		s.failPage(w, r, err)
		return
	}
	f := r.PostForm
	view := web.ImportView{URLs: f.Get("urls"), Prompt: strings.TrimSpace(f.Get("prompt"))}
	var items []importItem
	for _, address := range strings.Fields(view.URLs) {
		items = append(items, importItem{URL: address, Prompt: view.Prompt})
	}
	switch {
	case len(items) == 0:
		view.Errors = fault("urls", "err.urls.empty", nil)
	case len(items) > maxImport:
		view.Errors = fault("urls", "err.urls.many", web.Args{"max": maxImport})
	}
	if view.Errors == nil {
		key := keyFor("form-"+f.Get("idempotency_key"), "import", items)
		id, _, err := s.importAll(r.Context(), viewerOf(r).user.ID, items, key)
		if err == nil {
			http.Redirect(w, r, "/import/"+id, http.StatusSeeOther)
			return
		}
		if p, ok := errors.AsType[*problem](err); !ok || p.Field == "" {
			s.failPage(w, r, err)
			return
		}
		view.Errors = fault("urls", "err.urls.bad", nil)
	}
	view.Layout, view.IdempotencyKey = s.layout(r, "create"), cmp.Or(f.Get("idempotency_key"), rand.Text())
	s.render(w, r, http.StatusUnprocessableEntity, "import", view)
}

// importPage tells how far an import is.
func (s *Server) importPage(w http.ResponseWriter, r *http.Request) {
	user, id := viewerOf(r).user.ID, chi.URLParam(r, "id")
	seq, err := s.DB.HistoryHead(r.Context(), user) // before the import, as for the page "create"
	var sum *records.ImportSummary
	if err == nil {
		sum, err = s.DB.Import(r.Context(), user, id)
	}
	var images []records.Image
	if err == nil {
		images, err = s.DB.Images(r.Context(), user, records.ImageFilter{ImportID: id, Limit: importTiles})
	}
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	view := web.ImportView{Layout: s.layout(r, "create"), ID: sum.ID, Total: sum.Total, Archived: sum.Archived, Failed: sum.Failed,
		Open: sum.Open, Tiles: s.tiles(images)}
	view.Notice = message(s.takeNotice(w, r))
	view.LiveURL = s.liveURL(user, seq, "")
	s.render(w, r, http.StatusOK, "import", view)
}
