package storage

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Copying a large image from the spool to the store beside it costs its size in
// reads, writes and space, on a disk that may be full already.
func TestADiskTakesTheSpoolsFileItself(t *testing.T) {
	bodies := map[string]func(*testing.T, *Spool) *File{
		"a file that waited": func(t *testing.T, s *Spool) *File {
			_, err := s.Write("a", strings.NewReader("picture"))
			noError(t, err)
			old := time.Now().Add(-48 * time.Hour)
			noError(t, os.Chtimes(filepath.Join(s.root.Name(), "a"), old, old))
			f, err := s.Open("a")
			noError(t, err)
			t.Cleanup(func() { f.Close() })
			return s.Body(f, 7)
		},
		"a draft on its way": func(t *testing.T, s *Spool) *File { return draft(t, s).Reader() },
		"a draft that was committed": func(t *testing.T, s *Spool) *File {
			d := draft(t, s)
			noError(t, d.Commit())
			return d.Reader()
		},
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			s, d := newSpool(t), newDisk(t)
			d.reserve = math.MaxInt64 / 2 // nothing is written, so a full disk takes it
			file := body(t, s)
			for range 2 { // a repeat after a crash finds the object to be the same file
				info, err := d.Put(t.Context(), object("2026/a.png", "picture"), file)
				noError(t, err)
				if time.Since(info.ModTime) > time.Hour {
					t.Errorf("the object is from %v: it is new, and may be taken for a leftover", info.ModTime)
				}
			}
			ours, err := os.Stat(file.path)
			noError(t, err)
			theirs, err := os.Stat(filepath.Join(d.dir, "2026/a.png"))
			noError(t, err)
			if !os.SameFile(ours, theirs) {
				t.Error("it was copied")
			}
			noError(t, os.Remove(file.path))
			if got, _ := read(t, d, "2026/a.png", 0, -1); got != "picture" {
				t.Errorf("without the spool's name it is %q", got)
			}
			wantNoTemps(t, d.folder)
		})
	}
}

func TestADiskCopiesWhatItCannotTake(t *testing.T) {
	for _, row := range []struct {
		name  string
		spoil func(*testing.T, *File) *File
	}{
		{"its name is gone, or on another file system", func(t *testing.T, f *File) *File {
			noError(t, os.Remove(f.path))
			return f
		}},
		{"another file has its name", func(t *testing.T, f *File) *File {
			noError(t, os.Remove(f.path))
			noError(t, os.WriteFile(f.path, []byte("longer than it"), 0o600))
			return f
		}},
		{"it is only a part of the file", func(t *testing.T, f *File) *File {
			noError(t, os.WriteFile(f.path, []byte("picture and more"), 0o600))
			return f
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, d := newSpool(t), newDisk(t)
			file := row.spoil(t, draft(t, s).Reader())
			_, err := d.Put(t.Context(), object("a.png", "picture"), file)
			noError(t, err)
			if got, _ := read(t, d, "a.png", 0, -1); got != "picture" {
				t.Errorf("it is %q", got)
			}
			wantNoTemps(t, d.folder)
		})
	}
}

// A file that went bad in the spool is refused like any other body.
func TestADiskDoesNotTakeAFileOfOtherBytes(t *testing.T) {
	s, d := newSpool(t), newDisk(t)
	put(t, d, "a.png", "older")
	_, err := d.Put(t.Context(), object("a.png", "pictura"), draft(t, s).Reader())
	wantReason(t, err, ReasonMismatch)
	if got, _ := read(t, d, "a.png", 0, -1); got != "older" {
		t.Errorf("the older object became %q", got)
	}
	wantNoTemps(t, d.folder)
}

// Nobody knows how long a source's answer is: the space is watched while it
// comes, too.
func TestAFillingDiskEndsADraft(t *testing.T) {
	s := newSpool(t)
	d, err := s.Create("a")
	noError(t, err)
	defer d.Close()
	piece := make([]byte, 1<<20)
	_, err = d.Write(piece)
	noError(t, err)
	d.temp.reserve = math.MaxInt64 / 2
	for range spaceStep>>20 + 1 {
		if _, err = d.Write(piece); err != nil {
			break
		}
	}
	if e := wantReason(t, err, ReasonFull); e.Setting != "AFTERIMAGE_DATA_DIR" || !strings.Contains(e.Error(), "MiB are free") {
		t.Errorf("%v", e)
	}
	if d.Size() > spaceStep {
		t.Errorf("%d bytes were written", d.Size())
	}
}

func draft(t *testing.T, s *Spool) *Draft {
	t.Helper()
	d, err := s.Create("a")
	noError(t, err)
	t.Cleanup(func() { d.Close() })
	_, err = io.WriteString(d, "picture")
	noError(t, err)
	return d
}
