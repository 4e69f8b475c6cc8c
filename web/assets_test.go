package web

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
)

func gzipSize(t *testing.T, text []byte) int {
	t.Helper()
	zipped, err := squeeze(text)
	if err != nil {
		t.Fatal(err)
	}
	return len(zipped)
}

func TestPagesKeepToTheirBudgets(t *testing.T) {
	s := newSite(t)
	js, css := 0, 0
	for name, file := range s.assets.files {
		switch {
		case strings.HasSuffix(name, ".js"):
			js += len(file.gzipped)
		case strings.HasSuffix(name, ".css"):
			css += len(file.gzipped)
		}
	}
	var page bytes.Buffer
	view := GalleryView{Layout: Layout{User: "admin", LiveURL: "/live?since=42"}, Tiles: sixtyTiles(), Counts: Counts{All: 1204}, Now: time.Now(), OlderURL: "/?cursor=x"}
	if err := s.Render(&page, "en", "gallery", view); err != nil {
		t.Fatal(err)
	}
	html := gzipSize(t, page.Bytes())
	t.Logf("scripts %d, styles %d, page with 60 tiles %d bytes (%d plain)", js, css, html, page.Len())
	for what, row := range map[string][2]int{"scripts": {js, 25 << 10}, "styles": {css, 12 << 10}, "page with 60 tiles": {html, 12 << 10}} {
		if row[0] > row[1] {
			t.Errorf("%s: %d bytes compressed, the budget is %d", what, row[0], row[1])
		}
	}
}

func TestAssets(t *testing.T) {
	s := newSite(t)
	prefix := s.assets.prefix
	for _, row := range []struct {
		name, method, path, accept string
		code                       int
		cache, encoding            string
	}{
		{"is kept for ever", "GET", prefix + "app.css", "gzip, br", 200, "immutable", "gzip"},
		{"comes plain to who wants it plain", "GET", prefix + "app.css", "", 200, "immutable", ""},
		{"of an older version is not kept", "GET", "/assets/0123456789ab/app.css", "gzip", 200, "no-cache", "gzip"},
		{"a picture is not compressed again", "GET", prefix + "example-1.webp", "gzip", 200, "immutable", ""},
		{"HEAD has no body", "HEAD", prefix + "app.css", "", 200, "immutable", ""},
		{"that is not there", "GET", prefix + "nothing.css", "", 404, "", ""},
		{"outside the folder", "GET", prefix + "../templates/_page.html", "", 404, "", ""},
		{"the folder itself", "GET", prefix, "", 404, "", ""},
		{"cannot be sent", "POST", prefix + "app.css", "", 405, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := httptest.NewRequest(row.method, row.path, nil)
			r.Header.Set("Accept-Encoding", row.accept)
			w := httptest.NewRecorder()
			s.Assets().ServeHTTP(w, r)
			if w.Code != row.code || !strings.Contains(w.Header().Get("Cache-Control"), row.cache) || w.Header().Get("Content-Encoding") != row.encoding {
				t.Errorf("%d %v", w.Code, w.Header())
			}
			if row.method == "HEAD" && w.Body.Len() > 0 {
				t.Errorf("HEAD answered %d bytes", w.Body.Len())
			}
		})
	}
	r := httptest.NewRequest("GET", prefix+"app.css", nil)
	r.Header.Set("If-None-Match", s.assets.files["app.css"].etag)
	w := httptest.NewRecorder()
	if s.Assets().ServeHTTP(w, r); w.Code != http.StatusNotModified {
		t.Errorf("asked with its ETag: %d", w.Code)
	}
}

// Every picture, style and script that a page asks for must be there.
func TestPagesAskOnlyForAssetsThatExist(t *testing.T) {
	s := newSite(t)
	icons := string(s.assets.files["icons.svg"].plain)
	for name, p := range everyPage() {
		var page bytes.Buffer
		if err := s.Render(&page, "en", p.page, p.view); err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(s.assets.prefix+`([^"#]+)(#[^"]*)?`).FindAllStringSubmatch(page.String(), -1) {
			if _, ok := s.assets.files[found[1]]; !ok {
				t.Errorf("%s: no asset %q", name, found[1])
			}
			if id := strings.TrimPrefix(found[2], "#"); id != "" && !strings.Contains(icons, `id="`+id+`"`) {
				t.Errorf("%s: no icon %q", name, id)
			}
		}
	}
}

func TestScriptsKeepToThePolicy(t *testing.T) {
	for name, file := range newSite(t).assets.files {
		if !strings.HasSuffix(name, ".js") {
			continue
		}
		if found := regexp.MustCompile(`innerHTML|\beval\(|new Function|setAttribute\('style'|document\.write`).FindString(string(file.plain)); found != "" {
			t.Errorf("%s: %q", name, found)
		}
	}
}
