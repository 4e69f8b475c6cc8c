package http

import (
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"afterimage/records"
)

// routes are all routes, each under the right it needs.
func (s *Server) routes() (chi.Router, error) {
	sameOrigin, err := s.crossOrigin()
	if err != nil {
		return nil, err
	}
	r := chi.NewRouter()
	r.Use(nameRequest, s.logRequests, s.secureHeaders, s.recoverPanics, hurry, s.cors, sameOrigin, limitBody, middleware.GetHead)
	r.NotFound(func(w http.ResponseWriter, r *http.Request) { s.oops(w, r, records.ErrNotFound) })
	r.MethodNotAllowed(s.methodNotAllowed)
	s.openRoutes(r)
	s.apiRoutes(r)
	s.openAIRoutes(r)
	s.pageRoutes(r)
	return r, nil
}

// methodNotAllowed says which methods an address takes.
func (s *Server) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodDelete} {
		asked := method
		if method == http.MethodHead {
			asked = http.MethodGet // middleware.GetHead
		}
		if s.router.Match(chi.NewRouteContext(), asked, r.URL.Path) {
			w.Header().Add("Allow", method)
		}
	}
	s.oops(w, r, newProblem(http.StatusMethodNotAllowed, codeMethod, "This address does not take "+r.Method+"."))
}

// openRoutes need no account. Who may see an image, its handler decides.
func (s *Server) openRoutes(r chi.Router) {
	r.Get("/livez", s.livez)
	r.Get("/readyz", s.readyz)
	r.Get("/metrics", s.metrics)
	r.With(compress).Get("/api/openapi.json", s.describe)
	r.With(compress).Get("/api/docs", s.docs)
	r.Method(http.MethodGet, "/assets/*", s.Site.Assets())
	r.Get("/img/{id}", s.serveImage)
	r.Get("/thumb/{id}", s.serveThumb)
}

// apiRoutes are for programs, with a key or with the pages' cookie.
func (s *Server) apiRoutes(r chi.Router) {
	// Not compressed: an event must not wait in a buffer, and images are already.
	r.With(s.need(records.ScopeImagesRead)).Get("/api/v1/events", s.events)
	r.With(s.need(records.ScopeImagesRead)).Get("/api/v1/images/download", s.downloadImages)
	r.With(s.need(records.ScopeOpsWrite), s.onlyIDs).Get("/api/v1/users/{id}/export", s.exportUser)
	r.Route("/api/v1", func(r chi.Router) {
		r.Use(compress)
		r.Group(func(r chi.Router) {
			r.Use(s.need(records.ScopeImagesRead), s.onlyIDs)
			r.Get("/generations/{id}", s.getGeneration)
			r.Get("/images", s.listImages)
			r.Get("/images/counts", s.countImages)
			r.Get("/images/{id}", s.getImage)
			r.Get("/images/{id}/events", s.imageEvents)
			r.Get("/history", s.history)
			r.Get("/imports/{id}", s.getImport)
			r.Get("/webhooks", s.listWebhooks)
			r.Get("/webhooks/{id}", s.getWebhook)
			r.Get("/webhooks/{id}/deliveries", s.listDeliveries)
			r.Get("/digests", s.listDigests)
			r.Get("/usage", s.usageAnswer)
		})
		r.Group(func(r chi.Router) {
			r.Use(s.need(records.ScopeImagesWrite), s.onlyIDs)
			r.Post("/generations", s.createGeneration)
			r.Post("/generations/{id}/cancel", s.cancelGeneration)
			r.Post("/images/import", s.importImages)
			r.Post("/images/bulk", s.bulkImages)
			r.Patch("/images/{id}", s.patchImage)
			r.Delete("/images/{id}", s.deleteImage)
			r.Post("/images/{id}/retry", s.retryImage)
			r.Post("/images/{id}/verify", s.verifyImage)
			r.Post("/webhooks", s.createWebhook)
			r.Post("/webhooks/{id}/rotate", s.rotateWebhook)
			r.Post("/webhooks/{id}/test", s.testWebhook)
			r.Post("/webhooks/{id}/enable", s.enableWebhook)
			r.Delete("/webhooks/{id}", s.deleteWebhook)
		})
		s.accountRoutes(r)
		r.Group(func(r chi.Router) {
			r.Use(s.need(records.ScopeOpsRead), s.onlyIDs)
			r.Get("/users", s.listUsers)
			r.Get("/users/{id}", s.getUser)
			r.Get("/archive", s.queue)
			r.Get("/jobs", s.jobKinds)
			r.Get("/jobs/list", s.listJobs)
		})
		r.Group(func(r chi.Router) {
			r.Use(s.need(records.ScopeOpsWrite), s.onlyIDs)
			r.Post("/archive/retry", s.retryArchive)
			r.Post("/jobs/revive", s.reviveJobs)
			r.Post("/jobs/kinds/{kind}/pause", s.pauseKind)
			r.Post("/jobs/kinds/{kind}/resume", s.resumeKind)
		})
	})
}

// accountRoutes are about whoever asks.
func (s *Server) accountRoutes(r chi.Router) {
	r.With(s.need(records.ScopeImagesRead)).Get("/me", s.getMe)
	r.Group(func(r chi.Router) {
		r.Use(s.needPerson, s.onlyIDs)
		r.Post("/me/password", s.changePassword)
		r.Get("/sessions", s.listSessions)
		r.Delete("/sessions/{id}", s.endSession)
		r.Get("/keys", s.listKeys)
		r.Post("/keys", s.makeKey)
		r.Delete("/keys/{id}", s.endKey)
	})
	r.Group(func(r chi.Router) {
		r.Use(s.need(records.ScopeOpsWrite), s.onlyIDs)
		r.Post("/users", s.makeUser)
		r.Patch("/users/{id}", s.patchUser)
		r.Delete("/users/{id}", s.deleteUser)
		r.Post("/users/{id}/reset", s.resetLink)
	})
}
