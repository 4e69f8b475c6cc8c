package http_test

import (
	"log/slog"
	"strings"
	"testing"

	"afterimage/archive"
	"afterimage/http"
	"afterimage/records"
	"afterimage/records/recordstest"
)

// Somebody asks whether an image is still whole: it is, then it is not, its
// address says so, and administrators see it on every page until its object is
// put back.
func TestVerifyAnImage(t *testing.T) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		w := newWorld(t, c, func(c *http.Config) {
			a := archive.New(archive.Config{DB: c.DB, Store: c.Store, Spool: c.Spool, Log: slog.New(slog.DiscardHandler)})
			t.Cleanup(a.Close)
			c.Verify = a.VerifyImage
		})
		p := w.archived("ann", "a lighthouse")
		program, path := w.program(w.key(p.owner, records.ScopeImagesWrite)), "/api/v1/images/"+p.ID
		boss := w.browserOf(w.admin("root"))
		verify := func(want string) {
			t.Helper()
			if a := program.call("POST", path+"/verify", "").wants(200); !strings.Contains(a.body, want) {
				t.Fatalf("the answer has no %s: %s", want, a.body)
			}
		}
		alarm := func(want bool) {
			t.Helper()
			if got := strings.Contains(boss.get("/").wants(200).body, "1 image is damaged or missing"); got != want {
				t.Errorf("an administrator sees the alarm: %v, want %v", got, want)
			}
		}
		verify(`"status":"archived"`)
		alarm(false)
		if a := program.get(path + "/events").wants(200); !strings.Contains(a.body, `"Verified"`) {
			t.Errorf("nothing tells that it was verified: %s", a.body)
		}
		if err := w.store.Delete(t.Context(), p.ObjectKey); err != nil {
			t.Fatal(err)
		}
		verify(`"reason":"object_missing"`)
		alarm(true)
		if strings.Contains(w.browserOf(p.owner).get("/").wants(200).body, "damaged") {
			t.Error("others see the administrators' alarm")
		}
		program.get("/img/" + p.ID).wants(410)
		w.puts(p.ObjectKey, p.MIME, p.bytes)
		verify(`"status":"archived"`)
		alarm(false)
		program.get("/img/" + p.ID).wants(200)
	})
}
