package web

import (
	"bytes"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"
)

// deskView is a desk where all is well, or as much is wrong as can be.
func deskView(l Layout, good bool) OpsView {
	now, nan := time.Now(), math.NaN()
	v := OpsView{Layout: l, Range: "1h", Now: now, Kept: 1, Charts: []Chart{
		{Name: "queue", Stacked: true, Parts: []ChartPart{{"generating", "1", []float64{nan, 1, 2}}, {"archiving", "2", []float64{nan, 0, 3}}, {"retrying", "wait", []float64{nan, 0, 1}}}},
		{Name: "rate", Bars: true, Parts: []ChartPart{{"", "1", []float64{0, .2, 40}}}},
		{Name: "oldest", Unit: Milliseconds, Tone: "hot", Parts: []ChartPart{{"", "1", []float64{0, 1500, 4e6}}}},
		{Name: "flight", Limit: 4, Parts: []ChartPart{{"", "1", []float64{nan, nan, 4}}}},
		{Name: "took", Unit: Milliseconds, Parts: []ChartPart{{"p95", "1", []float64{nan, nan, nan}}, {"p50", "2", []float64{nan, nan, nan}}}},
		{Name: "bytes", Unit: ByteSize, Parts: []ChartPart{{"", "1", []float64{0, 3e9, 1}}}},
	}}
	for n := range v.Charts {
		v.Charts[n].From, v.Charts[n].To = now.Add(-time.Hour), now
	}
	if good {
		return v
	}
	v.Still, v.Expiring = true, [3]int{1, 2, 3}
	for _, reason := range []string{"store_denied", "store_missing", "store_full", "store_unreachable", "store_error"} {
		v.Wrong = append(v.Wrong, Problem{Name: "store", Reason: reason, Since: now, N: 37})
	}
	for _, name := range []string{"paused", "jobs", "late", "damaged", "archive_overdue", "source_expiring", "conservation", "verify"} {
		v.Wrong = append(v.Wrong, Problem{Name: name, Kind: "archive", By: "ann", Since: now, Wait: time.Hour, N: 2, Detail: "0j3k"})
	}
	for n, reason := range reasons {
		v.Failures = append(v.Failures, FailureRow{Reason: reason, Detail: "status 502", N: n + 1, Waiting: n % 2, Retryable: n % 3, Share: 100 - n})
	}
	v.Dying = []DyingSource{{ID: "0j3k", Status: "retry_wait", ExpiresAt: now.Add(time.Minute), CanRetry: true}, {ID: "0j3l", Status: "generated", ExpiresAt: now.Add(10 * time.Minute)}}
	v.Forecast = Forecast{Waiting: 41, PerMinute: 7, Clears: 6 * time.Minute, DieFirst: 2}
	v.Facts = []Fact{{Name: "store", Bad: true, Detail: "s3://images"}, {Name: "worker", N: 2, Time: time.Second}, {Name: "database", Time: time.Millisecond},
		{Name: "spool", Plain: true, N: 1, Bytes: 5}, {Name: "version", Plain: true, Detail: "1.0", Time: time.Hour}}
	return v
}

func TestTheScaleOfAChartIsRound(t *testing.T) {
	c := newSite(t).Words("en")
	for _, row := range []struct {
		name string
		unit Unit
		most float64
		want string
	}{
		{"nothing", Pieces, 0, "0 1 2"},
		{"a few", Pieces, 3, "0 2 4"},
		{"many", Pieces, 41, "0 30 60"},
		{"thousands", Pieces, 61_000, "0 50,000 100,000"},
		{"no time", Milliseconds, 0, "0 50 ms 0.1 s"},
		{"seconds", Milliseconds, 1900, "0 1 s 2 s"},
		{"minutes", Milliseconds, 23 * 60_000, "0 15m 30m"},
		{"megabytes", ByteSize, 65 << 20, "0 50 MB 100 MB"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []string
			for _, line := range c.scale(Chart{Unit: row.unit, Parts: []ChartPart{{Values: []float64{row.most}}}}) {
				got = append(got, line.Text)
			}
			if text := strings.Join(got, " "); text != row.want {
				t.Errorf("got %q, want %q", text, row.want)
			}
		})
	}
}

// What is drawn stays in its picture, and what is not known is not drawn.
func TestChartsAreDrawnWithinTheirPicture(t *testing.T) {
	for _, ch := range deskView(Layout{}, true).Charts {
		for _, shape := range ch.Shapes() {
			if strings.Contains(shape.D, "NaN") || strings.Contains(shape.D, "Inf") {
				t.Errorf("%s: %s", ch.Name, shape.D)
			}
			if ch.Name == "took" && shape.D != "" {
				t.Errorf("something is drawn where nothing is known: %s", shape.D)
			}
			for _, pair := range regexp.MustCompile(`[ML ](-?[0-9.]+) (-?[0-9.]+)`).FindAllStringSubmatch(shape.D, -1) {
				if strings.HasPrefix(pair[1], "-") || strings.HasPrefix(pair[2], "-") {
					t.Errorf("%s: %s", ch.Name, pair[0])
				}
			}
		}
	}
	if ch := (Chart{Parts: []ChartPart{{Values: []float64{5, math.NaN(), 7, 8}}}}); strings.Count(ch.Shapes()[0].D, "M") != 2 {
		t.Errorf("the line is not broken where nothing is known: %s", ch.Shapes()[0].D)
	}
}

// Who cannot see a chart is told its figure and reads the others in a table.
func TestChartsAreToldInWords(t *testing.T) {
	s := newSite(t)
	var page bytes.Buffer
	if err := s.Render(&page, "en", "ops", deskView(Layout{User: "admin", IsAdmin: true, Nav: "ops"}, true)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`role="img" aria-label="Queue depth: now 6, at most 6"`, `aria-label="p95 archive time: now –, at most 0s"`,
		`<caption>Archived per minute</caption>`, `<td>40</td>`, `All good.`, `1 image archived in 24 hours;`} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
