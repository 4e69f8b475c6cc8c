package archive_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"afterimage/archive"
	"afterimage/records"
)

// sidecar reads an image's sidecar, of which there must be one.
func (w *world) sidecar(id string) (text string, s archive.Sidecar) {
	w.t.Helper()
	keys := w.sidecarKeys(id)
	if len(keys) != 1 {
		w.t.Fatalf("the sidecars are %v\nlog:\n%s", keys, w.log)
	}
	body, info, err := w.store.Open(w.t.Context(), keys[0], 0, -1)
	if err != nil {
		w.t.Fatal(err)
	}
	defer body.Close()
	var b strings.Builder
	d := json.NewDecoder(io.TeeReader(body, &b))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		w.t.Fatal(err)
	}
	if info.ContentType != "application/json" {
		w.t.Errorf("it is served as %s", info.ContentType)
	}
	return b.String(), s
}

func (w *world) sidecarKeys(id string) (keys []string) {
	w.t.Helper()
	found, err := w.store.List(w.t.Context(), "meta/2026/03/01/"+id, "", 0)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range found {
		keys = append(keys, o.Key)
	}
	return keys
}

func TestASidecarSaysWhatLasts(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(withThumbs)
		const secret = "X-Amz-Signature=5ecre7"
		i := w.imports(records.ImportItem{URL: "https://source.example/large.png?" + secret, Prompt: "灯塔 <at> night",
			Provider: "openai", Model: "gpt-image-1", Params: records.Params{"size": "500x500", "seed": 7.0}})[0]
		w.pass(time.Minute)
		now := w.image(i.ID)
		text, s := w.sidecar(i.ID)
		if strings.Contains(text, "5ecre7") || strings.Contains(text, "source.example") {
			t.Errorf("it tells the source:\n%s", text)
		}
		switch {
		case s.Version != 1, s.ID != i.ID, s.Owner != "ada", s.Prompt != "灯塔 <at> night", s.Provider != "openai", s.Model != "gpt-image-1",
			s.Params["seed"] != 7.0, s.Params["size"] != "500x500":
			t.Errorf("what was asked for is\n%s", text)
		case s.Object != now.ObjectKey, s.MIME != "image/png", s.Bytes != now.Bytes, s.Width != 500, s.Height != 500, s.SHA256 != now.SHA256:
			t.Errorf("the object is\n%s", text)
		case s.Thumb != "jpg", s.Placeholder == "", s.Placeholder != now.Placeholder:
			t.Errorf("the thumbnail is\n%s", text)
		case s.CreatedAt != now.CreatedAt, s.ArchivedAt != now.ArchivedAt, !s.TrashedAt.IsZero(), s.Favorite:
			t.Errorf("the times are\n%s", text)
		case s.Generation != nil, s.Import == nil, s.Import.ID != *now.ImportID, s.Import.CreatedAt.IsZero():
			t.Errorf("the origin is\n%s", text)
		}
	})
}

// Who knows an image's address knows its id, and the day it was made.
func TestASidecarsKeyCannotBeGuessed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		byHand := w.handWritten(records.Generated, "https://source.example/c.png", "")
		w.job("by hand", byHand)
		w.start(withThumbs)
		one, other := w.imported("https://source.example/a.png"), w.imported("https://source.example/b.png")
		w.pass(time.Minute)
		seen := map[string]bool{}
		for _, id := range []string{one, other, byHand} {
			w.sidecar(id)
			rest := strings.TrimPrefix(w.sidecarKeys(id)[0], "meta/2026/03/01/"+id+"-")
			if rest = strings.TrimSuffix(rest, ".json"); len(rest) != 26 || seen[rest] {
				t.Errorf("the part that is to be guessed is %q", rest)
			}
			seen[rest] = true
		}
	})
}

func TestASidecarFollowsItsOwnersMarks(t *testing.T) {
	yes, no := true, false
	marks := func(w *world, id string, m records.Marks) {
		w.t.Helper()
		if err := w.MarkImage(w.t.Context(), w.user, id, m); err != nil {
			w.t.Fatal(err)
		}
	}
	t.Run("when they are set", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			w.start(withThumbs)
			id := w.imported("https://source.example/a.png")
			marks(w, id, records.Marks{Favorite: &yes})
			w.pass(time.Minute)
			_, s := w.sidecar(id)
			before := s.Placeholder
			if !s.Favorite || before == "" {
				t.Errorf("it is %+v", s)
			}
			marks(w, id, records.Marks{Favorite: &no, Trashed: &yes})
			w.pass(time.Minute)
			if _, s := w.sidecar(id); s.Favorite || s.TrashedAt != w.image(id).TrashedAt || s.TrashedAt.IsZero() || s.Placeholder != before || s.Thumb != "jpg" {
				t.Errorf("it is %+v", s)
			}
			w.wantJobs(id)
			if n := w.store.puts["thumbs/2026/03/01/"+id+"-240.jpg"]; n != 1 {
				t.Errorf("the thumbnail was drawn %d times", n)
			}
		})
	})
	t.Run("while it is written", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			goOn, inPut := make(chan struct{}), make(chan struct{}, 10)
			w.store.does(func(_ context.Context, op, key string) error {
				if op == "put" && strings.HasPrefix(key, "meta/") {
					inPut <- struct{}{}
					<-goOn
				}
				return nil
			})
			w.start(withThumbs)
			id := w.imported("https://source.example/a.png")
			<-inPut
			marks(w, id, records.Marks{Favorite: &yes})
			close(goOn)
			w.pass(time.Minute)
			if _, s := w.sidecar(id); !s.Favorite {
				t.Errorf("it is %+v", s)
			}
			w.wantJobs(id)
		})
	})
}

// An image that was archived once more may be another picture: what stands
// beside it must not speak of the first.
func TestASidecarAndThumbnailsAreMadeAgainWithTheImage(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(withThumbs)
		id := w.imported("https://source.example/a.png")
		w.pass(time.Minute)
		_, before := w.sidecar(id)
		w.source.answers(func(int, *http.Request) (*http.Response, error) { return ok(picture("/large.png")), nil })
		w.Exec(t, `UPDATE images SET status = 'archive_failed', source_url = 'https://source.example/a.png' WHERE id = ?`, id)
		if err := w.RetryImage(t.Context(), w.user, id); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		w.wantThumb(id, "jpg", "240.jpg 480.jpg 960.jpg")
		if _, s := w.sidecar(id); s.SHA256 != sum(picture("/large.png")) || s.Placeholder == before.Placeholder {
			t.Errorf("it is %+v", s)
		}
	})
}

// A picture that ends the process of whoever draws it is given up in the end,
// without anybody writing its sidecar after that.
func TestASidecarIsThereBeforeWhatMayEndTheProcess(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(options{})
		id := w.imported("https://source.example/a.png")
		w.pass(time.Minute)
		w.stop()
		w.asksForThumb(id)
		w.Exec(t, `UPDATE jobs SET crashes = 1 WHERE ref = ?`, id)
		w.store.does(func(_ context.Context, op, key string) error {
			if op == "put" && strings.HasPrefix(key, "thumbs/") {
				return down() // nothing is written after this
			}
			return nil
		})
		w.start(withThumbs)
		w.pass(time.Second)
		if _, s := w.sidecar(id); s.Thumb != "" || s.SHA256 == "" {
			t.Errorf("it is %+v", s)
		}
	})
}

// If the database is lost in the middle of a deletion, the sidecar is what
// would bring the image back: it goes first. Otherwise a job remembers what is
// left, also over a restart.
func TestADeletionThatIsCutOff(t *testing.T) {
	for _, c := range []struct{ name, at, left string }{
		{"at the sidecar", "meta/", "images meta thumbs"},
		{"at a thumbnail", "thumbs/", "thumbs"},
		{"at the object", "images/", "images"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.start(withThumbs)
				id := w.imported("https://source.example/a.png")
				w.pass(time.Minute)
				w.store.does(func(_ context.Context, op, key string) error {
					if op == "delete" && strings.HasPrefix(key, c.at) {
						return down()
					}
					return nil
				})
				w.deletes(id)
				w.pass(time.Minute)
				w.stop()
				var left []string
				for _, folder := range []string{"images", "meta", "thumbs"} {
					if len(w.files("objects/"+folder)) > 0 {
						left = append(left, folder)
					}
				}
				if got := strings.Join(left, " "); got != c.left {
					t.Errorf("there is %q, want %q", got, c.left)
				}
				w.wantJobs(id, records.JobWaiting)
				w.store.fails(nil)
				w.start(withThumbs)
				w.pass(time.Minute)
				w.wantGone(id)
			})
		})
	}
}
