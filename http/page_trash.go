package http

import (
	"net/http"
	"net/url"
	"time"

	"afterimage/records"
	"afterimage/web"
)

func (s *Server) trash(w http.ResponseWriter, r *http.Request) {
	user := viewerOf(r).user.ID
	view := web.TrashView{Layout: s.layout(r, "trash"), Now: time.Now(), Retention: s.TrashRetention, Wall: wallOf(r),
		Selecting: r.URL.Query().Has("select")}
	view.Notice = message(s.takeNotice(w, r))
	var err error
	if view.Total, view.Bytes, err = s.DB.TrashSize(r.Context(), user); err == nil {
		view.Tiles, view.OlderURL, err = s.wall(r.Context(), user, records.ImageFilter{Trashed: true},
			"/trash", url.Values{}, r.URL.Query().Get("cursor"))
	}
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	s.render(w, r, http.StatusOK, "trash", view)
}
