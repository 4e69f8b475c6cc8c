package storage

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"
)

const (
	tempDir = ".tmp" // no key and no id begins with a dot

	// tempAge is how long a temporary file must lie untouched before it counts as
	// left by a crash. A transfer that writes nothing for 20 s has failed already.
	tempAge = 10 * time.Minute

	// diskReserve is kept free, in bytes: the database may live on the same disk,
	// and a database that cannot write is worse than an image that waits.
	diskReserve = 64 << 20

	// spaceStep is after how many written bytes the free space is looked at again.
	spaceStep = 8 << 20
)

// folder is a directory of ours that is written by way of temporary files.
type folder struct {
	root    *os.Root
	reserve int64
}

// openFolder makes dir, with its place for temporary files, and removes what a
// crash left there. Another process may be using dir at the same time.
func openFolder(dir string) (folder, error) {
	const op = "open folder"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return folder{}, diskError(op, "", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return folder{}, diskError(op, "", err)
	}
	if err := errors.Join(root.MkdirAll(tempDir, 0o700), removeOldTemps(root)); err != nil {
		_ = root.Close()
		return folder{}, diskError(op, "", err)
	}
	return folder{root: root, reserve: diskReserve}, nil
}

func removeOldTemps(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), tempDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < tempAge {
			continue // gone meanwhile, or somebody is writing it
		}
		if err := root.Remove(path.Join(tempDir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// room is an error when size more bytes would leave too little free.
func (d folder) room(size int64) error {
	free, err := freeSpace(d.root.Name())
	if err != nil || free-size >= d.reserve {
		return nil
	}
	return fmt.Errorf("%w: %d MiB are free, and %d MiB are kept for the database", errFull, free>>20, d.reserve>>20)
}

// tempFile becomes a file of its final name when it is whole, or nothing.
type tempFile struct {
	folder
	f       *os.File
	name    string // below root; empty once published
	linked  bool   // it has another name elsewhere
	op, key string // for errors
	since   int64  // bytes written since the free space was looked at
}

// newTemp fails when size more bytes would leave too little free.
func (d folder) newTemp(op, key string, size int64) (*tempFile, error) {
	if err := d.room(size); err != nil {
		return nil, diskError(op, key, err)
	}
	name := tempName()
	f, err := d.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, diskError(op, key, err)
	}
	return &tempFile{folder: d, f: f, name: name, op: op, key: key}, nil
}

func tempName() string { return path.Join(tempDir, rand.Text()) }

// Write sorts the disk's errors here, so that after a copy they can be told from
// the source's. Nobody may have known how much would come.
func (t *tempFile) Write(p []byte) (int, error) {
	if t.since += int64(len(p)); t.since >= spaceStep {
		t.since = 0
		if err := t.room(int64(len(p))); err != nil {
			return 0, diskError(t.op, t.key, err)
		}
	}
	n, err := t.f.Write(p)
	if err != nil {
		return n, diskError(t.op, t.key, err)
	}
	return n, nil
}

// publish makes the bytes durable under name, replacing what is there.
func (t *tempFile) publish(name string) error {
	if err := t.f.Sync(); err != nil {
		return diskError(t.op, t.key, err)
	}
	if err := t.root.Rename(t.name, name); err != nil {
		return diskError(t.op, t.key, err)
	}
	if t.linked { // renaming a file onto another name of its own does nothing
		_ = t.root.Remove(t.name)
	}
	t.name = ""
	if err := syncDir(t.root, path.Dir(name)); err != nil {
		return diskError(t.op, t.key, err)
	}
	return nil
}

// close removes the file unless it was published. A second call does nothing.
func (t *tempFile) close() error {
	err := t.f.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	if t.name == "" {
		return err
	}
	name := t.name
	t.name = ""
	return errors.Join(err, t.root.Remove(name))
}

func syncDir(root *os.Root, dir string) error {
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
