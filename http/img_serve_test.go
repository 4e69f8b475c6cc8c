package http_test

import (
	"context"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"afterimage/archive"
	"afterimage/http"
	"afterimage/records"
	"afterimage/records/recordstest"
	"afterimage/storage"
)

func publicly(c *http.Config) {
	c.PublicURL = func(key string) string { return "https://cdn.example/pics/" + key }
}

func TestArchivedPicturesAreServedFromThePublicURL(t *testing.T) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		w := newWorld(t, c, publicly)
		ann := w.person("ann")
		i := w.kept(ann, "image/png", "the picture", "jpg", 100, 100)
		w.puts(archive.ThumbKey(i, 480), "image/jpeg", "the thumbnail")
		for path, key := range map[string]string{"/img/" + i.ID: i.ObjectKey, "/thumb/" + i.ID: archive.ThumbKey(i, 480)} {
			for _, method := range []string{"GET", "HEAD"} {
				a := w.browser().send(method, path, nil).wants(302)
				if got, want := a.Header.Get("Location"), "https://cdn.example/pics/"+key; got != want {
					t.Errorf("%s %s goes to %s, want %s", method, path, got, want)
				}
				if a.Header.Get("Cache-Control") != "public, max-age=300" {
					t.Errorf("%s may be kept: %s", path, a.Header.Get("Cache-Control"))
				}
			}
		}
		if csp := w.browserOf(ann).get("/").wants(200).Header.Get("Content-Security-Policy"); !strings.Contains(csp, "img-src 'self' data: blob: https://cdn.example;") {
			t.Errorf("pages may not show it: %s", csp)
		}
		if a := w.browser().get("/img/" + i.ID + "?download=1").wants(200).has("the picture"); a.Header.Get("Content-Disposition") == "" {
			t.Error("the download has no name")
		}
		if err := w.MarkImage(t.Context(), ann, i.ID, records.Marks{Trashed: new(true)}); err != nil {
			t.Fatal(err)
		}
		w.browser().get("/img/" + i.ID).wants(404)
		w.browserOf(ann).get("/img/" + i.ID).wants(200).has("the picture")
	})
}

// A public address would show private images to everybody.
func TestPrivatePicturesNeverGoToThePublicURL(t *testing.T) {
	w := newWorld(t, recordstest.SQLite(t), func(c *http.Config) { publicly(c); c.PrivateImages = true })
	ann := w.person("ann")
	i := w.kept(ann, "image/png", "the picture", "jpg", 100, 100)
	w.puts(archive.ThumbKey(i, 480), "image/jpeg", "the thumbnail")
	w.browserOf(ann).get("/img/" + i.ID).wants(200).has("the picture")
	w.browserOf(ann).get("/thumb/" + i.ID).wants(200).has("the thumbnail")
	w.browser().get("/img/" + i.ID).wants(404)
}

func TestAPictureThatIsNotStoredDoesNotGoToThePublicURL(t *testing.T) {
	w := newWorld(t, recordstest.SQLite(t), publicly)
	ann := w.person("ann")
	w.works(w.generating()...)
	_, images := w.asks(ann, "a fox", 1)
	w.browserOf(ann).waitUntil(images[0].ID, "generated")
	w.browser().get("/img/" + images[0].ID).wants(200)
}

