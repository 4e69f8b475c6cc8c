package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"afterimage/records"
	"afterimage/storage"
)

// Conserved is what a check of conservation looked at and found.
type Conserved struct {
	Images  int                  // archived ones whose object was asked for
	Objects int                  // that were listed
	Total   int                  // differences
	Found   []records.Difference // the first of them
}

const (
	// conserveBatch is how many rows are looked at together.
	conserveBatch = 500
	// conserveAsks is how many objects are asked for at a time.
	conserveAsks = 8
)

// ErrStorePaused says that the store cannot be asked now.
var ErrStorePaused = errors.New("the store is paused")

// Conserve compares the records with themselves and with the store. Of the
// archived images it asks for the objects of one share of shares, numbered from
// 0; with whole it lists the store instead and looks at all of them, and for
// objects that nobody owns. An error says nothing about an image. At most most
// differences are named.
func (a *Archiver) Conserve(ctx context.Context, share, shares int, whole bool, most int) (Conserved, error) {
	if _, _, paused := a.Paused(); paused {
		return Conserved{}, ErrStorePaused
	}
	c := &conservation{Archiver: a, most: most}
	found, total, err := a.DB.Conservation(ctx, most)
	if err != nil {
		return Conserved{}, err
	}
	for _, d := range found {
		c.note(d)
	}
	c.done.Total = total
	if whole {
		err = c.list(ctx)
	} else {
		err = c.ask(ctx, share, shares)
	}
	return c.done, err
}

type conservation struct {
	*Archiver
	most int
	done Conserved
}

func (c *conservation) note(d records.Difference) {
	c.done.Total++
	if len(c.done.Found) < c.most {
		c.done.Found = append(c.done.Found, d)
	}
}

// list compares the whole listing of the store with the records. What is only
// drawn or written anew, thumbnails and sidecars, is no loss.
func (c *conservation) list(ctx context.Context) error {
	says := map[string]string{ObjectWithoutRow: "object without a row", ObjectNotUsed: "object that is not its image's",
		ObjectMissing: "object missing of image", ObjectSize: "object of another size of image"}
	r, err := c.Reconcile(ctx, Reconcile{Found: func(d Difference) {
		what, counts := says[d.Kind]
		if counts {
			c.note(records.Difference{What: what, ID: cmp.Or(d.Image, d.Key)})
		}
	}})
	c.done.Images, c.done.Objects = r.Rows, r.Objects
	return err
}

// ask asks the store for the object of each image of a share.
func (c *conservation) ask(ctx context.Context, share, shares int) error {
	for after := ""; ; {
		list, err := c.DB.HoldingsAfter(ctx, after, conserveBatch)
		if err != nil || len(list) == 0 {
			return err
		}
		after = list[len(list)-1].ID
		var mine []records.Holding
		for _, h := range list {
			if records.Share(h.ID, shares) == share && h.ObjectKey != "" {
				mine = append(mine, h)
			}
		}
		if err := c.askFor(ctx, mine); err != nil {
			return err
		}
	}
}

func (c *conservation) askFor(ctx context.Context, list []records.Holding) error {
	found := make([]string, len(list))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(conserveAsks)
	for n, h := range list {
		group.Go(func() (err error) {
			found[n], err = c.compareOne(ctx, h)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("compare the records with the store: %w", err)
	}
	for n, h := range list {
		c.done.Images++
		if found[n] != "" {
			c.note(records.Difference{What: found[n], ID: h.ID})
		}
	}
	return nil
}

// compareOne says what is wrong with an image's object, or nothing.
func (c *conservation) compareOne(ctx context.Context, h records.Holding) (string, error) {
	info, err := c.Store.Stat(ctx, h.ObjectKey)
	what := ""
	switch {
	case errors.Is(err, storage.ErrNotFound):
		what = "object missing of image"
	case err != nil:
		return "", err
	case info.Size != h.Bytes:
		what = fmt.Sprintf("object of %d bytes instead of %d of image", info.Size, h.Bytes)
	default:
		return "", nil
	}
	// Its owner may just have deleted it.
	now, err := c.DB.ImageByLink(ctx, h.ID)
	if errors.Is(err, records.ErrNotFound) || err == nil && (now.Status != records.Archived || now.ObjectKey != h.ObjectKey) {
		return "", nil
	}
	return what, err
}
