package http

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"afterimage/archive"
	"afterimage/records"
	"afterimage/web"
)

// maxUndo is how many images an Undo names: what a cookie has room for.
const maxUndo = 100

// actDownload is what the form of a wall can do beside the bulk actions.
const actDownload = "download"

// selection is what a form of a wall chose: images by their ids, or all that
// it found.
type selection struct {
	ids    []string
	all    bool
	filter records.ImageFilter
}

func readSelection(f url.Values, r *http.Request) (sel selection, err error) {
	if f.Get("all") != "" {
		sel.all = true
		sel.filter, err = findFilter(readFind(f), zoneOf(r))
		sel.filter.Trashed = f.Get("trashed") != ""
		return sel, err
	}
	for _, id := range f["id"] {
		for one := range strings.SplitSeq(id, ".") {
			if !records.IsID(one) {
				return sel, badRequest(codeBadRequest, "Not all of these are images.")
			}
			sel.ids = append(sel.ids, one)
		}
	}
	return sel, nil
}

// bulkForm does one thing to the images that were chosen.
func (s *Server) bulkForm(w http.ResponseWriter, r *http.Request) {
	err := readForm(r)
	var sel selection
	if err == nil {
		sel, err = readSelection(r.PostForm, r)
	}
	action := r.PostForm.Get("action")
	switch {
	case err != nil:
		s.failPage(w, r, err)
	case len(sel.ids) == 0 && !sel.all:
		s.redirect(w, r, s.backTo(r, "/"), noticeNothing)
	case action == actDownload:
		s.sendZip(w, r, archive.Export{UserID: viewerOf(r).user.ID, Next: s.chosen(viewerOf(r).user.ID, sel)})
	case !slices.Contains(records.BulkActions, records.BulkAction(action)):
		s.failPage(w, r, badRequest(codeBadRequest, "There is no such action."))
	case action == string(records.BulkDelete) && r.PostForm.Get("sure") == "":
		s.askToDelete(w, r, sel)
	default:
		s.doBulk(w, r, records.BulkAction(action), sel)
	}
}

func (s *Server) chosen(user string, sel selection) func(context.Context) ([]records.Image, error) {
	if sel.all {
		return s.byFilter(user, sel.filter)
	}
	return s.byIDs(user, sel.ids)
}

// doBulk says afterwards how many it was, and offers to undo it where that is
// possible.
func (s *Server) doBulk(w http.ResponseWriter, r *http.Request, action records.BulkAction, sel selection) {
	done, err := s.applyBulk(r.Context(), viewerOf(r).user.ID, action, sel)
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	otherwise := "/"
	if action == records.BulkRestore || action == records.BulkDelete {
		otherwise = "/trash"
	}
	said := notice{key: "notice.bulk." + string(action), n: done}
	if action == records.BulkTrash && len(sel.ids) <= maxUndo {
		said.undo = sel.ids
	}
	s.redirectSaying(w, r, s.backTo(r, otherwise), said)
}

// applyBulk goes through the images a thousand at a time.
func (s *Server) applyBulk(ctx context.Context, user string, action records.BulkAction, sel selection) (done int, err error) {
	if !sel.all {
		for part := range slices.Chunk(sel.ids, maxBulk) {
			n, _, err := s.DB.Bulk(ctx, user, part, action)
			if done += n; err != nil {
				return done, err
			}
		}
		return done, nil
	}
	f := sel.filter
	f.Limit = maxBulk
	for {
		images, err := s.DB.Images(ctx, user, f)
		if err != nil || len(images) == 0 {
			return done, err
		}
		ids := make([]string, len(images))
		for n := range images {
			ids[n] = images[n].ID
		}
		f.Before = images[len(images)-1].Place()
		n, _, err := s.DB.Bulk(ctx, user, ids, action)
		if done += n; err != nil {
			return done, err
		}
	}
}

// askToDelete asks once more: nothing brings these back.
func (s *Server) askToDelete(w http.ResponseWriter, r *http.Request, sel selection) {
	view := web.DeleteView{Layout: s.layout(r, "trash"), IDs: sel.ids, N: len(sel.ids), Back: s.backTo(r, "/trash")}
	if sel.all {
		counts, err := s.DB.CountImages(r.Context(), viewerOf(r).user.ID, sel.filter)
		if err != nil {
			s.failPage(w, r, err)
			return
		}
		for _, n := range counts {
			view.N += n
		}
		view.All = true
	}
	s.render(w, r, http.StatusOK, "delete", view)
}

// emptyTrash deletes all there is, if the person knows how much that is.
func (s *Server) emptyTrash(w http.ResponseWriter, r *http.Request) {
	err := readForm(r)
	var total int
	if err == nil {
		total, _, err = s.DB.TrashSize(r.Context(), viewerOf(r).user.ID)
	}
	if err != nil {
		s.failPage(w, r, err)
		return
	}
	if typed, err := strconv.Atoi(strings.TrimSpace(r.PostForm.Get("count"))); err != nil || typed != total {
		s.redirectSaying(w, r, "/trash", notice{key: noticeNotEmpty, n: total})
		return
	}
	s.doBulk(w, r, records.BulkDelete, selection{all: true, filter: records.ImageFilter{Trashed: true}})
}
