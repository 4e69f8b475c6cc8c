package http

import "net/http"

import "github.com/go-chi/chi/v5"

func (s *Server) pageRoutes(r chi.Router) {}

func (s *Server) failPage(w http.ResponseWriter, r *http.Request, err error) { s.fail(w, r, err) }

func (s *Server) serveThumb(w http.ResponseWriter, r *http.Request) { s.serveImage(w, r) }
