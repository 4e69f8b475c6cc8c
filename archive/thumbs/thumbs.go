// Package thumbs draws small pictures of large ones. It owns decoders, memory
// and scaling; it knows neither stores nor records, and it trusts nothing in a
// file: what cannot be drawn is an error, never a panic and never more memory
// than was set aside for it.
package thumbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/semaphore"

	"afterimage/fetch"
)

// All are the long edges, in pixels, in which thumbnails are made, ascending.
func All() []int { return []int{240, 480, 960} }

// Sizes are the sizes in which there is a thumbnail of a picture of so many
// pixels, ascending: as many as it can fill. The last may be larger than the
// picture; the thumbnail then has the picture's own size.
func Sizes(width, height int) []int {
	all := All()
	for n, size := range all {
		if max(width, height) <= size {
			return all[:n+1]
		}
	}
	return all
}

// Fit is how large a thumbnail of a picture is: its long edge is size, but no
// thumbnail is larger than its picture, and no side is less than 1.
func Fit(width, height, size int) (w, h int) {
	long := max(width, height)
	if long <= size {
		return width, height
	}
	scaled := func(side int) int { return max(1, (side*size+long/2)/long) }
	return scaled(width), scaled(height)
}

// Set is one picture's thumbnails.
type Set struct {
	Format string // "jpg", or "png" where the picture lets something shine through
	Thumbs []Thumb
	Hash   []byte // a thumbhash: some 25 bytes from which pages draw a blur
}

// Thumb is one thumbnail.
type Thumb struct {
	Size int // one of Sizes
	Data []byte
}

// UndrawableError says why there cannot be a thumbnail of a picture; trying
// again does not help.
type UndrawableError struct{ Err error }

func (e *UndrawableError) Error() string { return "draw a thumbnail: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *UndrawableError) Unwrap() error { return e.Err }

// ErrNoDecoder is the reason for formats that we keep but cannot decode.
var ErrNoDecoder = errors.New("there is no decoder for this format")

// Maker draws thumbnails within a budget of memory. Use New.
type Maker struct {
	memory int64
	bytes  *semaphore.Weighted
	places *semaphore.Weighted
}

// atOnce is how many pictures are drawn at the same time.
const atOnce = 2

// New makes a Maker that takes no more than memory bytes for all pictures that
// it draws at a time; 0 means 1 GiB.
func New(memory int64) *Maker {
	memory = cmp.Or(memory, 1<<30)
	return &Maker{memory: memory, bytes: semaphore.NewWeighted(memory), places: semaphore.NewWeighted(atOnce)}
}

// Make draws the thumbnails of a file that fetch.Identify has found to be
// what. It waits until there is memory for it. An error is an
// *UndrawableError, the context's, or that of reading the file.
func (m *Maker) Make(ctx context.Context, r io.ReaderAt, size int64, what fetch.Image) (Set, error) {
	f := &file{ctx: ctx, r: r, size: size, Image: what}
	need, err := f.memory()
	if err != nil {
		return Set{}, f.judge(err)
	}
	if need > m.memory {
		return Set{}, &UndrawableError{fmt.Errorf("it would take %d MiB of memory, and %d are set aside", need>>20, m.memory>>20)}
	}
	if err := m.places.Acquire(ctx, 1); err != nil {
		return Set{}, err
	}
	defer m.places.Release(1)
	if err := m.bytes.Acquire(ctx, need); err != nil {
		return Set{}, err
	}
	defer m.bytes.Release(need)
	set, err := f.draw()
	if err != nil {
		return Set{}, f.judge(err)
	}
	return set, nil
}