// curl is what people resume a broken download with.
func TestRangesAsCurlAsksForThem(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal("curl is not installed: ranges cannot be asked for as people do")
	} else if err != nil {
		t.Skip("curl is not installed: ranges are not asked for as people do")
	}
	w := newWorld(t, recordstest.SQLite(t), nil)
	ann := w.person("ann")
	w.works(w.generating()...)
	_, images := w.asks(ann, "a fox", 1)
	w.browserOf(ann).waitUntil(images[0].ID, "generated")
	spooled := images[0].ID
	whole := w.browser().get("/img/" + spooled).wants(200).body
	stored := w.kept(ann, "image/png", whole, "", 64, 48).ID
	size := len(whole)
	for from, id := range map[string]string{"the spool": spooled, "the store": stored} {
		for _, row := range []struct {
			ask    string
			status string
			want   string
		}{
			{"0-0", "206", whole[:1]},
			{"0-99", "206", whole[:100]},
			{"100-199", "206", whole[100:200]},
			{"100-", "206", whole[100:]},
			{"-1", "206", whole[size-1:]},
			{"-100", "206", whole[size-100:]},
			{fmt.Sprintf("%d-", size-1), "206", whole[size-1:]},
			{"0-99999999", "206", whole},
			{"-99999999", "206", whole},
			{"99999999-", "416", ""},
		} {
			t.Run("-r "+row.ask+" from "+from, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "out")
				status, err := exec.CommandContext(t.Context(), curl, "-q", "--silent", "--noproxy", "*", "-r", row.ask, "-o", file, "-w", "%{http_code}", w.url+"/img/"+id).Output()
				if err != nil || string(status) != row.status {
					t.Fatalf("curl says %s, %v; want %s", status, err, row.status)
				}
				if got, _ := os.ReadFile(file); row.status == "206" && string(got) != row.want {
					t.Errorf("%d bytes came, want %d", len(got), len(row.want))
				}
			})
		}
		t.Run("two ranges from "+from, func(t *testing.T) {
			got, err := exec.CommandContext(t.Context(), curl, "-q", "--silent", "--noproxy", "*", "-r", "0-9,100-119", w.url+"/img/"+id).Output()
			if err != nil || !strings.Contains(string(got), whole[:10]) || !strings.Contains(string(got), whole[100:120]) || len(got) > 1000 {
				t.Errorf("%d bytes came, %v", len(got), err)
			}
		})
	}
}

// bucket is a world whose store is an S3 server of the test's own.
func bucketWorld(t *testing.T, server nethttp.HandlerFunc) *world {
	t.Helper()
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	store, err := storage.NewS3(t.Context(), storage.S3Config{Bucket: "pics", Endpoint: s.URL, AccessKeyID: "KEYID", SecretAccessKey: "very-secret"})
	if err != nil {
		t.Fatal(err)
	}
	return newWorld(t, recordstest.SQLite(t), func(c *http.Config) { c.Store = store })
}

// Each picture is one request to the store, and none for who has it already.
func TestAPictureCostsOneRequestToTheStore(t *testing.T) {
	var asked atomic.Int32
	w := bucketWorld(t, func(rw nethttp.ResponseWriter, r *nethttp.Request) {
		asked.Add(1)
		rw.Header().Set("ETag", `"etag"`)
		nethttp.ServeContent(rw, r, "", records.Time{}.Time, strings.NewReader("the picture"))
	})
	i := w.kept(w.person("ann"), "image/png", "the picture", "", 100, 100)
	for _, row := range []struct {
		name, method, header string
		status, most         int32
	}{
		{"the whole", "GET", "", 200, 1},
		{"what a browser has already", "GET", `If-None-Match: "` + i.SHA256 + `"`, 304, 0},
		{"its size", "HEAD", "", 200, 1},
		{"a part", "GET", "Range: bytes=4-6", 206, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			asked.Store(0)
			var headers []string
			if row.header != "" {
				headers = append(headers, row.header)
			}
			w.browser().send(row.method, "/img/"+i.ID, nil, headers...).wants(int(row.status))
			if n := asked.Load(); n > row.most {
				t.Errorf("%d requests, want %d", n, row.most)
			}
		})
	}
}

// Who closes the page must not have us go on reading 60 MB for nobody.
func TestAClientThatGoesAwayStopsTheReadFromTheStore(t *testing.T) {
	const size = 1 << 30
	stopped := make(chan struct{})
	w := bucketWorld(t, func(rw nethttp.ResponseWriter, r *nethttp.Request) {
		rw.Header().Set("ETag", `"etag"`)
		rw.Header().Set("Content-Length", fmt.Sprint(size))
		if r.Method == "HEAD" {
			return
		}
		piece := make([]byte, 64<<10)
		for sent := 0; sent < size; sent += len(piece) {
			if _, err := rw.Write(piece); err != nil {
				close(stopped)
				return
			}
		}
		t.Error("all of it was read")
		close(stopped)
	})
	i := w.kept(w.person("ann"), "image/png", "the picture", "", 100, 100)
	w.Exec(t, `UPDATE images SET bytes = ? WHERE id = ?`, size, i.ID)
	ctx, leave := context.WithCancel(t.Context())
	req, err := nethttp.NewRequestWithContext(ctx, "GET", w.url+"/img/"+i.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := w.transport.RoundTrip(req)
	if err != nil || res.StatusCode != 200 {
		t.Fatal(res, err)
	}
	if _, err := io.ReadFull(res.Body, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	leave()
	<-stopped
	res.Body.Close()
}
