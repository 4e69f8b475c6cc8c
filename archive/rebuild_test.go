package archive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"afterimage/archive"
	"afterimage/records"
	"afterimage/records/recordstest"
	"afterimage/storage"
)

// rebuilt is an empty database of the same kind, and what a rebuild made of it.
func (w *world) rebuilt() (*records.DB, archive.Rebuilt) {
	w.t.Helper()
	c := recordstest.SQLite(w.t)
	if w.Postgres() {
		c = recordstest.Postgres(w.t)
	}
	db := recordstest.Open(w.t, c)
	return db, w.rebuilds(db)
}

func (w *world) rebuilds(db *records.DB) archive.Rebuilt {
	w.t.Helper()
	found, err := archive.Rebuild(w.t.Context(), db, w.store, func(archive.Rebuilt) {})
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// history are a person's images, by id, without what is new in each database.
func history(t *testing.T, db *records.DB, user string) map[string]records.Image {
	t.Helper()
	u, err := db.UserByName(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	h, err := db.History(t.Context(), u.ID, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	byID, last := map[string]records.Image{}, int64(0)
	for _, i := range h.Images {
		if i.Seq <= last {
			t.Errorf("the change numbers do not rise: %d after %d", i.Seq, last)
		}
		last, i.Seq, i.UserID, i.UpdatedAt = i.Seq, 0, "", records.Time{}
		byID[i.ID] = i
	}
	return byID
}

func (w *world) wantSame(db *records.DB, users ...string) {
	w.t.Helper()
	for _, user := range users {
		want, got := history(w.t, w.DB, user), history(w.t, db, user)
		for id := range want {
			if !reflect.DeepEqual(got[id], want[id]) {
				w.t.Errorf("of %s the image is\n%+v, want\n%+v", user, got[id], want[id])
			}
		}
		if len(got) != len(want) {
			w.t.Errorf("%s has %d images, want %d", user, len(got), len(want))
		}
	}
}

// keeps archives n images for somebody.
func (w *world) keeps(user string, n int) (ids []string) {
	w.t.Helper()
	items := make([]records.ImportItem, n)
	for i := range items {
		items[i] = records.ImportItem{URL: fmt.Sprintf("https://source.example/%s%d.png", user, i), Prompt: "a picture of " + user, Params: records.Params{"seed": float64(i)}}
	}
	_, images, err := w.CreateImport(w.t.Context(), user, items, records.Idempotency{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.pass(time.Duration(n+60) * time.Second)
	for _, i := range images {
		ids = append(ids, i.ID)
	}
	return ids
}

func TestRebuild(t *testing.T) {
	yes := true
	bubble(t, func(t *testing.T, w *world) {
		w.start(withThumbs)
		bob := w.person("bob")
		mine, his := w.keeps(w.user, 5), w.keeps(bob, 3)
		for n, m := range []records.Marks{{Favorite: &yes}, {Trashed: &yes}} {
			if err := w.MarkImage(t.Context(), w.user, mine[n], m); err != nil {
				t.Fatal(err)
			}
		}
		w.deletes(mine[4])
		w.pass(time.Minute)

		step := func(what string, check func()) { // a bubble has no subtests
			if check(); t.Failed() {
				t.Fatalf("a rebuild %s: it does not", what)
			}
		}
		db, found := w.rebuilt()
		if found.Images != 7 || found.Users != 2 || found.Imports != 2 || found.Generations != 0 || found.Thumbnails != 0 || found.Missing+found.Resized+found.WithoutSidecar+found.Unreadable > 0 {
			t.Errorf("found %+v", found)
		}
		w.wantSame(db, "ada", "bob")
		step("can be repeated", func() {
			if found := w.rebuilds(db); found.Same != 7 || found.Images != 0 || found.Users != 0 {
				t.Errorf("found %+v", found)
			}
			w.wantSame(db, "ada", "bob")
		})
		step("goes on where it ended", func() {
			u, err := db.UserByName(t.Context(), "bob")
			if err != nil {
				t.Fatal(err)
			}
			if err := db.DeleteImage(t.Context(), u.ID, his[1]); err != nil {
				t.Fatal(err)
			}
			if found := w.rebuilds(db); found.Same != 6 || found.Images != 1 {
				t.Errorf("found %+v", found)
			}
			w.wantSame(db, "ada", "bob")
		})
		step("makes accounts that nobody can sign in to until they get a password", func() {
			if _, err := db.Authenticate(t.Context(), "bob", ""); !errors.Is(err, records.ErrWrongPassword) {
				t.Errorf("without a password: %v", err)
			}
			u, err := db.CreateUser(t.Context(), "bob", "correct horse", records.Member)
			if err != nil {
				t.Fatal(err)
			}
			signed, err := db.Authenticate(t.Context(), "bob", "correct horse")
			if err != nil || signed.ID != u.ID {
				t.Errorf("with one: %v, %v", signed, err)
			}
			if _, err := db.CreateUser(t.Context(), "bob", "correct horse 2", records.Member); !errors.Is(err, records.ErrUsernameTaken) {
				t.Errorf("another: %v", err)
			}
			w.wantSame(db, "bob")
		})
		step("leaves another database alone", func() {
			other, _ := w.rebuilt()
			u, err := other.UserByName(t.Context(), "bob")
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := other.CreateImport(t.Context(), u.ID, []records.ImportItem{{URL: "https://source.example/new.png"}}, records.Idempotency{}); err != nil {
				t.Fatal(err)
			}
			if err := other.DeleteImage(t.Context(), u.ID, his[0]); err != nil {
				t.Fatal(err)
			}
			_, err = archive.Rebuild(t.Context(), other, w.store, func(archive.Rebuilt) {})
			if _, ok := errors.AsType[*records.NotTheSameError](err); !ok {
				t.Errorf("the error is %v", err)
			}
			if _, err := other.Image(t.Context(), u.ID, his[0]); !errors.Is(err, records.ErrNotFound) {
				t.Error("it wrote before it looked")
			}
		})
	})
}

func TestRebuildOfAStoreThatIsNotWhole(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(withThumbs)
		ids := w.keeps(w.user, 6)
		slices.Sort(ids)
		put := func(key, text string) {
			t.Helper()
			_, err := w.store.Disk.Put(t.Context(), storage.Object{Key: key, ContentType: "application/json", Size: int64(len(text)), SHA256: sha256.Sum256([]byte(text))}, strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
		}
		drop := func(key string) {
			t.Helper()
			if err := w.store.Disk.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		lost, grown, nobodys, damaged, bare := w.image(ids[0]), w.image(ids[1]), w.image(ids[2]), w.image(ids[3]), w.image(ids[4])
		drop(lost.ObjectKey)
		put(grown.ObjectKey, "something else")
		drop(w.sidecarKeys(nobodys.ID)[0])
		put(w.sidecarKeys(damaged.ID)[0], `{"version":1,"id":"`+ids[5]+`","owner":"ada"}`)
		drop(archive.ThumbKey(bare, 240))
		put("meta/2026/03/01/stranger.json", "{}")
		put("images/stranger.png", "?")
		put("thumbs/2026/03/01/"+records.NewID()+"-240.jpg", "?")

		db, found := w.rebuilt()
		want := archive.Rebuilt{Restored: records.Restored{Images: 4, Users: 1, Imports: 1}, Missing: 1, MissingIDs: ids[:1],
			Resized: 1, ResizedIDs: ids[1:2], WithoutSidecar: 1, WithoutIDs: ids[2:3], Unreadable: 1,
			UnreadableKeys: w.sidecarKeys(damaged.ID), Thumbnails: 1}
		if !reflect.DeepEqual(found, want) {
			t.Errorf("found %+v\nwant  %+v", found, want)
		}
		got := history(t, db, "ada")
		if i := got[lost.ID]; i.Status != records.ArchiveFailed || i.Reason != archive.ReasonObjectMissing || i.Prompt != lost.Prompt || i.Retryable() {
			t.Errorf("the lost one is %+v", i)
		}
		if i := got[bare.ID]; i.Status != records.Archived || i.Thumb != records.ThumbNotYet {
			t.Errorf("the one without a thumbnail is %+v", i)
		}
		if jobs, err := db.JobsOf(t.Context(), bare.ID); err != nil || len(jobs) != 1 || jobs[0].Kind != records.KindThumbnail {
			t.Errorf("its jobs are %+v, %v", jobs, err)
		}
	})
}

// A store in trouble is no store without images.
func TestRebuildEndsWhenTheStoreDoes(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(withThumbs)
		w.keeps(w.user, 3)
		c := recordstest.SQLite(t)
		db := recordstest.Open(t, c)
		for _, broken := range []storage.Store{
			&brokenStore{Store: w.store, open: down()},
			&brokenStore{Store: w.store, list: down()},
			&brokenStore{Store: w.store, torn: io.ErrUnexpectedEOF},
		} {
			_, err := archive.Rebuild(t.Context(), db, broken, func(archive.Rebuilt) {})
			if !errors.Is(err, io.ErrClosedPipe) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the error is %v", err)
			}
		}
		if filled, err := db.HasImages(t.Context()); filled || err != nil {
			t.Errorf("it wrote something: %v", err)
		}
	})
}

// brokenStore fails at one thing.
type brokenStore struct {
	storage.Store
	open, list, torn error
}

func (s *brokenStore) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, storage.Info, error) {
	if s.open != nil {
		return nil, storage.Info{}, s.open
	}
	body, info, err := s.Store.Open(ctx, key, offset, length)
	if err == nil && s.torn != nil {
		body.Close()
		body = io.NopCloser(io.MultiReader(bytes.NewReader([]byte(`{"version":`)), errReader{s.torn}))
	}
	return body, info, err
}

func (s *brokenStore) List(ctx context.Context, prefix, after string, limit int) ([]storage.Info, error) {
	if s.list != nil {
		return nil, s.list
	}
	return s.Store.List(ctx, prefix, after, limit)
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }
