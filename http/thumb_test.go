package http_test

import (
	"crypto/sha256"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"log/slog"
	"strings"
	"testing"

	"afterimage/archive"
	"afterimage/http"
	"afterimage/jobs"
	"afterimage/records"
	"afterimage/records/recordstest"
	"afterimage/storage"
)

// drawing are the jobs that archive images and draw thumbnails of them.
func (w *world) drawing() []jobs.Kind {
	a := archive.New(archive.Config{DB: w.DB, Store: w.store, Spool: w.spool, Fetch: w.fetch, Thumbnails: true, Log: slog.New(slog.DiscardHandler)})
	w.t.Cleanup(a.Close)
	return a.Kinds()
}

// asksFor records a request for one demo picture of a size.
func (w *world) asksFor(user, prompt string, width, height int) *records.Image {
	w.t.Helper()
	_, images, err := w.CreateGeneration(w.t.Context(), records.NewGeneration{UserID: user, Provider: "demo", Model: "demo", Prompt: prompt, N: 1,
		Width: width, Height: height, Params: records.Params{"size": fmt.Sprintf("%dx%d", width, height), "seed": int64(7)}})
	if err != nil {
		w.t.Fatal(err)
	}
	return &images[0]
}

// thumbed waits until there is a thumbnail of an image, or cannot be.
func (w *world) thumbed(user, id string) *records.Image {
	w.t.Helper()
	tag, v := "none", w.program(w.key(user, records.ScopeImagesRead))
	for {
		a := v.get("/api/v1/images/"+id+"?wait=25s", "If-None-Match: "+tag)
		if a.StatusCode == 304 {
			w.t.Fatalf("image %s did not change in 25 s", id)
		}
		tag = a.wants(200).Header.Get("ETag")
		if i := w.image(user, id); i.Thumb != "" {
			return i
		}
	}
}

// kept writes an image by hand that is archived and has this of a thumbnail.
func (w *world) kept(user, mime, file, thumb string, width, height int) *records.Image {
	w.t.Helper()
	i := w.imports(user, "a boat")
	w.Exec(w.t, `DELETE FROM jobs WHERE ref = ?`, i.ID)
	i.ObjectKey = "images/" + i.ID
	w.puts(i.ObjectKey, mime, file)
	w.Exec(w.t, `UPDATE images SET status = 'archived', object_key = ?, mime = ?, bytes = ?, width = ?, height = ?, sha256 = ?, thumb = ?, archived_at = ? WHERE id = ?`,
		i.ObjectKey, mime, len(file), width, height, strings.Repeat("ab", 32), thumb, w.Now(), i.ID)
	return w.image(user, i.ID)
}

func size(t *testing.T, body string) string {
	t.Helper()
	m, format, err := image.DecodeConfig(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %dx%d", format, m.Width, m.Height)
}

func TestAThumbnailIsServedInThreeSizes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		w.works(append(w.generating(), w.drawing()...)...)
		i := w.thumbed(ann, w.asksFor(ann, "A lighthouse in fog", 1024, 768).ID)
		b := w.browser() // who has the link may see it
		etags := map[string]bool{}
		for query, want := range map[string]string{"": "jpeg 480x360", "?w=240": "jpeg 240x180", "?w=480": "jpeg 480x360", "?w=960": "jpeg 960x720"} {
			a := b.get("/thumb/" + i.ID + query).wants(200)
			if got := size(t, a.body); got != want {
				t.Errorf("%s is a %s, want %s", query, got, want)
			}
			for name, want := range map[string]string{"Content-Type": "image/jpeg", "Cache-Control": "public, max-age=31536000, immutable",
				"Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff", "Content-Disposition": ""} {
				if got := a.Header.Get(name); got != want {
					t.Errorf("%s of %s is %q, want %q", name, query, got, want)
				}
			}
			etag := a.Header.Get("ETag")
			etags[etag] = true
			if a := b.get("/thumb/"+i.ID+query, "If-None-Match: "+etag).wants(304); a.body != "" {
				t.Error("304 has a body")
			}
		}
		if len(etags) != 3 {
			t.Errorf("the ETags are %v", etags)
		}
		b.send("HEAD", "/thumb/"+i.ID, nil).wants(200)
		for _, bad := range []string{"0", "481", "-1", "x", "99999999999999999999"} {
			if code := b.get("/thumb/" + i.ID + "?w=" + bad).wants(422).problem(); code != "invalid_field" {
				t.Errorf("w=%s is %s", bad, code)
			}
		}
		page := w.browserOf(ann).get("/").wants(200)
		page.has(`src="/thumb/`+i.ID+`?w=480"`, `/thumb/`+i.ID+`?w=240 240w, /thumb/`+i.ID+`?w=480 480w, /thumb/`+i.ID+`?w=960 960w"`)
	})
}

