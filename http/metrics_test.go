package http_test

import (
	"fmt"
	"io"
	nethttp "net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"afterimage/http"
	"afterimage/jobs"
	"afterimage/records"
	"afterimage/records/recordstest"
)

// withMetrics gives a world figures, as main does.
func withMetrics(t *testing.T, c records.Config, token string) (*world, *http.Metrics) {
	m := http.NewMetrics("v1.2.3")
	var w *world
	slots := func() []jobs.SlotUse {
		if w == nil || w.worker == nil {
			return []jobs.SlotUse{{Kind: "archive", Slots: 2}}
		}
		return w.worker.Slots()
	}
	w = newWorld(t, c, func(c *http.Config) {
		c.Metrics, c.MetricsToken = m, token
		c.Store = m.Store(c.Store)
		c.Watched = http.Watched{DB: c.DB, Spool: c.Spool, Slots: slots, Paused: c.Paused}
	})
	return w, m
}

func (w *world) scrape(header ...string) (int, string) {
	w.t.Helper()
	r, err := nethttp.NewRequestWithContext(w.t.Context(), nethttp.MethodGet, w.url+"/metrics", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for n := 0; n < len(header); n += 2 {
		r.Header.Set(header[n], header[n+1])
	}
	resp, err := w.transport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// scrapeUntil scrapes until a figure is there.
func (w *world) scrapeUntil(figure string) string {
	w.t.Helper()
	for range 10_000 {
		code, text := w.scrape()
		if code != nethttp.StatusOK {
			w.t.Fatalf("status %d: %s", code, text)
		}
		if strings.Contains(text, figure) && strings.Contains(text, `route="/metrics"`) {
			return text
		}
	}
	w.t.Fatalf("there never is %s", figure)
	return ""
}

func TestMetricsTellWhatHappened(t *testing.T) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		w, m := withMetrics(t, c, "")
		ada := w.person("gwendolyn")
		w.works(m.Kinds(append(w.generating(), w.archiving()...))...)
		g, images, err := w.CreateGeneration(t.Context(), records.NewGeneration{UserID: ada, Provider: "demo", Model: "demo", Prompt: "a secret garden", N: 1, Params: records.Params{"size": "256x256"}})
		if err != nil {
			t.Fatal(err)
		}
		w.browserOf(ada).waitUntil(images[0].ID, "archived")
		text := w.scrapeUntil("afterimage_provider_requests_total{") // the generation is told of a moment after its image
		for _, want := range []string{
			`afterimage_build_info{version="v1.2.3"} 1`,
			`afterimage_archive_attempts_total{reason="",result="archived"} 1`,
			`afterimage_provider_requests_total{provider="demo",result="succeeded"} 1`,
			`afterimage_jobs_settled_total{kind="archive",verdict="complete"} 1`,
			`afterimage_slots{kind="archive",pool=""} 2`,
			`afterimage_archive_oldest_pending_seconds 0`,
			`afterimage_store_paused 0`,
			`afterimage_spool_files 0`,
			`afterimage_source_next_expiry_seconds NaN`,
			`afterimage_sources_expiring{within="5m"} 0`,
			"go_goroutines", "process_resident_memory_bytes",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s is missing", want)
			}
		}
		for _, private := range []string{"gwendolyn", "secret garden", g.ID, images[0].ID} {
			if strings.Contains(text, private) {
				t.Errorf("the figures tell %q", private)
			}
		}
		problems, err := promlint.New(strings.NewReader(text)).Lint()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	})
}

