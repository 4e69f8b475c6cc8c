package generate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"afterimage/fetch"
	"afterimage/records"
	"afterimage/storage"
)

// TakeInput secures in the spool an image that somebody uploads to start from,
// and says what it is. What is no image, or has more than max bytes, is a
// *fetch.Error; the disk's failure is a *storage.Error; an error of body comes
// back wrapped. If no generation is made of it, remove its File from the
// spool; the cleaning of the spool does so after a week.
func TakeInput(spool *storage.Spool, client *fetch.Client, body io.Reader, max int64) (records.Input, error) {
	name := records.NewID()
	kept, err := spool.Write(name, &boundedBody{r: body, left: max, max: max})
	if _, ok := errors.AsType[oversizeError](err); ok {
		return records.Input{}, &fetch.Error{Reason: fetch.TooLarge, Final: true, Detail: fmt.Sprintf("more than %d bytes", max)}
	}
	if err != nil {
		return records.Input{}, err
	}
	in, err := identifyInput(spool, client, kept)
	if err != nil {
		return in, errors.Join(err, spool.Remove(name))
	}
	return in, nil
}

func identifyInput(spool *storage.Spool, client *fetch.Client, kept storage.Spooled) (in records.Input, err error) {
	file, err := spool.Open(kept.ID)
	if err != nil {
		return in, err
	}
	defer file.Close()
	found, err := client.Identify(file, kept.Size)
	return records.Input{File: kept.ID, SpoolID: spool.ID(), MIME: found.MIME, Bytes: kept.Size, Width: found.Width, Height: found.Height}, err
}

// addInputs lets a request open the images that it starts from: each is its
// owner's, or was uploaded for this generation.
func (c *call) addInputs(r *Request) error {
	for n, in := range c.generation.Inputs {
		p, err := c.picture(n, in)
		switch {
		case err != nil:
			return err
		case in.Mask:
			r.Mask = &p
		default:
			r.Images = append(r.Images, p)
		}
	}
	return nil
}

func (c *call) picture(n int, in records.Input) (Picture, error) {
	if in.File != "" {
		if in.SpoolID != c.Spool.ID() || !c.Spool.Has(in.File) {
			return Picture{}, &Error{Reason: ReasonInvalidRequest, Detail: "an uploaded image is no longer there"}
		}
		return newPicture(n, in.MIME, in.Bytes, func() (io.ReadCloser, error) { return c.Spool.Open(in.File) }), nil
	}
	ctx := context.Background() // of reads that the request makes while it is sent, and ends
	i, err := c.DB.Image(ctx, c.generation.UserID, in.ImageID)
	switch {
	case errors.Is(err, records.ErrNotFound) || err == nil && !i.Secured():
		return Picture{}, &Error{Reason: ReasonInvalidRequest, Detail: "an image to start from is gone, or not there yet"}
	case err != nil:
		return Picture{}, err
	}
	return newPicture(n, i.MIME, i.Bytes, func() (io.ReadCloser, error) { return c.openStored(ctx, i) }), nil
}

// openStored opens an image from wherever its bytes are.
func (c *call) openStored(ctx context.Context, i *records.Image) (io.ReadCloser, error) {
	if i.ObjectKey == "" || c.Store == nil {
		return c.Spool.Open(i.ID)
	}
	body, _, err := c.Store.Open(ctx, i.ObjectKey, 0, -1)
	return body, err
}

func newPicture(n int, mime string, size int64, open func() (io.ReadCloser, error)) Picture {
	_, ending, _ := strings.Cut(mime, "/")
	return Picture{Name: fmt.Sprintf("image-%d.%s", n+1, cmp.Or(ending, "png")), MIME: cmp.Or(mime, "image/png"), Size: size, Open: open}
}

// dropInputs removes what was uploaded for a generation that has ended.
func (c *call) dropInputs() {
	for _, in := range c.generation.Inputs {
		if in.File == "" || in.SpoolID != c.Spool.ID() {
			continue
		}
		if err := c.Spool.Remove(in.File); err != nil {
			c.Log.Warn("an uploaded image could not be removed from the spool", "generation", c.generation.ID, "err", err)
		}
	}
}
