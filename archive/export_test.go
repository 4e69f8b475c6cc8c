package archive_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"afterimage/archive"
	"afterimage/records"
)

// exported is what an export holds, by name.
type exported map[string][]byte

func readFolder(t *testing.T, fsys fs.FS) exported {
	t.Helper()
	files := exported{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[name], err = fs.ReadFile(fsys, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// check holds an export against its own list and sums.
func (e exported) check(t *testing.T, want int) (lines []archive.ExportLine) {
	t.Helper()
	for line := range strings.Lines(string(e[archive.ExportSums])) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if got := fmt.Sprintf("%x", sha256.Sum256(e[name])); got != sum {
			t.Errorf("%s has the sum %s, want %s", name, got, sum)
		}
	}
	if n := strings.Count(string(e[archive.ExportSums]), "\n"); n != 2*want || len(e) != 2*want+2 {
		t.Errorf("%d sums and %d files %v, want %d and %d", n, len(e), slices.Sorted(maps.Keys(e)), 2*want, 2*want+2)
	}
	for text := range strings.Lines(string(e[archive.ExportList])) {
		var line archive.ExportLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// An export has every image byte for byte, what is known of it, and nothing
// that is damaged or somebody else's; into a folder it goes on where it was.
func TestExport(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(options{})
		ids := w.kept(3)
		w.Exec(t, `UPDATE images SET prompt = '灯塔 / "fog" at <night>, and…' WHERE id = ?`, ids[0])
		w.Exec(t, `UPDATE images SET trashed_at = ? WHERE id = ?`, w.Now(), ids[1])
		w.overwrites(w.object(ids[2]), []byte("rot"))
		failed := w.imports(records.ImportItem{URL: "x", Reason: "source_blocked"})[0].ID
		dir := t.TempDir()
		var told []string
		run := func(o archive.Export, to archive.Target) archive.Exported {
			t.Helper()
			o.Failed = func(id string, err error) { told = append(told, id) }
			done, err := w.archiver.Export(t.Context(), to, o)
			if err != nil {
				t.Fatal(err)
			}
			return done
		}
		folder, err := archive.NewFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer folder.Close()
		if done := run(archive.Export{}, folder); done.Images != 2 || done.Failed != 1 || done.Without != 1 || done.Same != 0 || done.Total != 4 {
			t.Errorf("exported %+v", done)
		}
		if !slices.Equal(told, ids[2:]) {
			t.Errorf("told of %v, want of the damaged image", told)
		}
		files := readFolder(t, os.DirFS(dir))
		name := fmt.Sprintf("images/ada/%s-灯塔-fog-at-night-and-%s.png", w.image(ids[0]).CreatedAt.Format(time.DateOnly), ids[0])
		if !bytes.Equal(files[name], picture("/0.png")) {
			t.Errorf("there is no %s among %v", name, slices.Sorted(maps.Keys(files)))
		}
		lines := files.check(t, 2)
		if len(lines) != 4 {
			t.Fatalf("the list has %d lines, want one for each image", len(lines))
		}
		for _, line := range lines {
			if (line.File == "") != (line.ID == failed || line.ID == ids[2]) || line.Owner != "ada" {
				t.Errorf("a line says %+v", line)
			}
		}
		if strings.Contains(string(files[archive.ExportList]), "s0.example") {
			t.Error("the list has a source's address")
		}

		os.Remove(filepath.Join(dir, filepath.FromSlash(name))) // as if it was broken off
		if done := run(archive.Export{}, folder); done.Images != 2 || done.Same != 1 {
			t.Errorf("the second time: %+v", done)
		}
		readFolder(t, os.DirFS(dir)).check(t, 2)

		var buffer bytes.Buffer
		z := archive.NewZip(&buffer)
		run(archive.Export{UserID: w.user}, z)
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := zip.NewReader(bytes.NewReader(buffer.Bytes()), int64(buffer.Len()))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			if strings.Contains(f.Name, "灯塔") && f.NonUTF8 {
				t.Errorf("%s is not marked as UTF-8", f.Name)
			}
		}
		zipped := readFolder(t, r)
		zipped.check(t, 2)
		if !bytes.Equal(zipped[name], picture("/0.png")) {
			t.Error("the zip has no such image")
		}
		empty := archive.NewZip(io.Discard)
		if done := run(archive.Export{UserID: w.person("eve")}, empty); done.Total != 0 {
			t.Errorf("somebody without images exports %+v", done)
		}
		w.wantEmpty("spool")
	})
}
