package http_test

import (
	"encoding/json"
	nethttp "net/http"
	"testing"

	"afterimage/http"
	"afterimage/records"
	"afterimage/records/recordstest"
)

func TestReadyTellsDatabaseStoreAndDisk(t *testing.T) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		paused := false
		w := newWorld(t, c, func(c *http.Config) {
			c.Paused = func() (string, records.Time, bool) { return "store_denied", records.Time{}, paused }
		})
		ask := func(path string, code int, status string, checks map[string]string) {
			t.Helper()
			resp, err := nethttp.Get(w.url + path)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var h struct {
				Status string
				Checks map[string][]struct{ Status, Output, Time string }
			}
			if err := json.NewDecoder(resp.Body).Decode(&h); err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != code || h.Status != status || len(h.Checks) != len(checks) || resp.Header.Get("Content-Type") != "application/health+json" {
				t.Errorf("%s: status %d, %+v; want %d %s", path, resp.StatusCode, h, code, status)
			}
			for name, want := range checks {
				if got := h.Checks[name]; len(got) != 1 || got[0].Status != want || got[0].Time == "" {
					t.Errorf("%s: %+v, want %s", name, got, want)
				}
			}
		}
		ask("/readyz", 200, "pass", nil)
		ask("/readyz?verbose", 200, "pass", map[string]string{"database": "pass", "store": "pass", "disk": "pass"})
		paused = true
		ask("/readyz", 200, "warn", nil)
		ask("/readyz?verbose", 200, "warn", map[string]string{"database": "pass", "store": "warn", "disk": "pass"})
		if err := w.DB.Close(); err != nil {
			t.Fatal(err)
		}
		ask("/readyz?verbose", 503, "fail", map[string]string{"database": "fail", "store": "warn", "disk": "pass"})
	})
}