// A source that dies soon is counted until its bytes are safe.
func TestMetricsCountSourcesAboutToDie(t *testing.T) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		w, _ := withMetrics(t, c, "")
		ada := w.person("gwendolyn")
		in := func(minutes int) records.ImportItem {
			return records.ImportItem{URL: fmt.Sprintf("https://source.example/%d.png", minutes), ExpiresAt: w.Now().Add(time.Duration(minutes) * time.Minute)}
		}
		_, images, err := w.CreateImport(t.Context(), ada, []records.ImportItem{in(3), in(4), in(10), in(50), in(500)}, records.Idempotency{})
		if err != nil {
			t.Fatal(err)
		}
		w.Exec(t, `UPDATE images SET spool_id = 'here' WHERE id = ?`, images[1].ID) // safe
		_, text := w.scrape()
		for _, want := range []string{`within="5m"} 1`, `within="15m"} 2`, `within="1h"} 3`,
			`afterimage_queue_jobs{kind="archive",state="ready"} 5`} {
			if !strings.Contains(text, want) {
				t.Errorf("%s is missing", want)
			}
		}
	})
}

func TestWhoMayReadMetrics(t *testing.T) {
	const token = "a-token-of-16-characters"
	open, _ := withMetrics(t, recordstest.SQLite(t), "")
	guarded, _ := withMetrics(t, recordstest.SQLite(t), token)
	for name, c := range map[string]struct {
		w      *world
		header []string
		want   int
	}{
		"this machine":                        {open, nil, nethttp.StatusOK},
		"somebody through a proxy on it":      {open, []string{"X-Forwarded-For", "192.0.2.1"}, nethttp.StatusForbidden},
		"another machine":                     {open, []string{"Forwarded", "for=192.0.2.1"}, nethttp.StatusForbidden},
		"this machine, where a token is set":  {guarded, nil, nethttp.StatusUnauthorized},
		"a wrong token":                       {guarded, []string{"Authorization", "Bearer " + token + "x"}, nethttp.StatusUnauthorized},
		"the token":                           {guarded, []string{"Authorization", "Bearer " + token}, nethttp.StatusOK},
		"the token, through a proxy":          {guarded, []string{"Authorization", "bearer " + token, "Via", "1.1 proxy"}, nethttp.StatusOK},
		"the token, as another kind of right": {guarded, []string{"Authorization", "Basic " + token}, nethttp.StatusUnauthorized},
	} {
		c.w.run(name, func(t *testing.T) {
			c.w.t = t
			code, text := c.w.scrape(c.header...)
			if code != c.want {
				t.Errorf("status %d, want %d", code, c.want)
			}
			if code != nethttp.StatusOK && strings.Contains(text, "go_goroutines") {
				t.Error("the figures were told all the same")
			}
		})
	}
}

var metricName = regexp.MustCompile(`\b(?:afterimage|process|go)_[a-z0-9_]+`)

// Dashboards and alerts that name a figure which does not exist stay silent
// for ever.
func TestDashboardsAndAlertsUseFiguresThatExist(t *testing.T) {
	w, m := withMetrics(t, recordstest.SQLite(t), "")
	ada := w.person("gwendolyn")
	w.works(m.Kinds(append(w.generating(), w.archiving()...))...)
	_, images, err := w.CreateGeneration(t.Context(), records.NewGeneration{UserID: ada, Provider: "demo", Model: "demo", Prompt: "x", N: 1, Params: records.Params{"size": "256x256"}})
	if err != nil {
		t.Fatal(err)
	}
	w.browserOf(ada).waitUntil(images[0].ID, "archived")
	w.browser().get("/img/" + images[0].ID).wants(200)
	w.Exec(t, `INSERT INTO jobs (id, kind, ref, state, deadline, run_at, created_at) VALUES ('x', 'archive', 'x', 'held', ?, ?, ?)`,
		records.Never, records.Never, w.Now())
	text := w.scrapeUntil("afterimage_images{") // which are counted in the background
	existing := metricName.FindAllString(text, -1)
	for _, file := range []string{"../contrib/prometheus/alerts.yml", "../contrib/grafana/dashboard.json"} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		used := metricName.FindAllString(string(content), -1)
		if len(used) < 5 {
			t.Fatalf("%s uses %d figures", file, len(used))
		}
		for _, name := range used {
			if !slices.Contains(existing, name) {
				t.Errorf("%s: there is no %s", file, name)
			}
		}
	}
}
