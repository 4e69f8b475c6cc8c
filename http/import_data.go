package http

import (
	"context"
	"errors"
	"slices"
	"strings"

	"afterimage/fetch"
	"afterimage/records"
)

// secureData puts an image that its address carries in itself into the spool,
// before the import is promised: nobody can give it again, and a row is no
// place for it. If the disk does not take it, it stays in the row.
func (s *Server) secureData(ctx context.Context, item *records.ImportItem) {
	if item.Reason != "" || len(item.URL) < 5 || !strings.EqualFold(item.URL[:5], "data:") {
		return
	}
	id := records.NewID()
	err := s.spoolData(ctx, id, item.URL)
	if e, ok := errors.AsType[*fetch.Error](err); ok {
		item.Reason, item.Detail = e.Reason, e.Error()
		return
	}
	if err != nil {
		s.Log.Error("an imported image could not be put into the spool", "err", err)
		return
	}
	item.ID, item.SpoolID, item.URL = id, s.Spool.ID(), ""
}

func (s *Server) spoolData(ctx context.Context, id, url string) error {
	draft, err := s.Spool.Create(id)
	if err != nil {
		return err
	}
	defer draft.Close()
	if _, err := s.Fetch.Get(ctx, fetch.Source{URL: url}, draft); err != nil {
		return err
	}
	return draft.Commit()
}

// dropUnused removes from the spool what no image was made of: this import was
// made before. After a failed one nobody knows, and the spool is cleaned later.
func (s *Server) dropUnused(items []records.ImportItem, made []records.Image) {
	for _, item := range items {
		if item.SpoolID == "" || slices.ContainsFunc(made, func(i records.Image) bool { return i.ID == item.ID }) {
			continue
		}
		if err := s.Spool.Remove(item.ID); err != nil {
			s.Log.Error("a file could not be removed from the spool", "image", item.ID, "err", err)
		}
	}
}
