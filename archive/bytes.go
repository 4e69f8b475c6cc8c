package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"sync"

	"afterimage/storage"
)

// bytes are an image's bytes on their way into the store.
type bytes interface {
	io.ReaderAt
	Size() int64
	SHA256() [32]byte
	Reader() io.ReadSeeker
	// Secure puts them into the spool, so that they survive a crash and need
	// no source any more. The bytes stay readable, also while it runs.
	Secure() error
	Close()
}

// maxBuffer is how many bytes are kept in memory on their way. Larger images
// pass through a file, so that many slots of large images stay small.
const maxBuffer = 512 << 10

var buffers = sync.Pool{New: func() any { return new([maxBuffer]byte) }}

// scratch takes bytes from a source: in memory while they are few, in a file
// beside the spool when they are not.
type scratch struct {
	spool  *storage.Spool
	id     string
	pooled *[maxBuffer]byte // nil once there is a file
	buf    []byte           // the part of pooled that is used
	draft  *storage.Draft   // nil until there is a file
	sum    [32]byte
}

func newScratch(spool *storage.Spool, id string) *scratch {
	pooled := buffers.Get().(*[maxBuffer]byte)
	return &scratch{spool: spool, id: id, pooled: pooled, buf: pooled[:0]}
}

// Grow is told the size before the first byte, if the source says it.
func (s *scratch) Grow(n int) {
	if n > maxBuffer && s.draft == nil {
		s.spill() // its error comes again with the first byte
	}
}

// Write implements io.Writer.
func (s *scratch) Write(p []byte) (int, error) {
	if s.draft == nil && len(s.buf)+len(p) > maxBuffer {
		if err := s.spill(); err != nil {
			return 0, err
		}
	}
	if s.draft != nil {
		return s.draft.Write(p)
	}
	s.buf = append(s.buf, p...)
	return len(p), nil
}

// spill moves the bytes from memory into a file.
func (s *scratch) spill() error {
	d, err := s.spool.Create(s.id)
	if err != nil {
		return err
	}
	if _, err := d.Write(s.buf); err != nil {
		d.Close()
		return err
	}
	s.draft = d
	s.free()
	return nil
}

func (s *scratch) free() {
	if s.pooled != nil {
		buffers.Put(s.pooled)
		s.pooled, s.buf = nil, nil
	}
}

func (s *scratch) ReadAt(p []byte, off int64) (int, error) {
	if s.draft != nil {
		return s.draft.Reader().ReadAt(p, off)
	}
	if off >= int64(len(s.buf)) {
		return 0, io.EOF
	}
	n := copy(p, s.buf[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (s *scratch) Size() int64 {
	if s.draft != nil {
		return s.draft.Size()
	}
	return int64(len(s.buf))
}

func (s *scratch) SHA256() [32]byte { return s.sum }

// Reader gives a file as one, which a store on the same disk need not copy.
func (s *scratch) Reader() io.ReadSeeker {
	if s.draft != nil {
		return s.draft.Reader()
	}
	return io.NewSectionReader(s, 0, s.Size())
}

func (s *scratch) Secure() error {
	if s.draft != nil {
		return s.draft.Commit()
	}
	// A copy: the store may be reading these at this moment.
	_, err := s.spool.Write(s.id, s.Reader())
	return err
}

func (s *scratch) Close() {
	if s.draft != nil {
		s.draft.Close()
	}
	s.free()
}

// spooled are bytes that are in the spool already.
type spooled struct {
	*os.File
	spool *storage.Spool
	size  int64
	sum   [32]byte
}

// fromSpool opens the bytes that wait in the spool. If the record does not
// know their hash, since a crash came between, it is computed.
func (t *task) fromSpool() (bytes, error) {
	f, err := t.Spool.Open(t.image.ID)
	if err != nil {
		return nil, err
	}
	b := &spooled{File: f, spool: t.Spool}
	if err := t.measure(b); err != nil {
		f.Close()
		return nil, err
	}
	return b, nil
}

func (t *task) measure(b *spooled) error {
	info, err := b.Stat()
	if err != nil {
		return err
	}
	b.size = info.Size()
	known, err := hex.DecodeString(t.image.SHA256)
	if err == nil && len(known) == len(b.sum) && t.image.SpoolID == t.Spool.ID() {
		b.sum = [32]byte(known) // of these very bytes; the store compares
		return nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, b.Reader()); err != nil {
		return err
	}
	h.Sum(b.sum[:0])
	return nil
}

func (s *spooled) Size() int64           { return s.size }
func (s *spooled) SHA256() [32]byte      { return s.sum }
func (s *spooled) Reader() io.ReadSeeker { return s.spool.Body(s.File, s.size) }
func (s *spooled) Secure() error         { return nil }
func (s *spooled) Close()                { s.File.Close() }
