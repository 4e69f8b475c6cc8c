package http

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"afterimage/records"
)

// maxBulk is how many images one bulk request takes.
const maxBulk = 1000

// bulkRequest is the body of POST /api/v1/images/bulk. Without ids the query
// selects, as that of the list.
type bulkRequest struct {
	Action records.BulkAction `json:"action"`
	IDs    []string           `json:"ids,omitempty"`
}

type bulkAnswer struct {
	Done       int           `json:"done"`
	Skipped    []skippedJSON `json:"skipped"`
	NextCursor *string       `json:"next_cursor"` // the filter selects more: call again with it
}

type skippedJSON struct {
	ID   string `json:"id"`
	Code string `json:"code"`
}

// bulkImages does one thing to many images: named by their ids, or selected by
// a filter, 1,000 at a time.
func (s *Server) bulkImages(w http.ResponseWriter, r *http.Request) {
	var req bulkRequest
	answer, err := bulkAnswer{}, readJSON(r, &req)
	if err == nil && !slices.Contains(records.BulkActions, req.Action) {
		err = invalid("action", fmt.Sprintf("action is one of %v.", records.BulkActions))
	}
	if err == nil {
		req.IDs, answer.NextCursor, err = s.selected(r, req.IDs)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	done, skipped, err := s.DB.Bulk(r.Context(), viewerOf(r).user.ID, req.IDs, req.Action)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	answer.Done, answer.Skipped = done, []skippedJSON{}
	for _, id := range slices.Sorted(maps.Keys(skipped)) {
		answer.Skipped = append(answer.Skipped, skippedJSON{id, asProblem(skipped[id]).Code})
	}
	writeJSON(w, http.StatusOK, answer)
}

// filters are the parameters that select images.
var filters = []string{"status", "q", "provider", "from", "to", "favorite", "trashed"}

// selected are the ids that a request names, or those that its filter selects,
// with the cursor to the next ones. A request that says neither would mean all
// images, perhaps by mistake: whoever means them says trashed=false.
func (s *Server) selected(r *http.Request, ids []string) (_ []string, next *string, err error) {
	q, filtered := r.URL.Query(), false
	for _, name := range filters {
		filtered = filtered || q.Has(name)
	}
	switch {
	case len(ids) > maxBulk:
		return nil, nil, invalid("ids", fmt.Sprintf("There are more than %d ids.", maxBulk))
	case len(ids) > 0 && filtered:
		return nil, nil, invalid("ids", "Name ids or a filter, not both.")
	case len(ids) > 0:
		for _, id := range ids {
			if !records.IsID(id) {
				return nil, nil, invalid("ids", "Not all of ids are ids of images.")
			}
		}
		return ids, nil, nil
	case !filtered:
		return nil, nil, invalid("ids", "Name ids, or a filter: "+strings.Join(filters, ", ")+".")
	}
	user := viewerOf(r).user.ID
	f, err := s.imageFilter(r, user)
	if err != nil {
		return nil, nil, err
	}
	f.Limit = maxBulk + 1
	images, err := s.DB.Images(r.Context(), user, f)
	if len(images) > maxBulk {
		images = images[:maxBulk]
		next = new(s.placeCursor(user, images[maxBulk-1].Place()))
	}
	for n := range images {
		ids = append(ids, images[n].ID)
	}
	return ids, next, err
}
