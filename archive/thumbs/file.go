package thumbs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"image"
	"io"

	"afterimage/fetch"
)

// file is a picture that is being drawn.
type file struct {
	fetch.Image
	ctx    context.Context
	r      io.ReaderAt
	size   int64
	failed error // why the bytes could not be read, as opposed to understood
}

// ReadAt implements io.ReaderAt. It fails once the context has ended, which
// stops a decoder at its next read, and remembers failures that are not the
// picture's.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if f.ctx.Err() != nil {
		f.failed = context.Cause(f.ctx)
		return 0, f.failed
	}
	n, err := f.r.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		f.failed = err
	}
	return n, err
}

// reader reads the whole file from its start.
func (f *file) reader() io.Reader {
	return bufio.NewReaderSize(io.NewSectionReader(f, 0, f.size), 64<<10)
}

// bytes reads a part of the file.
func (f *file) bytes(off, n int64) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(f, off, n), b); err != nil {
		return nil, err
	}
	return b, nil
}

// judge says whose failure it was.
func (f *file) judge(err error) error {
	if f.failed != nil {
		return fmt.Errorf("read the picture: %w", f.failed)
	}
	return &UndrawableError{err}
}

// stored is the size of the pixels as they are in the file, before turning.
func (f *file) stored() (width, height int) {
	if f.Orientation >= 5 {
		return f.Height, f.Width
	}
	return f.Width, f.Height
}

// draw makes the thumbnails, each from the next larger one.
func (f *file) draw() (set Set, err error) {
	defer func() {
		if r := recover(); r != nil {
			set, err = Set{}, fmt.Errorf("a decoder panicked: %v", r)
		}
	}()
	picture, err := f.decode()
	if err != nil {
		return Set{}, err
	}
	wanted := Sizes(f.Width, f.Height)
	small := make([]*image.RGBA, len(wanted))
	for n := len(wanted) - 1; n >= 0; n-- {
		w, h := Fit(f.Width, f.Height, wanted[n])
		if n == len(wanted)-1 {
			small[n] = turn(shrink(picture, wanted[n]), f.Orientation)
			picture = nil // the large one may go
		} else {
			small[n] = scale(small[n+1], w, h)
		}
	}
	set, err = encode(wanted, small, f.profile())
	if err != nil {
		return Set{}, err
	}
	w, h := Fit(f.Width, f.Height, hashSide)
	set.Hash = thumbHash(scale(small[0], w, h))
	return set, nil
}
