package storage

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestDiskErrorsAreSorted(t *testing.T) {
	for _, row := range []struct {
		name   string
		err    error
		reason string
		final  bool
	}{
		{"no space", syscall.ENOSPC, ReasonFull, false},
		{"quota used up", syscall.EDQUOT, ReasonFull, false},
		{"nearly full", errFull, ReasonFull, false},
		{"not ours", syscall.EACCES, ReasonDenied, false},
		{"mounted read-only", syscall.EROFS, ReasonDenied, false},
		{"folder gone", syscall.ENOENT, ReasonMissing, false},
		{"broken disk", syscall.EIO, ReasonError, false},
		{"name too long", syscall.ENAMETOOLONG, ReasonError, true},
		{"a file where a folder should be", syscall.ENOTDIR, ReasonError, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := diskError("put object", "a", &fs.PathError{Op: "write", Path: "a", Err: row.err})
			if e := wantReason(t, err, row.reason); e.Final != row.final || !errors.Is(err, row.err) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// The kernel's /dev/full is a real full disk.
func TestAFullDiskIsStoreFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here: writing to a full disk is left out")
	}
	temp := &tempFile{f: full, op: "put object", key: "a"}
	defer temp.close()
	_, err = io.Copy(temp, strings.NewReader("x"))
	if e := wantReason(t, err, ReasonFull); e.Setting != "AFTERIMAGE_DATA_DIR" {
		t.Errorf("names %q", e.Setting)
	}
}

// The database may be on the same disk and must be able to go on.
func TestTheLastSpaceOfADiskIsLeftAlone(t *testing.T) {
	d := newDisk(t)
	d.reserve = math.MaxInt64 / 2
	_, err := d.Put(t.Context(), object("a.png", "x"), strings.NewReader("x"))
	wantReason(t, err, ReasonFull)

	s := newSpool(t)
	s.reserve = math.MaxInt64 / 2
	_, err = s.Write("a", strings.NewReader("x"))
	wantReason(t, err, ReasonFull)
	wantNoTemps(t, s.folder)
}

// An unmounted disk looks like an empty folder, or none: that is a missing store,
// not a store that lost every image.
func TestAVanishedFolderIsAMissingStore(t *testing.T) {
	d := newDisk(t)
	noError(t, os.RemoveAll(d.dir))
	_, putErr := d.Put(t.Context(), object("a.png", "x"), strings.NewReader("x"))
	_, statErr := d.Stat(t.Context(), "a.png")
	wantReason(t, putErr, ReasonMissing)
	wantReason(t, statErr, ReasonMissing)
	noError(t, os.Mkdir(d.dir, 0o700))
	_, statErr = d.Stat(t.Context(), "a.png")
	wantReason(t, statErr, ReasonMissing)
}

func TestDiskSurvivesARestart(t *testing.T) {
	d := newDisk(t)
	put(t, d, "2026/07/a.png", "picture")
	again, err := NewDisk(d.dir)
	noError(t, err)
	if got, _ := read(t, again, "2026/07/a.png", 0, -1); got != "picture" {
		t.Errorf("Open = %q", got)
	}
}

// A command like sweep opens the same folder while the server is writing: only
// what nobody has touched for ten minutes is a crash's leftover.
func TestOnlyOldTemporaryFilesAreRemoved(t *testing.T) {
	d := newDisk(t)
	put(t, d, "kept.png", "picture")
	fresh, old := leaveTemp(t, d.dir, 0), leaveTemp(t, d.dir, tempAge+time.Minute)
	again, err := NewDisk(d.dir)
	noError(t, err)
	if _, err := os.Stat(fresh); err != nil {
		t.Errorf("the file being written is gone: %v", err)
	}
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the leftover is still there: %v", err)
	}
	if found, err := again.List(t.Context(), "", "", 0); err != nil || len(found) != 1 {
		t.Errorf("temporary files are listed: %v, %v", found, err)
	}
}

func TestAFailedPutLeavesNoTemporaryFile(t *testing.T) {
	d := newDisk(t)
	_, err := d.Put(t.Context(), object("a.png", "right"), strings.NewReader("wrong"))
	wantReason(t, err, ReasonMismatch)
	_, err = d.Put(t.Context(), object("a.png", "right"), brokenBody{strings.NewReader("right"), io.ErrClosedPipe})
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = d.Put(ctx, object("a.png", "right"), strings.NewReader("right")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	wantNoTemps(t, d.folder)
}

// Links below the folder must not lead out of it.
func TestDiskDoesNotFollowLinksOut(t *testing.T) {
	d := newDisk(t)
	secret := filepath.Join(t.TempDir(), "secret")
	noError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	noError(t, os.Symlink(secret, filepath.Join(d.dir, "link.png")))
	if body, _, err := d.Open(t.Context(), "link.png", 0, -1); err == nil {
		_ = body.Close()
		t.Error("opened")
	}
}

func leaveTemp(t *testing.T, dir string, age time.Duration) string {
	t.Helper()
	f, err := os.CreateTemp(filepath.Join(dir, tempDir), "left")
	noError(t, err)
	noError(t, f.Close())
	at := time.Now().Add(-age)
	noError(t, os.Chtimes(f.Name(), at, at))
	return f.Name()
}

func wantNoTemps(t *testing.T, f folder) {
	t.Helper()
	left, err := fs.ReadDir(f.root.FS(), tempDir)
	if err != nil || len(left) != 0 {
		t.Errorf("temporary files left: %v, %v", left, err)
	}
}
