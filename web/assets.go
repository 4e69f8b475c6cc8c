package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// assets are the static files under one hash of them all. The address of a file changes when any file
// does, so each may be kept for ever, and a script may import its neighbours by relative address.
type assets struct {
	prefix string // "/assets/{hash}/"
	files  map[string]asset
}

type asset struct {
	contentType string
	plain       []byte
	gzipped     []byte // empty when it would not be smaller
	etag        string
}

// newAssets reads the folder static, adds what is generated, and compresses each file once.
func newAssets(files fs.FS, generated map[string]string) (*assets, error) {
	a := &assets{files: map[string]asset{}}
	all := sha256.New()
	add := func(name string, text []byte) error {
		sum := sha256.Sum256(text)
		fmt.Fprintf(all, "%s %x\n", name, sum)
		file := asset{contentType: typeOf(name), plain: text, etag: `"` + hex.EncodeToString(sum[:8]) + `"`}
		if file.contentType != "image/webp" { // is compressed already
			var err error
			if file.gzipped, err = squeeze(text); err != nil {
				return fmt.Errorf("compress %s: %w", name, err)
			}
		}
		a.files[name] = file
		return nil
	}
	err := fs.WalkDir(files, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		name = strings.TrimPrefix(name, "static/")
		return add(name, append(text, generated[name]...))
	})
	if err != nil {
		return nil, fmt.Errorf("read static files: %w", err)
	}
	a.prefix = "/assets/" + hex.EncodeToString(all.Sum(nil))[:12] + "/"
	return a, nil
}

func squeeze(text []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if out.Len() >= len(text) {
		return nil, nil
	}
	return out.Bytes(), nil
}

// typeOf does not ask the machine's own table of types, which may say anything.
func typeOf(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".webp":
		return "image/webp"
	}
	return "text/plain; charset=utf-8"
}

// ServeHTTP answers /assets/{hash}/{name}. An older hash gets the present file, to be asked for again:
// while versions change, a page may be from one instance and its style from another.
func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	_, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/assets/"), "/")
	file, ok := a.files[name]
	if !ok {
		http.Error(w, http.StatusText(http.StatusNotFound), http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", file.contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", file.etag)
	h.Add("Vary", "Accept-Encoding")
	if strings.HasPrefix(r.URL.Path, a.prefix) {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache")
	}
	if r.Header.Get("If-None-Match") == file.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := file.plain
	if len(file.gzipped) > 0 && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = file.gzipped
	}
	h.Set("Content-Length", fmt.Sprint(len(body)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // the visitor left: nobody to tell
	}
}
