package archive

import (
	"archive/zip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"
)

// Folder is a Target on a disk. A run that was broken off can be repeated: what
// is there already is not written again.
type Folder struct{ root *os.Root }

// NewFolder makes the folder if it is missing.
func NewFolder(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Folder{root}, nil
}

// Close lets the folder go.
func (f *Folder) Close() error { return f.root.Close() }

// Has is Target's. Files get their names when they are whole, so the size is
// enough.
func (f *Folder) Has(name string, size int64) bool {
	info, err := f.root.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Size() == size
}

// Put is Target's.
func (f *Folder) Put(name string, modified time.Time, body io.Reader) error {
	if err := f.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	part := name + ".part"
	file, err := f.root.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := io.Copy(file, body); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := f.root.Chtimes(part, modified, modified); err != nil {
		return err
	}
	return f.root.Rename(part, name)
}

// Zip is a Target that streams: what was put is on its way, and nothing is kept
// but the list of names for the end, about 300 bytes a file. Images are stored
// as they are, since they are compressed already.
type Zip struct{ w *zip.Writer }

// NewZip writes to w, which may be an HTTP answer. Close it.
func NewZip(w io.Writer) *Zip { return &Zip{zip.NewWriter(w)} }

// Close writes the list of names. It does not close what the zip is written to.
func (z *Zip) Close() error { return z.w.Close() }

// Has is Target's: a zip always begins anew.
func (z *Zip) Has(string, int64) bool { return false }

// Put is Target's. Names that are not ASCII are marked as UTF-8.
func (z *Zip) Put(name string, modified time.Time, body io.Reader) error {
	h := &zip.FileHeader{Name: name, Method: zip.Store, Modified: modified}
	h.SetMode(fs.FileMode(0o644))
	if name == ExportList || name == ExportSums {
		h.Method = zip.Deflate
	}
	w, err := z.w.CreateHeader(h)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if _, err := io.Copy(w, body); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

var (
	_ Target = (*Folder)(nil)
	_ Target = (*Zip)(nil)
)
