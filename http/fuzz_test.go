package http_test

import (
	"io"
	"log/slog"
	nethttp "net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"afterimage/archive"
	"afterimage/fetch"
	"afterimage/generate"
	"afterimage/http"
	"afterimage/records"
	"afterimage/storage"
)

// FuzzRequests sends whatever may come to every kind of route: nothing is our
// fault, and nothing panics.
func FuzzRequests(f *testing.F) {
	routes := []string{"GET /api/v1/images?", "GET /api/v1/history?", "GET /api/v1/images/counts?", "GET /api/v1/images/%s?", "GET /api/v1/images/%s/events?",
		"GET /api/v1/jobs/list?", "GET /api/v1/images/download?", "GET /api/v1/events?wait=0&", "PATCH /api/v1/images/%s?", "POST /api/v1/generations?", "POST /api/v1/images/import?",
		"POST /api/v1/images/bulk?", "POST /api/v1/keys?", "PATCH /api/v1/users/%s?", "DELETE /api/v1/users/%s?", "POST /api/v1/jobs/revive?",
		"GET /img/%s?", "GET /thumb/%s?", "GET /?", "GET /live?", "POST /v1/images/generations?"}
	id := strings.Repeat("0", 32)
	for n := range routes {
		f.Add(n, id, "limit=0", `{}`, "If-None-Match", `"x"`)
		f.Add(n, "%00", "cursor=AAAA&since=AAAA&q=%ff&from=x&status=%00", `{"ids":["\u0000"],"action":"trash"}`, "Idempotency-Key", "\xff")
		f.Add(n, "../..", "wait=1h&limit=1000000000&q=%e7%81%af", `{"prompt":"\ud800","n":1e99,"params":{"a":[[[[]]]]}}`, "Last-Event-ID", "AAAAAAAAAAAAAAAAAAAAAAAAAAA")
		f.Add(n, "\xff", "q='%20OR&trashed=2&to=0000-01-01T00:00:00Z", `[[[[`, "Range", "bytes=-1")
		f.Add(n, strings.Repeat("v", 32), "limit=999999999999999999999&cursor="+strings.Repeat("A", 200), `{"quota_bytes":-9223372036854775808,"role":"x"}`, "Accept-Language", strings.Repeat("a-", 100))
	}
	server, key := newFuzzServer(f)
	f.Fuzz(func(t *testing.T, route int, id, query, body, header, value string) {
		method, path, _ := strings.Cut(routes[uint(route)%uint(len(routes))], " ")
		target := "http://site.example" + strings.Replace(path, "%s", url.PathEscape(id), 1) + query
		r, err := nethttp.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
		if err != nil {
			t.Skip("no request at all")
		}
		r.RequestURI, r.RemoteAddr = r.URL.RequestURI(), "192.0.2.1:1"
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header[nethttp.CanonicalHeaderKey(header)] = []string{value}
		rec := httptest.NewRecorder()
		server.ServeHTTP(rec, r)
		if rec.Code >= 500 && rec.Code != nethttp.StatusServiceUnavailable {
			text, _ := io.ReadAll(rec.Body)
			t.Errorf("%s %s answers %d: %s", method, target, rec.Code, text)
		}
	})
}

// newFuzzServer is a site, and the key of its administrator. It is stopping, so
// that nobody is kept waiting.
func newFuzzServer(f *testing.F) (*http.Server, string) {
	dir := f.TempDir()
	db, err := records.Open(f.Context(), records.Config{Path: filepath.Join(dir, "afterimage.db")})
	if err == nil {
		f.Cleanup(func() { db.Close() })
		err = db.Migrate(f.Context())
	}
	config := http.Config{DB: db, BaseURL: "http://site.example", Providers: []generate.Provider{generate.NewDemo()}, MaxAttempts: 3,
		Log: slog.New(slog.DiscardHandler), Paused: func() (string, records.Time, bool) { return "", records.Time{}, false }}
	if err == nil {
		config.Store, err = storage.NewDisk(filepath.Join(dir, "objects"))
	}
	if err == nil {
		config.Spool, err = storage.OpenSpool(filepath.Join(dir, "spool"))
	}
	if err == nil {
		config.Fetch, err = fetch.New(fetch.Config{})
	}
	if err == nil {
		config.Site, err = theSite()
	}
	if err != nil {
		f.Fatal(err)
	}
	config.Webhooks = config.Fetch
	a := archive.New(archive.Config{DB: db, Store: config.Store, Spool: config.Spool, Fetch: config.Fetch, Log: config.Log})
	f.Cleanup(a.Close)
	config.Export, config.Verify = a.Export, a.VerifyImage
	server, err := http.New(f.Context(), config)
	if err != nil {
		f.Fatal(err)
	}
	server.Drain()
	root, err := db.CreateUser(f.Context(), "root", "correct horse", records.Admin)
	if err != nil {
		f.Fatal(err)
	}
	_, key, err := db.CreateKey(f.Context(), root.ID, "fuzz", records.Scopes, 0)
	if err != nil {
		f.Fatal(err)
	}
	return server, key
}
