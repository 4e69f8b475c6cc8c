package storage

import (
	"cmp"
	"io"
	"path/filepath"
)

// Draft is a file in the spool's folder that is not in the spool yet. Bytes on
// their way to the store pass through it without waiting for the disk; only if
// the store does not take them, Commit secures them.
//
// One goroutine writes; when it has finished, any number may read.
type Draft struct {
	temp *tempFile
	id   string
	size int64
}

// Create begins a draft for id. Close it in any case.
func (s *Spool) Create(id string) (*Draft, error) {
	const op = "write spool"
	if !validSegment(id) {
		return nil, badSpoolID(op, id)
	}
	t, err := s.newTemp(op, id, 0)
	if err != nil {
		return nil, err
	}
	return &Draft{temp: t, id: id}, nil
}

// Write appends. A full disk is an *Error with Reason "store_full".
func (d *Draft) Write(p []byte) (int, error) {
	n, err := d.temp.Write(p)
	d.size += int64(n)
	return n, err
}

// Size is how many bytes were written.
func (d *Draft) Size() int64 { return d.size }

// Reader reads what was written, from the start, at its own position; it is
// valid until Close.
func (d *Draft) Reader() *File {
	return &File{io.NewSectionReader(d.temp.f, 0, d.size), filepath.Join(d.temp.root.Name(), cmp.Or(d.temp.name, d.id))}
}

// Commit secures the bytes under the draft's id, replacing older ones: when it
// returns, a power cut does not lose them. Reader stays valid.
func (d *Draft) Commit() error { return d.temp.publish(d.id) }

// Close removes the draft if it was not committed. A second call does nothing.
func (d *Draft) Close() error { return d.temp.close() }
