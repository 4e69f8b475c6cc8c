package generate

import (
	"errors"
	"fmt"
	"io"

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
