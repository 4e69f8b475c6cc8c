package storage

import (
	"io"
	"os"
	"path/filepath"
	"time"
)

// File is a whole file of the spool as a body for Put. A Disk on the same file
// system gives the file a second name instead of copying it; until the first one
// is removed, a crash at any moment finds the bytes where the record says.
type File struct {
	*io.SectionReader
	path string // where it lies; nobody writes to it any more
}

// adopt gives the body's file a temporary name in this folder, or returns nil
// where it is to be copied: it is no file, not all of one, on another file
// system, on one without links, or its name is gone.
func (d *Disk) adopt(op string, o Object, body io.ReadSeeker) *tempFile {
	file, ok := body.(*File)
	if !ok || file.Size() != o.Size {
		return nil
	}
	name := tempName()
	if err := os.Link(file.path, filepath.Join(d.root.Name(), name)); err != nil {
		return nil
	}
	t := &tempFile{folder: d.folder, name: name, linked: true, op: op, key: o.Key}
	var err error
	if t.f, err = d.root.OpenFile(name, os.O_RDWR, 0); err != nil {
		_ = d.root.Remove(name)
		return nil
	}
	// It is a new object from now on, however long it lay in the spool.
	now := time.Now()
	info, err := t.f.Stat()
	if err != nil || info.Size() != o.Size || d.root.Chtimes(name, now, now) != nil {
		_ = t.close()
		return nil
	}
	return t
}
