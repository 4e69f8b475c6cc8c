package storage

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// List is Store's. It reads one folder at a time, and only those that can hold
// a key of the page.
func (d *Disk) List(ctx context.Context, prefix, after string, limit int) ([]Info, error) {
	if limit <= 0 {
		limit = listLimit
	}
	l := listing{ctx: ctx, fsys: d.root.FS(), prefix: prefix, after: after, limit: limit}
	if err := l.walk("."); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("list objects: %w", err)
		}
		return nil, diskError("list objects", prefix, err)
	}
	return l.found, nil
}

type listing struct {
	ctx           context.Context
	fsys          fs.FS
	prefix, after string
	limit         int
	found         []Info
}

func (l *listing) walk(dir string) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	entries, err := fs.ReadDir(l.fsys, dir)
	if err != nil {
		return err
	}
	// In key order "a-b" and "a.b" come before "a/b", but the folder "a" comes
	// before both: compare folders with the slash that follows their name.
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(keyPart(a), keyPart(b)) })
	for _, e := range entries {
		if len(l.found) == l.limit {
			return nil
		}
		if err := l.visit(path.Join(dir, e.Name()), e); err != nil {
			return err
		}
	}
	return nil
}

func (l *listing) visit(key string, e fs.DirEntry) error {
	switch {
	case key == tempDir:
		return nil
	case e.IsDir() && l.reaches(key+"/"):
		return l.walk(key)
	case e.Type().IsRegular() && key > l.after && strings.HasPrefix(key, l.prefix):
		st, err := e.Info()
		if err != nil {
			return nil // deleted since the folder was read
		}
		l.found = append(l.found, fileInfo(key, st))
	}
	return nil
}

// reaches tells whether keys below folder can belong to the page.
func (l *listing) reaches(folder string) bool {
	inPrefix := strings.HasPrefix(folder, l.prefix) || strings.HasPrefix(l.prefix, folder)
	return inPrefix && (folder > l.after || strings.HasPrefix(l.after, folder))
}

func keyPart(e fs.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}

func fileInfo(key string, st fs.FileInfo) Info {
	return Info{
		Key:         key,
		Size:        st.Size(),
		ETag:        fmt.Sprintf("%x-%x", st.Size(), st.ModTime().UnixNano()),
		ContentType: contentType(path.Ext(key)),
		ModTime:     st.ModTime(),
	}
}

// contentType stands in for what S3 remembers: a file has no room for it.
func contentType(suffix string) string {
	switch suffix {
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".webp":
		return "image/webp"
	case ".gif":
		return "image/gif"
	case ".avif":
		return "image/avif"
	case ".json":
		return "application/json"
	case ".txt":
		return "text/plain"
	}
	return "application/octet-stream"
}
