package archive

import (
	"context"
	"time"

	"afterimage/records"
)

// spooled looks at every file of our spool and asks who needs it.
func (r *reconciliation) spooled(ctx context.Context) error {
	uploads, err := r.DB.WaitingUploads(ctx)
	if err != nil {
		return err
	}
	var page []string
	for id, err := range r.Spool.List() {
		if err != nil {
			return err
		}
		r.done.Spooled++
		if uploads[id] {
			continue // a generation that is not over starts from it
		}
		if page = append(page, id); len(page) == pageSize {
			if err := r.spoolPage(ctx, page); err != nil {
				return err
			}
			page = page[:0]
		}
	}
	return r.spoolPage(ctx, page)
}

func (r *reconciliation) spoolPage(ctx context.Context, page []string) error {
	known, err := r.DB.KeptByID(ctx, page)
	if err != nil {
		return err
	}
	for _, id := range page {
		k, there := known[id]
		if there && !needless(k.Status) {
			continue
		}
		old, err := r.olderThan(id, time.Since(r.cutoff))
		if err != nil {
			return err
		}
		if !old {
			r.done.Young++
			continue
		}
		d := Difference{Kind: SpoolWithoutRow, Image: id}
		if s, err := r.Spool.Stat(id); err == nil {
			d.Bytes = s.Size
		}
		mend := func(context.Context) (string, error) { return "quarantined", r.Spool.Quarantine(id) }
		if there {
			d.Kind = SpoolNotNeeded
			mend = func(context.Context) (string, error) { return "removed", r.Spool.Remove(id) }
		}
		if err := r.note(ctx, d, mend); err != nil {
			return err
		}
	}
	return nil
}

// needless reports whether an image in this state needs no file in the spool.
func needless(s records.Status) bool {
	return s == records.Archived || s == records.Canceled || s == records.GenerateFailed
}
