package http_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"afterimage/archive"
	"afterimage/http"
	"afterimage/records"
	"afterimage/records/recordstest"
)

func TestADownloadHasImagesAndWhatIsKnownOfThem(t *testing.T) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		var archiver *archive.Archiver
		w := newWorld(t, c, func(c *http.Config) {
			archiver = archive.New(archive.Config{DB: c.DB, Store: c.Store, Spool: c.Spool, Fetch: c.Fetch, Log: slog.New(slog.DiscardHandler)})
			c.Export = archiver.Export
		})
		t.Cleanup(archiver.Close)
		ann := w.person("ann")
		w.works(append(w.generating(), w.archiving()...)...)
		_, images := w.asks(ann, "灯塔 in fog", 1)
		b := w.browserOf(ann)
		b.waitUntil(images[0].ID, "archived")
		failed := w.imports(ann, "never kept").ID
		theirs := w.imports(w.person("bob"), "bob's")
		p := w.program(w.key(ann, records.ScopeImagesRead))
		if files := b.sendForm("/bulk", url.Values{"action": {"download"}, "id": {images[0].ID}}).wants(200).zipped(); len(files) != 4 {
			t.Errorf("the form of a wall downloads %d files", len(files))
		}
		for _, query := range []string{"ids=" + images[0].ID + "," + failed + "," + theirs.ID, "trashed=false"} {
			a := p.get("/api/v1/images/download?" + query).wants(200)
			if a.Header.Get("Content-Type") != "application/zip" || !strings.Contains(a.Header.Get("Content-Disposition"), ".zip") {
				t.Errorf("it is %v", a.Header)
			}
			files := a.zipped()
			lines := strings.Split(strings.TrimSpace(files["images.jsonl"]), "\n")
			if len(lines) != 2 || len(files) != 4 || strings.Contains(files["images.jsonl"], "bob") {
				t.Errorf("%s: %d files, the list is %s", query, len(files), lines)
			}
			for name, body := range files {
				var sidecar struct{ Prompt string }
				if strings.HasSuffix(name, ".json") && strings.Contains(name, "灯塔") {
					if err := json.Unmarshal([]byte(body), &sidecar); err != nil || sidecar.Prompt != "灯塔 in fog" || files[strings.TrimSuffix(name, "json")+"png"] == "" {
						t.Errorf("%s is %s", name, body)
					}
				}
			}
		}
		p.get("/api/v1/images/download").wants(422)
		p.get("/api/v1/images/download?ids=x").wants(422)
		root := w.program(w.key(w.admin("root"), records.ScopeOpsWrite))
		if files := root.get("/api/v1/users/" + ann + "/export").wants(200).zipped(); len(files) != 4 {
			t.Errorf("the export has %d files", len(files))
		}
	})
}

// zipped are the files of a zip by their names.
func (a answer) zipped() map[string]string {
	a.t.Helper()
	z, err := zip.NewReader(strings.NewReader(a.body), int64(len(a.body)))
	if err != nil {
		a.t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			a.t.Fatal(err)
		}
		var body bytes.Buffer
		if _, err := body.ReadFrom(r); err != nil {
			a.t.Fatal(err)
		}
		files[f.Name] = body.String()
	}
	return files
}
