package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"afterimage/archive"
	"afterimage/records"
	"afterimage/storage"
)

// object is the file in which the disk keeps an image.
func (w *world) object(id string) string {
	return filepath.Join(w.dir, "objects", filepath.FromSlash(w.image(id).ObjectKey))
}

func (w *world) overwrites(path string, data []byte) {
	w.t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// kept archives n images.
func (w *world) kept(n int) []string {
	w.t.Helper()
	var ids []string
	for i := range n {
		ids = append(ids, w.imported(fmt.Sprintf("https://s%d.example/%d.png", i, i)))
		w.pass(time.Second)
		w.wantStatus(ids[i], records.Archived, "")
	}
	return ids
}

func (w *world) verifies(s archive.Scrub) archive.Scrubbed {
	w.t.Helper()
	found, err := w.archiver.Verify(w.t.Context(), s)
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// An object that was changed or deleted behind our back is found, its image
// says so, nobody else's does, and an object that is put back is believed.
func TestVerifyFindsWhatIsNotWhole(t *testing.T) {
	tests := []struct {
		name   string
		damage func(w *world, path string)
		reason string
	}{
		{"an object that was deleted", func(w *world, path string) { os.Remove(path) }, archive.ReasonObjectMissing},
		{"one byte that is another", func(w *world, path string) {
			b, _ := os.ReadFile(path)
			b[len(b)/2] ^= 1
			w.overwrites(path, b)
		}, storage.ReasonMismatch},
		{"an object that was cut short", func(w *world, path string) { os.Truncate(path, 10) }, storage.ReasonMismatch},
		{"an object that has grown", func(w *world, path string) {
			b, _ := os.ReadFile(path)
			w.overwrites(path, append(b, 0))
		}, storage.ReasonMismatch},
		{"an object that is empty", func(w *world, path string) { w.overwrites(path, nil) }, storage.ReasonMismatch},
	}
	bubble(t, func(t *testing.T, w *world) {
		w.start(options{})
		ids := w.kept(len(tests) + 1)
		whole := *w.image(ids[len(tests)])
		for n, test := range tests {
			test.damage(w, w.object(ids[n]))
		}
		found := w.verifies(archive.Scrub{})
		if found.Images != 6 || found.Whole != 1 || found.Missing != 1 || found.Wrong != 4 || found.Again != 0 || len(found.IDs) != 5 {
			t.Fatalf("found %+v", found)
		}
		for n, test := range tests {
			i := w.wantStatus(ids[n], records.ArchiveFailed, test.reason)
			if i.Secured() || i.Retryable() {
				t.Errorf("%s: the image still says that it is safe or can be retried", test.name)
			}
			w.wantEvents(ids[n], "imported", "archived", "damaged "+test.reason)
		}
		if now := *w.image(whole.ID); now.Seq != whole.Seq || now.UpdatedAt != whole.UpdatedAt {
			t.Errorf("an image that is whole was changed")
		}
		if n := w.log.count("missing or damaged"); n != 5 {
			t.Errorf("the alarm was raised %d times, want once for each", n)
		}
		if n, err := w.CountDamaged(t.Context()); n != 5 || err != nil {
			t.Errorf("%d images count as damaged: %v", n, err)
		}
		time.Sleep(time.Hour)
		for n := range tests { // an operator restores a copy
			w.overwrites(w.object(ids[n]), picture(fmt.Sprintf("/%d.png", n)))
		}
		if found := w.verifies(archive.Scrub{}); found.Recovered != 5 || found.Bad() != 0 {
			t.Fatalf("found %+v", found)
		}
		for n := range tests {
			i := w.wantStatus(ids[n], records.Archived, "")
			w.wantEvents(ids[n], "imported", "archived", "damaged "+tests[n].reason, "verified")
			if i.SHA256 != sum(picture(fmt.Sprintf("/%d.png", n))) || i.ArchivedAt.IsZero() {
				t.Errorf("image %d has lost what is known of it: %+v", n, i)
			}
		}
	})
}

// Whoever still has the bytes is asked for them.
func TestWhatIsDamagedIsArchivedOnceMore(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(options{})
		ids := w.kept(2)
		w.Exec(t, `UPDATE images SET source_url = 'https://s0.example/0.png' WHERE id = ?`, ids[0])
		if _, err := w.spool.Write(ids[1], bytes.NewReader(picture("/1.png"))); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			w.overwrites(w.object(id), []byte("rot"))
		}
		if found := w.verifies(archive.Scrub{}); found.Wrong != 2 || found.Again != 2 {
			t.Fatalf("found %+v", found)
		}
		w.pass(time.Second)
		for n, id := range ids {
			w.wantArchived(id, picture(fmt.Sprintf("/%d.png", n)))
		}
		w.wantEmpty("spool")
		if n, _ := w.CountDamaged(t.Context()); n != 0 {
			t.Errorf("%d images are still damaged", n)
		}
	})
}

// A store in trouble, or another store than ours, says nothing about images.
func TestVerifyDoesNotBlameImages(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(options{})
		ids := w.kept(12)
		unchanged := func(story string) {
			t.Helper()
			for _, id := range ids {
				if i := w.image(id); i.Status != records.Archived {
					t.Fatalf("%s: an image is %s", story, i.Status)
				}
			}
		}
		w.store.fails(down())
		if _, err := w.archiver.Verify(t.Context(), archive.Scrub{}); err == nil {
			t.Error("a store that is down is no error")
		}
		unchanged("the store is down")
		w.store.does(func(_ context.Context, op, key string) error {
			if op == "open" && key == w.image(ids[3]).ObjectKey {
				return down()
			}
			return nil
		})
		if found := w.verifies(archive.Scrub{}); found.Unreadable != 1 || found.Whole != 11 {
			t.Errorf("found %+v, want one that cannot be read", found)
		}
		unchanged("one object cannot be read")
		w.store.fails(nil)
		for _, id := range ids {
			os.Remove(w.object(id))
		}
		time.Sleep(time.Second)
		if _, err := w.archiver.Verify(t.Context(), archive.Scrub{}); !errors.Is(err, archive.ErrOtherStore) {
			t.Errorf("an empty store gives %v", err)
		}
		unchanged("the store is empty")
		if found := w.verifies(archive.Scrub{Anyway: true}); found.Missing != 12 {
			t.Errorf("found %+v", found)
		}
		w.wantStatus(ids[0], records.ArchiveFailed, archive.ReasonObjectMissing)
	})
}

// Each share begins where the last one ended, and no faster than it may.
func TestVerifyInShares(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(options{})
		ids := w.kept(5)
		var checked []string
		size := w.image(ids[0]).Bytes
		for range 5 {
			time.Sleep(time.Hour)
			begin := time.Now()
			found := w.verifies(archive.Scrub{Images: 2, Rate: size / 10})
			if took := time.Since(begin); found.Images != 2 || took < 19*time.Second || took > 25*time.Second {
				t.Errorf("%d images took %s, want 2 in about 20 s", found.Images, took)
			}
			for _, id := range ids {
				var at records.Time
				if w.Get(t, &at, `SELECT verified_at FROM images WHERE id = ?`, id); !at.IsZero() {
					checked = append(checked, id)
				}
			}
		}
		slices.Sort(checked)
		if got := slices.Compact(checked); len(got) != 5 {
			t.Errorf("%d of 5 images were ever looked at", len(got))
		}
		if found, err := w.archiver.VerifyShare(t.Context(), 0); found.Images != 1 || err != nil {
			t.Errorf("a day's share of 5 images is %+v: %v", found, err)
		}
	})
}
