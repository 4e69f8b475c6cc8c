package archive_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"afterimage/archive"
	"afterimage/records"
	"afterimage/storage"
)

// puts stores an object of its own making.
func (w *world) puts(key string) {
	w.t.Helper()
	o := storage.Object{Key: key, ContentType: "image/png", Size: 5, SHA256: sha256.Sum256([]byte("stray"))}
	if _, err := w.store.Disk.Put(w.t.Context(), o, strings.NewReader("stray")); err != nil {
		w.t.Fatal(err)
	}
	w.dates()
}

// dates gives all files the bubble's time: the disk gave them the machine's.
func (w *world) dates() {
	w.t.Helper()
	err := filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.Contains(path, ".db") {
			err = os.Chtimes(path, time.Now(), time.Now())
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) spools(id string) {
	w.t.Helper()
	if _, err := w.spool.Write(id, bytes.NewReader(picture("a"))); err != nil {
		w.t.Fatal(err)
	}
	w.dates()
}

// waitsFor has a generation wait that starts from an upload.
func (w *world) waitsFor(upload string) {
	w.t.Helper()
	_, _, err := w.CreateGeneration(w.t.Context(), records.NewGeneration{UserID: w.user, Provider: "busy", Model: "m", Prompt: "more fog", N: 1,
		Inputs: []records.Input{{File: upload, SpoolID: w.spool.ID(), MIME: "image/png"}}})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) reconciles(o archive.Reconcile) archive.Reconciled {
	w.t.Helper()
	found, err := w.archiver.Reconcile(w.t.Context(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

func (w *world) wantFound(r archive.Reconciled, want map[string]int) {
	w.t.Helper()
	if !maps.Equal(r.Found, want) {
		w.t.Fatalf("found %v, want %v: %+v", r.Found, want, r.First)
	}
}

// stray is a key of an image that does not exist.
func stray(prefix, suffix string) string {
	id := records.NewID()
	return prefix + records.IDTime(id).Format("2006/01/02/") + id + suffix
}

// Everything that the database, the store and the spool can disagree about is
// found, nothing else is, a dry run changes nothing, a repair mends all of it,
// and what it took away can be had back for a month.
func TestReconcile(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(options{archive: archive.Config{Thumbnails: true}})
		ids := w.kept(6)
		w.pass(time.Minute) // thumbnails and sidecars
		if found := w.reconciles(archive.Reconcile{}); found.Total() != 0 || found.Rows != 6 || found.Objects < 18 {
			t.Fatalf("at first there are %+v", found)
		}

		remove := func(path string) {
			t.Helper()
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		thumb, sidecar := w.image(ids[2]), w.image(ids[3])
		remove(w.object(ids[0]))
		w.overwrites(w.object(ids[1]), []byte("short"))
		remove(filepath.Join(w.dir, "objects", filepath.FromSlash(archive.ThumbKey(thumb, 320))))
		sidecars, err := w.store.List(t.Context(), "meta/"+records.IDTime(sidecar.ID).Format("2006/01/02/")+sidecar.ID, "", 0)
		if err != nil || len(sidecars) != 1 {
			t.Fatalf("%d sidecars: %v", len(sidecars), err)
		}
		if err := w.store.Disk.Delete(t.Context(), sidecars[0].Key); err != nil {
			t.Fatal(err)
		}
		w.puts(stray("images/", ".png"))
		w.puts(stray("thumbs/", "-320.jpg"))
		w.puts(stray("meta/", "-abc.json"))
		w.puts("images/not-as-we-name-them.png")
		w.puts(strings.TrimSuffix(w.image(ids[4]).ObjectKey, ".png") + ".webp")
		w.puts("check-abc.txt")
		w.puts("somebody/elses.txt")
		w.spools(records.NewID())
		w.spools(ids[5])
		upload := records.NewID() // which a generation that is not over starts from
		w.spools(upload)
		w.waitsFor(upload)

		w.stop()
		w.pass(2 * time.Hour)
		want := map[string]int{archive.ObjectMissing: 1, archive.ObjectSize: 1, archive.ThumbMissing: 1, archive.SidecarMissing: 1,
			archive.ObjectWithoutRow: 4, archive.ObjectNotUsed: 1, archive.CheckLeft: 1, archive.SpoolWithoutRow: 1, archive.SpoolNotNeeded: 1}
		for range 2 {
			found := w.reconciles(archive.Reconcile{})
			w.wantFound(found, want)
			if found.Strangers != 1 || found.Repaired != 0 || found.Young != 0 {
				t.Errorf("found %+v", found)
			}
		}
		var told []string
		found := w.reconciles(archive.Reconcile{Repair: true, Found: func(d archive.Difference) { told = append(told, d.Kind+" "+d.Done) }})
		w.wantFound(found, want)
		if found.Repaired != found.Total() || len(told) != found.Total() {
			t.Fatalf("repaired %d of %d: %v", found.Repaired, found.Total(), told)
		}
		w.wantStatus(ids[0], records.ArchiveFailed, archive.ReasonObjectMissing)
		w.wantStatus(ids[1], records.ArchiveFailed, storage.ReasonMismatch)
		w.start(options{archive: archive.Config{Thumbnails: true}})
		w.pass(time.Minute)
		w.dates()
		w.stop()
		w.pass(2 * time.Hour)
		w.wantFound(w.reconciles(archive.Reconcile{}), map[string]int{})
	})
}

// What is on its way is not taken for left over: uploads, deletions that wait,
// thumbnails that are drawn, and whatever is younger than an hour.
func TestReconcileLeavesAloneWhatIsOnItsWay(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(options{archive: archive.Config{Thumbnails: true}})
		ids := w.kept(2)
		w.pass(time.Minute)
		w.stop()
		w.puts(stray("images/", ".png"))
		w.spools(records.NewID())
		if found := w.reconciles(archive.Reconcile{Repair: true}); found.Total() != 0 || found.Young == 0 {
			t.Errorf("what is young: %+v", found)
		}
		w.pass(61 * time.Minute)
		w.deletes(ids[0]) // its objects wait for a worker
		w.Exec(t, `UPDATE images SET status = 'archiving', object_key = '' WHERE id = ?`, ids[1])
		found, err := w.archiver.Reconcile(t.Context(), archive.Reconcile{})
		if err != nil {
			t.Fatal(err)
		}
		w.wantFound(found, map[string]int{archive.ObjectWithoutRow: 1, archive.SpoolWithoutRow: 1})
		if found.Busy < 3 {
			t.Errorf("%d objects are left to the deletion that waits, want the image, thumbnails and sidecar", found.Busy)
		}
	})
}

// With the wrong database or the wrong store nearly everything looks left over
// or lost. Nothing is touched then.
func TestReconcileSuspectsTheSettings(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(options{})
		w.stop()
		for range 12 {
			w.puts(stray("images/", ".png"))
		}
		w.pass(2 * time.Hour)
		before := len(w.files("objects"))
		if _, err := w.archiver.Reconcile(t.Context(), archive.Reconcile{Repair: true}); !errors.Is(err, archive.ErrOtherDatabase) {
			t.Errorf("an empty database gives %v", err)
		}
		if n := len(w.files("objects")); n != before {
			t.Errorf("%d of %d objects are left", n, before)
		}
		if found := w.reconciles(archive.Reconcile{Repair: true, Anyway: true}); found.Repaired != 12 {
			t.Errorf("repaired %+v", found)
		}
		w.pass(29 * 24 * time.Hour)
		if found := w.reconciles(archive.Reconcile{Repair: true}); found.Emptied != 0 {
			t.Errorf("the quarantine lost %d objects after 29 days", found.Emptied)
		}
		w.pass(2 * 24 * time.Hour)
		if found := w.reconciles(archive.Reconcile{Repair: true}); found.Emptied != 12 {
			t.Errorf("the quarantine lost %d objects after 31 days, want 12", found.Emptied)
		}
		w.wantEmpty("objects")
	})
}
