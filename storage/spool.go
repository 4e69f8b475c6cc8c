package storage

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"strings"
)

const spoolIDFile = ".id"

// Spool holds bytes that are secured on this machine and not stored yet: one
// file an image, named by the image's id. It belongs to its data directory.
type Spool struct {
	folder
	id string
}

// Spooled is what a spool file holds.
type Spooled struct {
	ID     string
	Size   int64
	SHA256 [32]byte
}

// OpenSpool opens the folder dir, makes it if needed, and removes temporary
// files that a crash left. Several processes may have the same spool open.
func OpenSpool(dir string) (*Spool, error) {
	f, err := openFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("spool %s: %w", dir, err)
	}
	id, err := spoolID(f)
	if err != nil {
		_ = f.root.Close()
		return nil, fmt.Errorf("spool %s: %w", dir, err)
	}
	return &Spool{folder: f, id: id}, nil
}

// spoolID reads the spool's id, or gives it one. The link fails when another
// process was faster, whose id then holds.
func spoolID(f folder) (string, error) {
	const op = "name spool"
	id, err := f.root.ReadFile(spoolIDFile)
	if err == nil {
		return string(bytes.TrimSpace(id)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", diskError(op, "", err)
	}
	t, err := f.newTemp(op, "", 0)
	if err != nil {
		return "", err
	}
	defer t.close()
	if _, err := io.WriteString(t, strings.ToLower(rand.Text())+"\n"); err != nil {
		return "", err
	}
	err = errors.Join(t.f.Sync(), f.root.Link(t.name, spoolIDFile), syncDir(f.root, "."))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", diskError(op, "", err)
	}
	id, err = f.root.ReadFile(spoolIDFile)
	if err != nil {
		return "", diskError(op, "", err)
	}
	return string(bytes.TrimSpace(id)), nil
}

// ID is random, made with the spool and kept in it: it tells whose bytes these are.
func (s *Spool) ID() string { return s.id }

// Free is how many bytes may still be written on the spool's disk;
// errors.ErrUnsupported where the system does not say.
func (s *Spool) Free() (int64, error) { return freeSpace(s.root.Name()) }

// Write secures what r gives under id, all or nothing, hashing it once on the
// way. An error of r is returned as r's own; *Error is the disk's.
func (s *Spool) Write(id string, r io.Reader) (Spooled, error) {
	d, err := s.Create(id)
	if err != nil {
		return Spooled{}, err
	}
	defer d.Close()
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(d, sum), r); err != nil {
		return Spooled{}, fmt.Errorf("write spool %s: %w", id, err)
	}
	if err := d.Commit(); err != nil {
		return Spooled{}, err
	}
	return Spooled{ID: id, Size: d.Size(), SHA256: [32]byte(sum.Sum(nil))}, nil
}

// Open opens the file of id for reading. ErrNotFound.
func (s *Spool) Open(id string) (*os.File, error) {
	const op = "open spool"
	if !validSegment(id) {
		return nil, badSpoolID(op, id)
	}
	f, err := s.root.Open(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notFound(op, id)
	}
	if err != nil {
		return nil, diskError(op, id, err)
	}
	return f, nil
}

// Body makes a body for Put of size bytes from a file that Open gave. Close the
// file after that.
func (s *Spool) Body(f *os.File, size int64) *File {
	return &File{io.NewSectionReader(f, 0, size), f.Name()}
}

// Stat reads the file of id through to learn what Write answered: for the rare
// case that a crash came between Write and the note of its answer. ErrNotFound.
func (s *Spool) Stat(id string) (Spooled, error) {
	f, err := s.Open(id)
	if err != nil {
		return Spooled{}, err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	if err != nil {
		return Spooled{}, diskError("read spool", id, err)
	}
	return Spooled{ID: id, Size: n, SHA256: [32]byte(sum.Sum(nil))}, nil
}

// Has tells whether bytes of id are here.
func (s *Spool) Has(id string) bool {
	if !validSegment(id) {
		return false
	}
	_, err := s.root.Lstat(id)
	return err == nil
}

// Remove forgets the bytes of id, which are stored by now. A missing file is no
// error. It is not synced: after a power cut the file may be back, and that
// does no harm.
func (s *Spool) Remove(id string) error {
	const op = "remove spool"
	if !validSegment(id) {
		return badSpoolID(op, id)
	}
	if err := s.root.Remove(id); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return diskError(op, id, err)
	}
	return nil
}

// List gives the ids of all files in no order, a thousand in memory at a time.
// The sequence ends after an error.
func (s *Spool) List() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		dir, err := s.root.Open(".")
		if err != nil {
			yield("", diskError("list spool", "", err))
			return
		}
		defer dir.Close()
		for {
			names, err := dir.Readdirnames(1000)
			if err == io.EOF {
				return
			}
			if err != nil {
				yield("", diskError("list spool", "", err))
				return
			}
			for _, name := range names {
				if validSegment(name) && !yield(name, nil) {
					return
				}
			}
		}
	}
}

func badSpoolID(op, id string) error {
	return &Error{Reason: ReasonError, Final: true, Op: op, Key: id, Err: errors.New("spool ids are a-z 0-9 . _ -")}
}
