package http

import "github.com/go-chi/chi/v5"

// Router gives tests the real route table.
func (s *Server) Router() chi.Router { return s.router }
