package archive

import (
	stdbytes "bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"afterimage/archive/thumbs"
	"afterimage/records"
	"afterimage/storage"
)

// thumbPrefix is where an image's thumbnails lie. As with the object, it
// depends on nothing but the id.
func thumbPrefix(id string) string { return thumbnails + dated(id) + "-" }

func thumbKey(id, format string, size int) string {
	return fmt.Sprintf("%s%d.%s", thumbPrefix(id), size, format)
}

// ThumbKey is the object of an image's thumbnail in a size of thumbs.Sizes, or
// in the largest there is. It is only for images that have thumbnails.
func ThumbKey(i *records.Image, size int) string {
	there := thumbs.Sizes(i.Width, i.Height)
	return thumbKey(i.ID, i.Thumb, min(size, there[len(there)-1]))
}

var thumbTypes = map[string]string{records.ThumbJPEG: "image/jpeg", records.ThumbPNG: "image/png"}

// ThumbType is the MIME type of an image's thumbnails, empty if it has none.
func ThumbType(i *records.Image) string { return thumbTypes[i.Thumb] }

func (a *Archiver) putThumb(ctx context.Context, id, format string, t thumbs.Thumb) error {
	_, err := a.Store.Put(ctx, storage.Object{
		Key: thumbKey(id, format, t.Size), ContentType: thumbTypes[format],
		Size: int64(len(t.Data)), SHA256: sha256.Sum256(t.Data),
	}, stdbytes.NewReader(t.Data))
	if e, ok := errors.AsType[*storage.Error](err); ok && e.Final {
		return &thumbs.UndrawableError{Err: err} // it will never be there
	}
	return err
}

// removeThumbs deletes whatever the store holds of an image's thumbnails.
func (a *Archiver) removeThumbs(ctx context.Context, id string) error {
	return a.removeAll(ctx, thumbPrefix(id))
}
