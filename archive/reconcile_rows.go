package archive

import (
	"context"
	"errors"
	"slices"
	"strings"

	"afterimage/records"
	"afterimage/storage"
)

// rows looks at every archived image and asks for its objects.
func (r *reconciliation) rows(ctx context.Context) error {
	for after := ""; ; {
		page, err := r.DB.KeptAfter(ctx, after, pageSize)
		if err != nil || len(page) == 0 {
			return err
		}
		after = page[len(page)-1].ID
		r.done.Rows += len(page)
		if err := r.rowPage(ctx, page); err != nil {
			return err
		}
		r.progress()
	}
}

// rowPage lists the part of the store in which the objects of some images lie,
// and looks at what it does not have.
func (r *reconciliation) rowPage(ctx context.Context, page []records.Kept) error {
	wanted := map[string]bool{}
	for _, k := range page {
		wanted[k.ID] = true
	}
	// The database may sort in an order of its own.
	byID := func(a, b records.Kept) int { return strings.Compare(a.ID, b.ID) }
	first, last := slices.MinFunc(page, byID).ID, slices.MaxFunc(page, byID).ID
	there := make(map[string]int64, 2*len(page))
	for _, prefix := range []string{images, thumbnails, sidecars} {
		if err := r.window(ctx, prefix, first, last, func(o storage.Info) {
			if wanted[idOf(o.Key)] {
				there[o.Key] = o.Size
			}
		}); err != nil {
			return err
		}
	}
	for _, k := range page {
		if err := r.row(ctx, k, there); err != nil {
			return err
		}
	}
	return nil
}

// window lists the objects of images from the first id to the last.
func (r *reconciliation) window(ctx context.Context, prefix, first, last string, see func(storage.Info)) error {
	end := prefix + dated(last) + "~" // after every character that a key has
	for after := prefix + dated(first); ; {
		page, err := r.Store.List(ctx, prefix, after, pageSize)
		if err != nil {
			return err
		}
		for _, o := range page {
			if o.Key > end {
				return nil
			}
			see(o)
		}
		if len(page) < pageSize {
			return nil
		}
		after = page[len(page)-1].Key
	}
}

// row compares one image with what the store has of it.
func (r *reconciliation) row(ctx context.Context, k records.Kept, there map[string]int64) error {
	keys := keysOf(k)
	kind := ""
	for _, key := range keys {
		size, ok := there[key]
		switch {
		case key == k.ObjectKey && !ok:
			kind = ObjectMissing
		case key == k.ObjectKey && size != k.Bytes:
			kind = ObjectSize
		case !ok && kind == "" && strings.HasPrefix(key, thumbnails):
			kind = ThumbMissing
		case !ok && kind == "" && strings.HasPrefix(key, sidecars):
			kind = SidecarMissing
		}
	}
	if kind == "" {
		return nil
	}
	if k.ArchivedAt.After(r.cutoff) {
		r.done.Young++
		return nil
	}
	return r.oddRow(ctx, k, kind)
}

// oddRow looks once more at an image that seems to have lost an object.
func (r *reconciliation) oddRow(ctx context.Context, k records.Kept, kind string) error {
	busy, err := r.DB.Busy(ctx, []string{k.ID})
	if err != nil {
		return err
	}
	now, err := r.DB.ImageByLink(ctx, k.ID)
	switch {
	case errors.Is(err, records.ErrNotFound):
		return nil
	case err != nil:
		return err
	case now.Status != records.Archived || now.ObjectKey != k.ObjectKey || now.Thumb != k.Thumb || now.Sidecar != k.Sidecar:
		return nil
	case busy[k.ID] && (kind == ThumbMissing || kind == SidecarMissing):
		r.done.Busy++
		return nil
	}
	d := Difference{Kind: kind, Image: k.ID, Key: k.ObjectKey, Bytes: k.Bytes}
	if kind == ObjectMissing || kind == ObjectSize {
		info, err := r.Store.Stat(ctx, k.ObjectKey)
		switch {
		case errors.Is(err, storage.ErrNotFound), k.ObjectKey == "": // set to archived by hand
		case err != nil:
			return err
		case info.Size == k.Bytes:
			return nil
		}
		return r.note(ctx, d, func(ctx context.Context) (string, error) { return r.offerAgain(ctx, k) })
	}
	return r.note(ctx, d, func(ctx context.Context) (string, error) {
		err := r.DB.Redo(ctx, k, kind == ThumbMissing)
		return "made again", notPossible(err)
	})
}

// offerAgain treats an image without its object as Verify does.
func (r *reconciliation) offerAgain(ctx context.Context, k records.Kept) (string, error) {
	f, err := r.look(ctx, k, &pace{})
	if err != nil {
		return "", err
	}
	switch out, err := r.apply(ctx, f); {
	case err != nil:
		return "", err
	case out == offered:
		return "archived once more", nil
	case out == lost:
		return "the image says that it is lost", nil
	}
	return "", nil
}
