package http

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

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
	view := web.GalleryView{Layout: s.layout(r, "gallery"), Now: time.Now(), Wall: wallOf(r), Selecting: r.URL.Query().Has("select")}
	view.Notice = cmp.Or(message(s.takeNotice(w, r)), s.deadHook(r))
	if err := s.fillGallery(r, &view); err != nil {
		s.failPage(w, r, err)
		return
	}
	s.render(w, r, http.StatusOK, "gallery", view)
}

func (s *Server) fillGallery(r *http.Request, v *web.GalleryView) (err error) {
	ctx, user, q := r.Context(), viewerOf(r).user.ID, r.URL.Query()
	v.Find = readFind(q)
	filter, err := findFilter(v.Find, zoneOf(r))
	if err != nil {
		return err
	}
	seq, err := s.DB.HistoryHead(ctx, user) // before the list, as for the page "create"
	if err != nil {
		return err
	}
	v.LiveURL = s.liveURL(user, seq, "")
	if v.Counts, err = s.counts(ctx, user, filter); err != nil {
		return err
	}
	v.Providers = append(slices.Clone(s.order), "import")
	v.Tiles, v.OlderURL, err = s.wall(ctx, user, filter, "/", v.Find.Values(), q.Get("cursor"))
	return err
}

// readFind reads what the gallery is asked for, from its address or from the
// form that acts on all of it.
func readFind(q url.Values) web.Find {
	return web.Find{Query: strings.TrimSpace(q.Get("q")), Status: q.Get("status"), Provider: q.Get("provider"),
		From: q.Get("from"), To: q.Get("to"), Favorite: q.Get("favorite") != ""}
}

// findFilter is a Find as the database understands it. Its days are those of
// the person's zone, and To is still one of them.
func findFilter(find web.Find, zone *time.Location) (f records.ImageFilter, err error) {
	for field, value := range map[string]string{"q": find.Query, "provider": find.Provider} {
		if err := checkText(field, value, maxSearch); err != nil {
			return f, err
		}
	}
	statuses, ok := statusGroups[find.Status]
	if !ok {
		return f, badRequest(codeBadRequest, "There is no such filter.")
	}
	f = records.ImageFilter{Search: find.Query, Statuses: statuses, Provider: find.Provider, Favorite: find.Favorite}
	if f.From, err = dayOf(find.From, 0, zone); err != nil {
		return f, err
	}
	f.To, err = dayOf(find.To, 1, zone)
	return f, err
}

// dayOf is where a day begins, or the one so many days after it.
func dayOf(text string, after int, zone *time.Location) (records.Time, error) {
	if text == "" {
		return records.Time{}, nil
	}
	day, err := time.ParseInLocation(time.DateOnly, text, zone)
	if err != nil {
		return records.Time{}, badRequest(codeBadRequest, "A day is written as 2026-11-30.")
	}
	return records.At(day.AddDate(0, 0, after)), nil
}

// counts are the figures beside the filters.
func (s *Server) counts(ctx context.Context, user string, f records.ImageFilter) (c web.Counts, err error) {
	f.Statuses = nil
	counts, err := s.DB.CountImages(ctx, user, f)
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

// walls are the ways to hang images: in rows and their own proportions, or in
// equal squares.
var walls = []string{"rows", "squares"}

// wallOf is how the person likes them; rows if nothing was said.
func wallOf(r *http.Request) string {
	if c, err := r.Cookie("wall"); err == nil && slices.Contains(walls, c.Value) {
		return c.Value
	}
	return walls[0]
}

// setWall keeps it in the browser: a phone and a large screen may differ.
func (s *Server) setWall(w http.ResponseWriter, r *http.Request) {
	how := chi.URLParam(r, "how")
	if !slices.Contains(walls, how) {
		s.failPage(w, r, records.ErrNotFound)
		return
	}
	http.SetCookie(w, s.cookie("wall", how, yearSeconds))
	http.Redirect(w, r, safePath(r.URL.Query().Get("to")), http.StatusSeeOther)
}

// zoneOf is the browser's time zone, which a script of every page tells.
func zoneOf(r *http.Request) *time.Location {
	c, err := r.Cookie("tz")
	if err != nil {
		return time.UTC
	}
	name, err := url.QueryUnescape(c.Value)
	if err != nil || name == "Local" || len(name) > 64 {
		return time.UTC
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return zone
}
