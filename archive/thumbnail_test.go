package archive_test

import (
	stdbytes "bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/jpeg"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"afterimage/archive"
	"afterimage/records"
	"afterimage/storage"
)

var withThumbs = options{archive: archive.Config{Thumbnails: true}}

// spoiled is a picture whose structure is right and whose pixels are not.
func spoiled(name string) []byte {
	file := slices.Clone(picture(name))
	at := stdbytes.Index(file, []byte("IDAT"))
	size := int(binary.BigEndian.Uint32(file[at-4:]))
	for i := at + 10; i < at+4+size; i++ {
		file[i] ^= 0x55
	}
	binary.BigEndian.PutUint32(file[at+4+size:], crc32.ChecksumIEEE(file[at:at+4+size]))
	return file
}

// thumbFiles are the ends of the names of an image's thumbnails.
func (w *world) thumbFiles(id string) string {
	w.t.Helper()
	var ends []string
	for _, name := range w.files("objects") {
		if end, ok := strings.CutPrefix(name, id+"-"); ok && !strings.HasSuffix(end, ".json") {
			ends = append(ends, end)
		}
	}
	return strings.Join(ends, " ")
}

func (w *world) wantThumb(id, thumb, files string) {
	w.t.Helper()
	i := w.wantStatus(id, records.Archived, "")
	if got := w.thumbFiles(id); i.Thumb != thumb || got != files {
		w.t.Fatalf("there is %q of the thumbnail, and files %q, want %q and %q\nlog:\n%s", i.Thumb, got, thumb, files, w.log)
	}
	w.wantJobs(id)
}

// asksForThumb writes a thumbnail job by hand.
func (w *world) asksForThumb(id string) {
	w.t.Helper()
	w.Exec(w.t, `INSERT INTO jobs (id, kind, ref, state, deadline, run_at, created_at) VALUES ('by hand', 'thumbnail', ?, 'ready', ?, ?, ?)`,
		id, records.Never, w.Now(), w.Now())
}

func TestThumbnailsAreMadeOfWhatIsArchived(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(withThumbs)
		small, large := w.imported("https://source.example/a.png"), w.imported("https://source.example/large.png")
		w.pass(time.Minute)
		w.wantThumb(small, "jpg", "240.jpg")
		w.wantThumb(large, "jpg", "240.jpg 480.jpg 960.jpg")
		body, info, err := w.store.Open(t.Context(), archive.ThumbKey(w.image(large), 480), 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		m, err := jpeg.Decode(body)
		if err != nil || m.Bounds() != image.Rect(0, 0, 480, 480) {
			t.Errorf("the thumbnail is %v, %v of %v", info, m.Bounds(), err)
		}
	})
}

// Whoever watches learns of a thumbnail as of any other change.
func TestAThumbnailIsAChange(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(options{})
		id := w.imported("https://source.example/a.png")
		w.pass(time.Minute)
		w.wantThumb(id, "", "") // switched off
		before := w.image(id)
		w.stop()

		w.start(withThumbs)
		w.asksForThumb(id)
		w.pass(time.Minute)
		w.wantThumb(id, "jpg", "240.jpg")
		h, err := w.History(t.Context(), w.user, before.Seq, 10)
		if err != nil || len(h.Images) != 1 || h.Images[0].ID != id || !h.Images[0].UpdatedAt.After(before.UpdatedAt.Time) {
			t.Errorf("the history goes on with %+v, %v", h, err)
		}
	})
}

func TestAThumbnailNeverFailsAnArchive(t *testing.T) {
	for _, c := range []struct {
		name   string
		file   func(string) []byte
		memory int64
		logged string
	}{
		{"pixels that are spoiled", spoiled, 0, "decode image/png"},
		{"a picture for which too little memory is set aside", picture, 1 << 20, "1 are set aside"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.source.answers(func(_ int, r *http.Request) (*http.Response, error) { return ok(c.file(r.URL.Path)), nil })
				w.start(options{archive: archive.Config{Thumbnails: true, ThumbMemory: c.memory}})
				id := w.imported("https://source.example/a.png")
				w.pass(time.Minute)
				w.wantArchived(id, c.file("/a.png"))
				w.wantThumb(id, "none", "")
				if w.log.count("an image has no thumbnail") != 1 || w.log.count(c.logged) != 1 {
					t.Errorf("the log does not say once why:\n%s", w.log)
				}
			})
		})
	}
}

func TestAThumbnailWaitsForTheStore(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.store.does(func(_ context.Context, op, key string) error {
			if op == "put" && strings.Contains(key, "-480.") {
				return down()
			}
			return nil
		})
		w.start(withThumbs)
		id := w.imported("https://source.example/large.png")
		w.pass(90 * time.Second) // four tries
		if i := w.wantStatus(id, records.Archived, ""); i.Thumb != "" {
			t.Fatalf("the thumbnail is %q", i.Thumb)
		}
		if j := w.wantJobs(id, records.JobWaiting); j[0].Attempt != 0 {
			t.Errorf("it counts as a failure: %+v", j)
		}
		if _, _, paused := w.archiver.Paused(); paused {
			t.Error("images wait because of a thumbnail")
		}
		w.store.fails(nil)
		w.pass(time.Minute)
		w.wantThumb(id, "jpg", "240.jpg 480.jpg 960.jpg")
	})
}

func TestAnObjectThatIsMissingHasNoThumbnail(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(options{})
		id := w.imported("https://source.example/a.png")
		w.pass(time.Minute)
		if err := w.store.Delete(t.Context(), w.image(id).ObjectKey); err != nil {
			t.Fatal(err)
		}
		w.stop()
		w.asksForThumb(id)
		w.start(withThumbs)
		w.pass(time.Hour)
		w.wantJobs(id, records.JobDiscarded) // for people to see
	})
}

func TestDeletingTakesThumbnailsAway(t *testing.T) {
	t.Run("which were made", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			w.start(withThumbs)
			id := w.imported("https://source.example/large.png")
			w.pass(time.Minute)
			w.wantThumb(id, "jpg", "240.jpg 480.jpg 960.jpg")
			w.deletes(id)
			w.pass(time.Minute)
			w.wantGone(id)
		})
	})
	t.Run("which are being made", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			goOn := make(chan struct{})
			w.store.does(func(_ context.Context, op, key string) error {
				if op == "put" && strings.Contains(key, "-480.") {
					<-goOn
				}
				return nil
			})
			w.start(withThumbs)
			id := w.imported("https://source.example/large.png")
			w.pass(time.Minute)
			w.deletes(id)
			w.pass(time.Minute)
			close(goOn)
			w.pass(time.Minute)
			w.wantGone(id)
		})
	})
}

// A store that dies in the middle of an object, and bytes that are not those
// of the record.
func TestAnObjectThatIsNotWhatItWas(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(options{})
		id := w.imported("https://source.example/a.png")
		w.pass(time.Minute)
		i := w.image(id)
		other := picture("/another large.png")
		_, err := w.store.Disk.Put(t.Context(), storage.Object{Key: i.ObjectKey, ContentType: i.MIME, Size: int64(len(other)), SHA256: sha256.Sum256(other)},
			io.NewSectionReader(stdbytes.NewReader(other), 0, int64(len(other))))
		if err != nil {
			t.Fatal(err)
		}
		w.stop()
		w.asksForThumb(id)
		w.start(withThumbs)
		w.pass(time.Minute)
		w.wantThumb(id, "none", "")
	})
}