func TestWhatStandsForAThumbnail(t *testing.T) {
	large := strings.Repeat("large", 40_000)
	for _, c := range []struct {
		name       string
		mime, file string
		thumb      string
		width      int
		itself     bool
		immutable  bool
	}{
		{name: "a large image until it is drawn: a placeholder", mime: "image/png", file: large, width: 1000},
		{name: "a small image until it is drawn: itself", mime: "image/png", file: "small", width: 1000, itself: true},
		{name: "what only a browser can show: itself, for good", mime: "image/avif", file: large, thumb: "none", width: 1000, itself: true, immutable: true},
		{name: "what not every browser shows: a placeholder", mime: "image/heic", file: "small", thumb: "none", width: 1000},
		{name: "a giant that could not be drawn: a placeholder", mime: "image/png", file: "small", thumb: "none", width: 30_000},
		{name: "a thumbnail that is missing, of a large image: a placeholder", mime: "image/png", file: large, thumb: "jpg", width: 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				i := w.kept(w.person("ann"), c.mime, c.file, c.thumb, c.width, 1000)
				a := w.browser().get("/thumb/" + i.ID).wants(200)
				if itself := a.body == c.file; itself != c.itself || itself != (a.Header.Get("Content-Type") == c.mime) {
					t.Errorf("it is a %s: %s", a.Header.Get("Content-Type"), firstBytes(a.body))
				}
				if !c.itself && (a.Header.Get("Content-Type") != "image/svg+xml" || !strings.HasPrefix(a.body, "<svg")) {
					t.Errorf("it is a %s: %s", a.Header.Get("Content-Type"), firstBytes(a.body))
				}
				if cache := a.Header.Get("Cache-Control"); strings.Contains(cache, "immutable") != c.immutable || !c.immutable && !strings.Contains(cache, "no-cache") {
					t.Errorf("it may be kept: %q", cache)
				}
			})
		})
	}
}

func TestThePlaceholderHasTheProportionsOfTheImage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		_, images := w.asks(ann, "a boat", 1) // 64 by 48, and nothing made yet
		w.browser().get("/thumb/"+images[0].ID).wants(200).has(`width="480" height="360"`, `viewBox="0 0 480 360"`)
		w.browser().get("/thumb/" + images[0].ID + "?w=240").wants(200).has(`width="240" height="180"`)
		imported := w.imports(ann, "a boat") // whose size nobody knows yet
		w.browser().get("/thumb/" + imported.ID).wants(200).has(`width="480" height="480"`)
		w.state(images[0].ID, records.GenerateFailed, "refused")
		w.browser().get("/thumb/" + images[0].ID).wants(200).has("<svg")
	})
}

func TestWhoMaySeeAThumbnail(t *testing.T) {
	for _, private := range []bool{false, true} {
		t.Run(fmt.Sprintf("images are private: %v", private), func(t *testing.T) {
			recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
				w := newWorld(t, c, func(c *http.Config) { c.PrivateImages = private })
				ann, bob := w.person("ann"), w.person("bob")
				i := w.kept(ann, "image/png", "the picture", "jpg", 100, 100)
				w.puts(archive.ThumbKey(i, 480), "image/jpeg", "the thumbnail")
				path, owner := "/thumb/"+i.ID, w.browserOf(ann)
				others := map[string]*visitor{"nobody": w.browser(), "another person": w.browserOf(bob),
					"another's key": w.program(w.key(bob, records.ScopeImagesRead)), "a key for other things": w.program(w.key(ann, records.ScopeOpsRead))}
				cache := map[bool]string{false: "public", true: "private"}[private]
				if a := owner.get(path).wants(200).has("the thumbnail"); !strings.HasPrefix(a.Header.Get("Cache-Control"), cache) {
					t.Errorf("it may be kept: %q", a.Header.Get("Cache-Control"))
				}
				for name, v := range others {
					want := map[bool]int{false: 200, true: 404}[private]
					if got := v.get(path).StatusCode; got != want {
						t.Errorf("%s gets %d, want %d", name, got, want)
					}
				}

				w.Exec(t, `UPDATE images SET trashed_at = ? WHERE id = ?`, w.Now(), i.ID)
				if a := owner.get(path).wants(200).has("the thumbnail"); a.Header.Get("Cache-Control") != "private, no-cache" {
					t.Errorf("out of the trash it may be kept: %q", a.Header.Get("Cache-Control"))
				}
				for name, v := range others {
					if got := v.get(path).StatusCode; got != 404 {
						t.Errorf("out of the trash %s gets %d", name, got)
					}
				}
			})
		})
	}
}

// Pages hold many thumbnails: on average they are light.
func TestThumbnailsAreLight(t *testing.T) {
	w := newWorld(t, recordstest.SQLite(t), nil)
	ann := w.person("ann")
	w.works(append(w.generating(), w.drawing()...)...)
	prompts := []string{"A lighthouse in fog", "koi in a pond", "an alpine lake at dawn", "a neon city at night", "dunes", "aurora over pines", "a red sun", "marble"}
	total := 0
	for _, prompt := range prompts {
		i := w.thumbed(ann, w.asksFor(ann, prompt, 1024, 1024).ID)
		a := w.browser().get("/thumb/" + i.ID).wants(200)
		t.Logf("%-24s %3d KB", prompt, len(a.body)>>10)
		total += len(a.body)
	}
	if average := total / len(prompts); average > 30<<10 {
		t.Errorf("they have %d bytes on average", average)
	}
}

// puts writes an object.
func (w *world) puts(key, mime, body string) {
	w.t.Helper()
	o := storage.Object{Key: key, ContentType: mime, Size: int64(len(body)), SHA256: sha256.Sum256([]byte(body))}
	if _, err := w.store.Put(w.t.Context(), o, strings.NewReader(body)); err != nil {
		w.t.Fatal(err)
	}
}
