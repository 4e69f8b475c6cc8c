package http

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"afterimage/records"
	"afterimage/storage"
)

// reading is how much of an image will be read.
type reading int

const (
	readAll     reading = iota
	readSome            // a part, or perhaps nothing
	readNothing         // who asks has it already
)

// readingFor tells what answering a request takes.
func readingFor(r *http.Request, i *records.Image) reading {
	h := r.Header
	switch {
	case i.SHA256 != "" && h.Get("If-None-Match") == imageETag(i):
		return readNothing
	case r.Method == http.MethodHead || h.Get("Range") != "" || h.Get("If-None-Match") != "" || h.Get("If-Modified-Since") != "":
		return readSome
	}
	return readAll
}

// openImage opens an image's bytes: in the store, or in our spool.
func (s *Server) openImage(ctx context.Context, i *records.Image, much reading) (io.ReadSeekCloser, error) {
	if i.ObjectKey != "" {
		return s.openObject(ctx, i, much)
	}
	if i.SpoolID != s.Spool.ID() {
		return nil, newProblem(http.StatusServiceUnavailable, codeElsewhere,
			"The image is safe on another machine and not stored yet.").after(5 * time.Second)
	}
	f, err := s.Spool.Open(i.ID)
	if errors.Is(err, storage.ErrNotFound) { // stored since we read its row
		fresh, err := s.DB.ImageByLink(ctx, i.ID)
		switch {
		case err != nil:
			return nil, err
		case fresh.ObjectKey == "" && fresh.SourceURL != "":
			return nil, newProblem(http.StatusAccepted, codeNotReady, "The image is fetched once more. Ask again.").after(pendingRetry)
		case fresh.ObjectKey == "":
			s.Log.Error("the spool has lost an image", "image", i.ID)
			return nil, newProblem(http.StatusGone, codeLost, "The image is missing.")
		}
		*i = *fresh
		return s.openImage(ctx, i, much)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// openObject makes a missing object and a store that does not answer an error
// before the first byte of an answer is out. Where all will be read, that is the
// read itself.
func (s *Server) openObject(ctx context.Context, i *records.Image, much reading) (io.ReadSeekCloser, error) {
	o := &objectReader{ctx: ctx, store: s.Store, key: i.ObjectKey, size: i.Bytes}
	var info storage.Info
	var err error
	switch much {
	case readAll:
		info, err = o.open()
	case readSome:
		info, err = s.Store.Stat(ctx, o.key)
	case readNothing:
		return o, nil
	}
	if err == nil && info.Size == i.Bytes {
		return o, nil
	}
	o.Close()
	return nil, s.noObject(ctx, i, info, err)
}

// noObject says what it means for people that an object is not as its record
// says.
func (s *Server) noObject(ctx context.Context, i *records.Image, info storage.Info, err error) error {
	switch {
	case err == nil:
		s.Log.Error("a stored object has another size than its record", "image", i.ID, "object", info.Size, "record", i.Bytes)
		return newProblem(http.StatusGone, codeLost, "The stored image is damaged.")
	case errors.Is(err, storage.ErrNotFound):
		s.Log.Error("a stored object is missing", "image", i.ID, "key", i.ObjectKey)
		return newProblem(http.StatusGone, codeLost, "The stored image is missing.")
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	s.Log.Error("the store did not give an image", "image", i.ID, "err", err)
	return newProblem(http.StatusServiceUnavailable, codeStore, "Storage does not answer right now.").after(10 * time.Second)
}

// objectReader reads an object from wherever http.ServeContent wants it, so
// that ranges cost what they send.
type objectReader struct {
	ctx   context.Context
	store storage.Store
	key   string
	size  int64
	at    int64         // where the next Read begins
	body  io.ReadCloser // nil until it is opened
	from  int64         // where body goes on
}

// Seek asks nobody: ServeContent goes to the end and back to learn the size.
func (o *objectReader) Seek(offset int64, whence int) (int64, error) {
	at := offset
	switch whence {
	case io.SeekCurrent:
		at += o.at
	case io.SeekEnd:
		at += o.size
	}
	if at < 0 {
		return 0, errors.New("seek before the start")
	}
	o.at = at
	return at, nil
}

func (o *objectReader) Read(p []byte) (int, error) {
	if o.at >= o.size {
		return 0, io.EOF
	}
	if o.body == nil || o.from != o.at {
		if _, err := o.open(); err != nil {
			return 0, err
		}
	}
	n, err := o.body.Read(p)
	o.at += int64(n)
	o.from = o.at
	return n, err
}

// open begins a read from the store where the next Read is to begin.
func (o *objectReader) open() (info storage.Info, err error) {
	o.Close()
	o.body, info, err = o.store.Open(o.ctx, o.key, o.at, -1)
	o.from = o.at
	return info, err
}

// Close ends a read from the store that may be under way.
func (o *objectReader) Close() error {
	if o.body == nil {
		return nil
	}
	err := o.body.Close()
	o.body = nil
	return err
}
