package storage

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

func TestSpoolKeepsBytesUnderTheirID(t *testing.T) {
	s := newSpool(t)
	data := strings.Repeat("picture", 100_000)
	got, err := s.Write("abc123", strings.NewReader(data))
	noError(t, err)
	want := Spooled{ID: "abc123", Size: int64(len(data)), SHA256: sha256.Sum256([]byte(data))}
	if got != want {
		t.Errorf("Write = %+v, want %+v", got, want)
	}
	if again, err := s.Stat("abc123"); err != nil || again != want {
		t.Errorf("Stat = %+v, %v", again, err)
	}
	if !s.Has("abc123") || spooledText(t, s, "abc123") != data {
		t.Error("the bytes are not there")
	}
	noError(t, s.Remove("abc123"))
	noError(t, s.Remove("abc123"))
	if _, err := s.Open("abc123"); !errors.Is(err, ErrNotFound) || s.Has("abc123") {
		t.Errorf("after Remove: %v", err)
	}
	wantNoTemps(t, s.folder)
}

func TestSpoolWriteIsAllOrNothing(t *testing.T) {
	s := newSpool(t)
	broken := errors.New("the source broke off")
	half := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken))
	if _, err := s.Write("a", half); !errors.Is(err, broken) || errorIs[*Error](err) {
		t.Errorf("Write = %v, want the source's own error", err)
	}
	if s.Has("a") {
		t.Error("half a file is in the spool")
	}
	_, err := s.Write("a", strings.NewReader("older"))
	noError(t, err)
	_, err = s.Write("a", io.MultiReader(strings.NewReader("new"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || spooledText(t, s, "a") != "older" {
		t.Errorf("the older bytes became %q, error %v", spooledText(t, s, "a"), err)
	}
	wantNoTemps(t, s.folder)
}

// Bytes on their way to a store that takes them never wait for the disk.
func TestDraft(t *testing.T) {
	t.Run("can be read before it is committed, and after", func(t *testing.T) {
		s := newSpool(t)
		d, err := s.Create("a")
		noError(t, err)
		defer d.Close()
		_, err = io.WriteString(d, "picture")
		noError(t, err)
		if s.Has("a") {
			t.Error("in the spool before Commit")
		}
		r := d.Reader()
		if got, err := io.ReadAll(r); err != nil || string(got) != "picture" || d.Size() != 7 {
			t.Errorf("Reader gives %q, %v", got, err)
		}
		noError(t, d.Commit())
		if got, err := io.ReadAll(d.Reader()); err != nil || string(got) != "picture" {
			t.Errorf("after Commit Reader gives %q, %v", got, err)
		}
		noError(t, d.Close())
		noError(t, d.Close())
		if spooledText(t, s, "a") != "picture" {
			t.Error("not in the spool after Commit")
		}
	})
	t.Run("leaves nothing when it is not committed", func(t *testing.T) {
		s := newSpool(t)
		d, err := s.Create("a")
		noError(t, err)
		_, err = io.WriteString(d, "picture")
		noError(t, err)
		noError(t, d.Close())
		if s.Has("a") {
			t.Error("in the spool")
		}
		wantNoTemps(t, s.folder)
	})
	t.Run("goes into a store as it is", func(t *testing.T) {
		s, store := newSpool(t), newDisk(t)
		d, err := s.Create("a")
		noError(t, err)
		defer d.Close()
		_, err = io.WriteString(d, "picture")
		noError(t, err)
		_, err = store.Put(t.Context(), object("a.png", "picture"), d.Reader())
		noError(t, err)
	})
}

// kill -9 in the middle of a write leaves a temporary file; between Write and the
// note of its answer it leaves a whole file that nobody knows the hash of.
func TestSpoolAfterACrash(t *testing.T) {
	s := newSpool(t)
	dir := s.root.Name()
	_, err := s.Write("whole", strings.NewReader("picture"))
	noError(t, err)
	left := leaveTemp(t, dir, tempAge+time.Minute)

	again, err := OpenSpool(dir)
	noError(t, err)
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the leftover is still there: %v", err)
	}
	if got, err := again.Stat("whole"); err != nil || got.SHA256 != sha256.Sum256([]byte("picture")) {
		t.Errorf("Stat = %+v, %v", got, err)
	}
	if again.ID() != s.ID() {
		t.Errorf("the spool's id changed from %s to %s", s.ID(), again.ID())
	}
}

// Jobs carry the spool's id: two processes that open a new spool at once must
// agree on it.
func TestSpoolHasOneID(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	ids := make([]string, 16)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			s, err := OpenSpool(dir)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = s.ID()
		})
	}
	wg.Wait()
	if len(ids[0]) < 20 || len(slices.Compact(ids)) != 1 {
		t.Errorf("ids %q", ids)
	}
	if newSpool(t).ID() == ids[0] {
		t.Error("another spool has the same id")
	}
}

func TestSpoolListsItsIDs(t *testing.T) {
	s := newSpool(t)
	for _, id := range []string{"b", "a", "c"} {
		_, err := s.Write(id, strings.NewReader(id))
		noError(t, err)
	}
	var got []string
	for id, err := range s.List() {
		noError(t, err)
		got = append(got, id)
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("List = %v", got)
	}
	for range s.List() {
		break // leaving early is fine
	}
}

func TestSpoolRefusesBadIDs(t *testing.T) {
	s := newSpool(t)
	for _, id := range []string{"", ".", "..", ".id", ".tmp", "a/b", "../a", "A", "a b"} {
		_, writeErr := s.Write(id, strings.NewReader("x"))
		_, openErr := s.Open(id)
		for _, err := range []error{writeErr, openErr, s.Remove(id)} {
			if e, ok := errors.AsType[*Error](err); !ok || !e.Final {
				t.Errorf("id %q: %v, want a final error", id, err)
			}
		}
		if s.Has(id) {
			t.Errorf("Has(%q)", id)
		}
	}
}

func newSpool(t *testing.T) *Spool {
	t.Helper()
	s, err := OpenSpool(filepath.Join(t.TempDir(), "spool"))
	noError(t, err)
	return s
}

func spooledText(t *testing.T, s *Spool, id string) string {
	t.Helper()
	f, err := s.Open(id)
	noError(t, err)
	defer f.Close()
	data, err := io.ReadAll(f)
	noError(t, err)
	return string(data)
}
