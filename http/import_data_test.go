package http_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"testing"

	"afterimage/records"
)

// A data: address holds the only copy of its image: it is in the spool before
// the import is promised, not in a row.
func TestImportOfDataURLs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		p := w.program(w.key(ann, records.ScopeImagesWrite))
		file := tinyPNG()
		body := `{"items":[{"url":"data:image/png;base64,` + base64.StdEncoding.EncodeToString(file) + `"},
			{"url":"data:image/png;base64,iVBOR@@@"}, {"url":"data:text/html,<script>alert(1)</script>"}]}`
		type made struct {
			Items []struct {
				ID, Status string
				Archive    struct {
					Secured bool
					Reason  string
				}
			}
		}
		var first, again made
		p.call("POST", "/api/v1/images/import", body, "Idempotency-Key: k1").wants(202).into(&first)
		id := first.Items[0].ID
		if i := first.Items[0]; i.Status != string(records.Generated) || !i.Archive.Secured {
			t.Errorf("the image is %+v", i)
		}
		if kept, err := w.spool.Stat(id); err != nil || kept.SHA256 != sha256.Sum256(file) {
			t.Errorf("the spool has %+v: %v", kept, err)
		}
		for n, reason := range map[int]string{1: "source_corrupt", 2: "source_not_image"} {
			if i := first.Items[n]; i.Status != string(records.ArchiveFailed) || i.Archive.Reason != reason {
				t.Errorf("item %d is %+v, want %s", n, i, reason)
			}
		}
		var rows int
		w.Get(t, &rows, `SELECT count(*) FROM images WHERE source_url LIKE 'data:%'`)
		if rows != 0 {
			t.Errorf("%d rows hold an image", rows)
		}

		p.call("POST", "/api/v1/images/import", body, "Idempotency-Key: k1").wants(202).into(&again)
		if again.Items[0].ID != id {
			t.Error("the same import made another image")
		}
		if n := spooled(t, w); n != 1 {
			t.Errorf("the spool holds %d files, want one", n)
		}
		w.works(w.archiving()...)
		if i := p.waitUntil(id, "archived"); i.SHA256 != fmt.Sprintf("%x", sha256.Sum256(file)) {
			t.Errorf("the image is %+v", i)
		}
	})
}

// tinyPNG is an image of one pixel.
func tinyPNG() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func spooled(t *testing.T, w *world) (n int) {
	t.Helper()
	for _, err := range w.spool.List() {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}
