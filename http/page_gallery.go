package http

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"afterimage/records"
	"afterimage/web"
)

// pageImages is how many images one page of the gallery or the trash has.
const pageImages = 60

// statusGroups are the filters of the gallery. What was called off is only
// under all.
var statusGroups = map[string][]records.Status{
	"":         nil,
	"progress": {records.Queued, records.Generating, records.Generated, records.Archiving, records.RetryWait},
	"archived": {records.Archived},
	"failed":   {records.ArchiveFailed, records.GenerateFailed, records.Unknown},
}

func (s *Server) gallery(w http.ResponseWriter, r *http.Request) {
	view := web.GalleryView{Layout: s.layout(r, "gallery"), Now: time.Now()}
	view.Notice = cmp.Or(message(s.takeNotice(w, r)), s.deadHook(r))
	if err := s.fillGallery(r, &view); err != nil {
		s.failPage(w, r, err)
		return
	}
	s.render(w, r, http.StatusOK, "gallery", view)
}

func (s *Server) fillGallery(r *http.Request, v *web.GalleryView) error {
	ctx, user, q := r.Context(), viewerOf(r).user.ID, r.URL.Query()
	v.Query, v.Status = strings.TrimSpace(q.Get("q")), q.Get("status")
	if err := checkText("q", v.Query, maxSearch); err != nil {
		return err
	}
	statuses, ok := statusGroups[v.Status]
	if !ok {
		return badRequest(codeBadRequest, "There is no such filter.")
	}
	seq, err := s.DB.HistoryHead(ctx, user) // before the list, as for the page "create"
	if err != nil {
		return err
	}
	v.LiveURL = s.liveURL(user, seq, "")
	if v.Counts, err = s.counts(ctx, user, v.Query); err != nil {
		return err
	}
	filter := records.ImageFilter{Search: v.Query, Statuses: statuses}
	older := url.Values{}
	for name, value := range map[string]string{"q": v.Query, "status": v.Status} {
		if value != "" {
			older.Set(name, value)
		}
	}
	v.Tiles, v.OlderURL, err = s.wall(ctx, user, filter, "/", older, q.Get("cursor"))
	return err
}

// counts are the figures beside the filters.
func (s *Server) counts(ctx context.Context, user, search string) (c web.Counts, err error) {
	counts, err := s.DB.CountImages(ctx, user, records.ImageFilter{Search: search})
	sum := func(group string) (n int) {
		for _, status := range statusGroups[group] {
			n += counts[status]
		}
		return n
	}
	for _, n := range counts {
		c.All += n
	}
	c.Progress, c.Archived, c.Failed = sum("progress"), sum("archived"), sum("failed")
	return c, err
}

// wall is one page of images, after the place that a cursor names, and the
// address of the next page.
func (s *Server) wall(ctx context.Context, user string, f records.ImageFilter, page string, q url.Values, cursor string) (tiles []web.Tile, older string, err error) {
	if cursor != "" {
		if f.Before, err = s.readPlace(user, cursor); err != nil {
			return nil, "", err
		}
	}
	f.Limit = pageImages + 1 // to see whether there are more
	images, err := s.DB.Images(ctx, user, f)
	if err != nil {
		return nil, "", err
	}
	if len(images) > pageImages {
		images = images[:pageImages]
		q.Set("cursor", s.placeCursor(user, images[pageImages-1].Place()))
		older = page + "?" + q.Encode()
	}
	return s.tiles(images), older, nil
}
