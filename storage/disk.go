package storage

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"syscall"
)

// Disk keeps each object as a file of its key's name below one folder.
type Disk struct {
	folder
	dir     string
	durable sync.Map // folders whose own names were synced, by path
}

var _ Store = (*Disk)(nil)

// NewDisk opens the folder dir and makes it if needed.
func NewDisk(dir string) (*Disk, error) {
	f, err := openFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("disk store %s: %w", dir, err)
	}
	return &Disk{folder: f, dir: dir}, nil
}

func (d *Disk) String() string { return "disk " + d.dir }

// Check is Store's.
func (d *Disk) Check(ctx context.Context) error { return check(ctx, d) }

// Put is Store's. The hash is taken while the bytes pass through on their way
// to the disk, which takes longer than hashing them. A file of the spool is not
// copied where it can have a second name.
func (d *Disk) Put(ctx context.Context, o Object, body io.ReadSeeker) (Info, error) {
	const op = "put object"
	if err := checkObject(op, o, body); err != nil {
		return Info{}, err
	}
	sum := sha256.New()
	from, to := io.Reader(body), io.Writer(sum)
	t := d.adopt(op, o, body)
	if t != nil {
		from = t.f // what has the new name is what is hashed
	} else {
		var err error
		if t, err = d.newTemp(op, o.Key, o.Size); err != nil {
			return Info{}, err
		}
		to = io.MultiWriter(t, sum)
	}
	defer t.close()
	if _, err := io.Copy(to, reader{ctx, from}); err != nil {
		return Info{}, fmt.Errorf("%s %s: copy: %w", op, o.Key, err)
	}
	if [32]byte(sum.Sum(nil)) != o.SHA256 {
		return Info{}, mismatch(op, o.Key, errors.New("body has another SHA-256 than was declared"))
	}
	if err := d.publish(t, o.Key); err != nil {
		return Info{}, err
	}
	return d.stat(op, o.Key, t.f)
}

// publish makes the key's folders where they are missing, and sees to it that
// their names survive a power cut too, whoever made them.
func (d *Disk) publish(t *tempFile, key string) error {
	dir := path.Dir(key)
	err := t.publish(key)
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.root.MkdirAll(dir, 0o700); err != nil {
			return diskError(t.op, key, err)
		}
		err = t.publish(key)
	}
	if err != nil {
		return err
	}
	return d.syncNames(t.op, key)
}

// syncNames syncs the names of the key's folders, once each.
func (d *Disk) syncNames(op, key string) error {
	var synced []string
	for dir := path.Dir(key); dir != "."; dir = path.Dir(dir) {
		if _, done := d.durable.Load(dir); done {
			break
		}
		if err := syncDir(d.root, path.Dir(dir)); err != nil {
			return diskError(op, key, err)
		}
		synced = append(synced, dir)
	}
	for _, dir := range synced {
		d.durable.Store(dir, true)
	}
	return nil
}

// Open is Store's.
func (d *Disk) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, Info, error) {
	const op = "open object"
	f, err := d.open(ctx, op, key)
	if err != nil {
		return nil, Info{}, err
	}
	info, err := d.stat(op, key, f)
	if err == nil && (offset < 0 || offset > 0 && offset >= info.Size) {
		err = outOfRange(op, key)
	}
	if err != nil {
		_ = f.Close()
		return nil, Info{}, err
	}
	if rest := info.Size - offset; length < 0 || length > rest {
		length = rest
	}
	return section{io.NewSectionReader(f, offset, length), f}, info, nil
}

// Stat is Store's.
func (d *Disk) Stat(ctx context.Context, key string) (Info, error) {
	const op = "stat object"
	f, err := d.open(ctx, op, key)
	if err != nil {
		return Info{}, err
	}
	defer f.Close()
	return d.stat(op, key, f)
}

// Delete is Store's. Emptied folders stay: removing one could hit a Put that needs it.
func (d *Disk) Delete(ctx context.Context, key string) error {
	const op = "delete object"
	if err := checkKey(op, key); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s %s: %w", op, key, err)
	}
	err := d.root.Remove(key)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return diskError(op, key, err)
}

func (d *Disk) open(ctx context.Context, op, key string) (*os.File, error) {
	if err := checkKey(op, key); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s %s: %w", op, key, err)
	}
	f, err := d.root.Open(key)
	if err == nil {
		return f, nil
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return nil, diskError(op, key, err)
	}
	// An unmounted or removed folder must not look like a store that lost everything.
	if _, err := os.Stat(path.Join(d.dir, tempDir)); err != nil {
		return nil, diskError(op, key, err)
	}
	return nil, notFound(op, key)
}

func (d *Disk) stat(op, key string, f *os.File) (Info, error) {
	st, err := f.Stat()
	if err != nil {
		return Info{}, diskError(op, key, err)
	}
	if !st.Mode().IsRegular() {
		return Info{}, notFound(op, key)
	}
	return fileInfo(key, st), nil
}

// section is a part of a file that closes the file.
type section struct {
	*io.SectionReader
	io.Closer
}

// reader stops reading when the context ends.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
