package http

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"afterimage/storage"
	"afterimage/web"
)

// verifyImage reads the stored object back, compares it with what was stored,
// and answers with the image as it is then.
func (s *Server) verifyImage(w http.ResponseWriter, r *http.Request) {
	user, id := viewerOf(r).user.ID, chi.URLParam(r, "id")
	i, err := s.DB.Image(r.Context(), user, id)
	if err == nil {
		_, err = s.Verify(r.Context(), i)
	}
	if _, ok := errors.AsType[*storage.Error](err); ok {
		s.Log.Error("an image could not be verified", "image", id, "err", err)
		err = newProblem(http.StatusServiceUnavailable, codeStore, "Storage does not answer right now.").after(10 * time.Second)
	}
	s.answerImage(w, r, http.StatusOK, id, err)
}

// alarms are what administrators should see on every page. A database that
// does not answer is told by the page itself.
func (s *Server) alarms(ctx context.Context) []web.Message {
	n, err := s.DB.CountDamaged(ctx)
	if err != nil {
		s.Log.Error("damaged images could not be counted", "err", err)
	}
	var list []web.Message
	if n > 0 {
		list = append(list, web.Message{Key: "alarm.damaged", Args: web.Args{"n": n}, Bad: true})
	}
	raised, err := s.DB.Alarms(ctx)
	if err != nil {
		s.Log.Error("alarms could not be read", "err", err)
	}
	for _, a := range raised {
		list = append(list, web.Message{Key: "alarm." + a.Name, Bad: true})
	}
	return list
}
