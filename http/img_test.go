package http_test

import (
	"crypto/sha256"
	"encoding/hex"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"afterimage/http"
	"afterimage/records"
	"afterimage/records/recordstest"
)

// picture is an image that is archived, and who made it.
type picture struct {
	*records.Image
	owner string
	bytes string
}

// archived lets the real workers make and keep an image.
func (w *world) archived(name, prompt string) picture {
	w.t.Helper()
	if w.worker == nil {
		w.works(append(w.generating(), w.archiving()...)...)
	}
	p := picture{owner: w.person(name)}
	_, images := w.asks(p.owner, prompt, 1)
	b := w.browserOf(p.owner)
	b.waitUntil(images[0].ID, "archived")
	p.Image = w.image(p.owner, images[0].ID)
	p.bytes = b.get("/img/" + p.ID).wants(200).body
	return p
}

func TestThePermanentURL(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		i := w.archived("ann", "A lighthouse, 灯塔 / fog")
		b := w.browser() // who has the link may see it
		path := "/img/" + i.ID

		a := b.get(path).wants(200)
		sum := sha256.Sum256([]byte(a.body))
		if hex.EncodeToString(sum[:]) != i.SHA256 || int64(len(a.body)) != i.Bytes {
			t.Error("the bytes are not those of the record")
		}
		for name, want := range map[string]string{
			"Content-Type": "image/png", "ETag": `"` + i.SHA256 + `"`, "Cache-Control": "public, max-age=31536000, immutable",
			"Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff",
			"Cross-Origin-Resource-Policy": "cross-origin", "Accept-Ranges": "bytes", "Content-Encoding": "",
		} {
			if got := a.Header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if a := b.get(path, "If-None-Match: "+a.Header.Get("ETag")).wants(304); a.body != "" {
			t.Error("304 has a body")
		}
		if a := b.get(path, "Range: bytes=10-19").wants(206); a.body != i.bytes[10:20] {
			t.Errorf("the range gave %q", a.body)
		}
		if a := b.get(path, "Range: bytes=-5").wants(206); a.body != i.bytes[len(i.bytes)-5:] {
			t.Errorf("the range gave %q", a.body)
		}
		b.get(path, "Range: bytes=99999999-").wants(416)
		b.get(path, "Range: bytes=0-3", `If-Range: "another"`).wants(200)
		if a := b.send("HEAD", path, nil).wants(200); a.body != "" || a.ContentLength != i.Bytes {
			t.Errorf("HEAD gave %d bytes and says %d", len(a.body), a.ContentLength)
		}
		name := b.get(path + "?download=1").Header.Get("Content-Disposition")
		day := i.CreatedAt.Format("2006-01-02")
		want := `attachment; filename="ann-` + day + "-A-lighthouse-__-fog-" + i.ID + `.png"; filename*=UTF-8''ann-` + day + "-A-lighthouse-%E7%81%AF%E5%A1%94-fog-" + i.ID + ".png"
		if name != want {
			t.Errorf("the download is called %s, want %s", name, want)
		}
		b.get("/thumb/" + i.ID).wants(200)
	})
}

func TestADownloadWithoutWordsHasAName(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		i := w.archived("ann", "?!")
		name := w.browser().get("/img/" + i.ID + "?download=1").Header.Get("Content-Disposition")
		if want := `attachment; filename="ann-` + i.CreatedAt.Format("2006-01-02") + "-" + i.ID + `.png"`; name != want {
			t.Errorf("the download is called %s, want %s", name, want)
		}
	})
}

func TestWhoMaySeeAPicture(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		i := w.archived("ann", "a fox")
		ann, bob := w.browserOf(i.owner), w.browserOf(w.person("bob"))
		path := "/img/" + i.ID
		if err := w.MarkImage(t.Context(), i.owner, i.ID, records.Marks{Trashed: new(true)}); err != nil {
			t.Fatal(err)
		}
		for _, who := range []*visitor{w.browser(), bob, w.program(w.key(i.owner, records.ScopeOpsRead))} {
			if code := who.get(path).wants(404).problem(); code != "not_found" {
				t.Errorf("the code is %s", code)
			}
		}
		for _, who := range []*visitor{ann, w.program(w.key(i.owner, records.ScopeImagesRead))} {
			if a := who.get(path).wants(200); a.Header.Get("Cache-Control") != "private, no-cache" {
				t.Errorf("Cache-Control is %s", a.Header.Get("Cache-Control"))
			}
		}
		if err := w.DeleteImage(t.Context(), i.owner, i.ID); err != nil {
			t.Fatal(err)
		}
		ann.get(path).wants(404)
	})
}

