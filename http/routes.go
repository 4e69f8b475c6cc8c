package http

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"afterimage/records"
)

// routes are all routes, each under the right it needs.
func (s *Server) routes() (http.Handler, error) {
	r := chi.NewRouter()
	r.Use(nameRequest, s.logRequests, secureHeaders, s.recoverPanics, limitBody)
	r.NotFound(func(w http.ResponseWriter, r *http.Request) { s.oops(w, r, records.ErrNotFound) })
	r.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		s.oops(w, r, newProblem(http.StatusMethodNotAllowed, codeMethod, "This address does not take "+r.Method+"."))
	})
	s.openRoutes(r)
	s.apiRoutes(r)
	s.pageRoutes(r)
	return s.crossOrigin(r)
}

// openRoutes need no account. Who may see an image, its handler decides.
func (s *Server) openRoutes(r chi.Router) {
	r.Get("/livez", s.livez)
	r.Get("/readyz", s.readyz)
	r.Method(http.MethodGet, "/assets/*", s.Site.Assets())
	r.Get("/img/{id}", s.serveImage)
	r.Head("/img/{id}", s.serveImage)
	r.Get("/thumb/{id}", s.serveThumb)
	r.Head("/thumb/{id}", s.serveThumb)
}

// apiRoutes are for programs, with a key or with the pages' cookie.
func (s *Server) apiRoutes(r chi.Router) {
	r.Route("/api/v1", func(r chi.Router) {
		r.Group(func(r chi.Router) {
			r.Use(s.need(records.ScopeImagesRead))
			r.Get("/generations/{id}", s.getGeneration)
			r.Get("/images", s.listImages)
			r.Get("/images/{id}", s.getImage)
			r.Get("/images/{id}/events", s.imageEvents)
			r.Get("/history", s.history)
		})
		r.Group(func(r chi.Router) {
			r.Use(s.need(records.ScopeImagesWrite))
			r.Post("/generations", s.createGeneration)
			r.Post("/generations/{id}/cancel", s.cancelGeneration)
			r.Post("/images/import", s.importImages)
			r.Patch("/images/{id}", s.patchImage)
			r.Delete("/images/{id}", s.deleteImage)
			r.Post("/images/{id}/retry", s.retryImage)
		})
		r.Group(func(r chi.Router) {
			r.Use(s.need(records.ScopeOpsRead))
			r.Get("/archive", s.queue)
		})
	})
}