func TestPrivateImagesAreTheirOwnersAlone(t *testing.T) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		w := newWorld(t, c, func(c *http.Config) { c.PrivateImages = true })
		i := w.archived("ann", "a fox")
		w.browser().get("/img/" + i.ID).wants(404)
		w.browser().get("/thumb/" + i.ID).wants(404)
		w.browserOf(w.person("bob")).get("/img/" + i.ID).wants(404)
		a := w.browserOf(i.owner).get("/img/" + i.ID).wants(200)
		if a.Header.Get("Cache-Control") != "private, max-age=31536000, immutable" {
			t.Errorf("Cache-Control is %s", a.Header.Get("Cache-Control"))
		}
	})
}

func TestAPictureIsServedFromTheSpoolBeforeItIsStored(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		w.works(w.generating()...) // and nobody archives
		_, images := w.asks(ann, "a fox", 1)
		b := w.browserOf(ann)
		i := b.waitUntil(images[0].ID, "generated")
		if !i.Archive.Secured {
			t.Error("it is not secured")
		}
		a := w.browser().get("/img/"+i.ID, "Range: bytes=0-7").wants(206)
		if a.body != "\x89PNG\r\n\x1a\n" || a.Header.Get("Cache-Control") != "private, no-cache" || a.Header.Get("Content-Type") != "image/png" {
			t.Errorf("it is %q, %v", a.body, a.Header)
		}
		if a.Header.Get("ETag") != `"`+i.SHA256+`"` {
			t.Errorf("the ETag is %s", a.Header.Get("ETag"))
		}
		w.Exec(t, `UPDATE images SET spool_id = 'of another machine' WHERE id = ?`, i.ID)
		if a := b.get("/img/" + i.ID).wants(503); a.problem() != "on_another_machine" || a.Header.Get("Retry-After") == "" {
			t.Errorf("bytes on another machine are %s", a.problem())
		}
	})
}

func TestAPictureThatIsNotThereYetIsHeld(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		ann := w.person("ann")
		g, images := w.asks(ann, "a fox", 1)
		path := "/img/" + images[0].ID
		began := time.Now()
		a := w.browser().get(path).wants(202)
		if took := time.Since(began); took != 25*time.Second || a.problem() != "not_ready" || a.Header.Get("Retry-After") != "2" {
			t.Errorf("after %s it says %s, Retry-After %s", took, a.problem(), a.Header.Get("Retry-After"))
		}
		time.AfterFunc(3*time.Second, func() {
			if err := w.CancelGeneration(t.Context(), ann, g.ID); err != nil {
				t.Error(err)
			}
		})
		began = time.Now()
		if code := w.browser().get(path).wants(410).problem(); code != "lost" || time.Since(began) != 3*time.Second {
			t.Errorf("after %s it says %s", time.Since(began), code)
		}
	})
}

func TestAPictureThatWasLost(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		failed := w.imports(ann, "a fox")
		w.state(failed.ID, records.ArchiveFailed, "source_expired")
		if code := w.browser().get("/img/" + failed.ID).wants(410).problem(); code != "lost" {
			t.Errorf("the code is %s", code)
		}
		i := w.archived("bob", "a fox")
		w.Exec(t, `UPDATE images SET bytes = bytes + 1 WHERE id = ?`, i.ID)
		w.browser().get("/img/" + i.ID).wants(410).has("damaged")
		if err := w.store.Delete(t.Context(), i.ObjectKey); err != nil {
			t.Fatal(err)
		}
		a := w.browser().get("/img/" + i.ID).wants(410).has("missing").hasNot(i.ObjectKey)
		if a.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(w.log.String(), i.ObjectKey) {
			t.Error("the answer or the log does not say what is wrong")
		}
	})
}

func TestAnImageIsNoPageOfOurs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		i := w.archived("ann", "a fox")
		a := w.browser().send("POST", "/img/"+i.ID, nil).wants(405)
		if a.problem() != "method_not_allowed" || strings.Join(a.Header[nethttp.CanonicalHeaderKey("Allow")], " ") != "GET HEAD" {
			t.Errorf("405 allows %v", a.Header["Allow"])
		}
	})
}
