package web

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

func TestMatchLanguage(t *testing.T) {
	s := newSite(t)
	for _, row := range []struct {
		name, accept, cookie, user, fallback, want string
	}{
		{"nothing said is English", "", "", "", "", "en"},
		{"the user's setting is first", "en", "en", "zh-CN", "en", "zh-CN"},
		{"then the cookie", "en", "zh-CN", "", "en", "zh-CN"},
		{"then the browser", "zh-CN,zh;q=0.9,en;q=0.8", "", "", "en", "zh-CN"},
		{"then the operator", "", "", "", "zh-CN", "zh-CN"},
		{"zh is zh-CN", "zh", "", "", "", "zh-CN"},
		{"zh-Hans is zh-CN", "zh-Hans", "", "", "", "zh-CN"},
		{"zh-SG is zh-CN", "zh-SG", "", "", "", "zh-CN"},
		{"en-GB is English", "en-GB", "", "", "zh-CN", "en"},
		{"the second choice of a French reader", "fr-FR, zh;q=0.5", "", "", "en", "zh-CN"},
		{"a language we do not have falls to the operator's", "fr", "", "", "zh-CN", "zh-CN"},
		{"nonsense is passed over", ";;;", "../../etc", "\x00", "zh-CN", "zh-CN"},
		{"a header of a megabyte is passed over", strings.Repeat("zh,", 1<<19), "", "", "en", "en"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := s.MatchLanguage(row.accept, row.cookie, row.user, row.fallback); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestFiguresAreWrittenAsPeopleSayThem(t *testing.T) {
	s := newSite(t)
	en, zh := s.Words("en"), s.Words("zh-CN")
	now := time.Date(2026, 11, 30, 14, 2, 0, 0, time.UTC)
	for _, row := range []struct{ got, want string }{
		{en.Bytes(0), "0 B"},
		{en.Bytes(999), "999 B"},
		{en.Bytes(1000), "1 KB"},
		{en.Bytes(3565158), "3.4 MB"},
		{en.Bytes(64 << 20), "64 MB"},
		{en.Bytes(5 << 40), "5 TB"},
		{en.Countdown(-time.Second), "0s"},
		{en.Countdown(118 * time.Second), "1m 58s"},
		{zh.Countdown(118 * time.Second), "1 分 58 秒"},
		{en.Countdown(2 * time.Minute), "2m"},
		{en.Roughly(41*time.Minute + 59*time.Second), "41m"},
		{zh.Roughly(41 * time.Minute), "41 分钟"},
		{en.Roughly(3*time.Hour + 5*time.Minute), "3h 5m"},
		{en.Roughly(30 * time.Hour), "30h"},
		{en.Roughly(72 * time.Hour), "3d"},
		{en.Took(800 * time.Millisecond), "0.8 s"},
		{zh.Took(4100 * time.Millisecond), "4.1 秒"},
		{en.Took(185 * time.Second), "3m 5s"},
		{en.Ago(now.Add(-30*time.Second), now), "just now"},
		{zh.Ago(now.Add(-2*time.Minute), now), "2 分钟前"},
		{en.Date(now), "30 November 2026"},
		{zh.Date(now), "2026年11月30日"},
		{en.Day(now), "Monday 30 November"},
		{zh.Day(now), "11月30日 星期一"},
		{number(-1204000), "-1,204,000"},
		{number(math.MinInt64), "-9,223,372,036,854,775,808"},
	} {
		if row.got != row.want {
			t.Errorf("got %q, want %q", row.got, row.want)
		}
	}
}

func TestExpiryGrowsUrgent(t *testing.T) {
	now := time.Now()
	for _, row := range []struct {
		name, status string
		secured      bool
		left         time.Duration
		want         string
	}{
		{"an hour is calm", "generated", false, time.Hour, "calm"},
		{"under a quarter of an hour is soon", "archiving", false, 14 * time.Minute, "soon"},
		{"under five minutes is now", "retry_wait", false, 4 * time.Minute, "now"},
		{"past is over", "retry_wait", false, -time.Second, "over"},
		{"past is over for a failed one", "archive_failed", false, -time.Hour, "over"},
		{"does not matter once the bytes are safe", "archiving", true, time.Minute, ""},
		{"does not matter once archived", "archived", false, time.Minute, ""},
		{"is not known before the image is made", "generating", false, time.Minute, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			tile := Tile{Status: row.status, Secured: row.secured, SourceExpires: now.Add(row.left)}
			if got := tile.Expiry(now); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
	if got := (Tile{Status: "archiving"}).Expiry(now); got != "" {
		t.Errorf("a source without an end: %q", got)
	}
}

func TestRetryThatWouldComeTooLateIsSaid(t *testing.T) {
	c := newSite(t).Words("en")
	v := fullImage("retry_wait", "source_slow")
	v.SourceExpires = v.NextAttemptAt.Add(-time.Second)
	if got := string(c.sentence(v, time.Now())); !strings.Contains(got, "too late") {
		t.Errorf("got %q", got)
	}
}

// A ratio class trims one part in a hundred at most; what is beyond the steps is shown whole.
func TestRatioClass(t *testing.T) {
	for _, row := range []struct {
		w, h int
		want string
	}{
		{0, 0, "r-1000"}, {-1, 5, "r-1000"}, {1024, 1024, "r-1000"}, {1536, 1024, "r-1500"}, {1920, 1080, "r-1778"},
		{2048, 1024, "r-2000 r-wide"}, {1, 8000, "r-400 r-odd"}, {8000, 1, "r-2500 r-wide r-odd"},
	} {
		if got := (Tile{Width: row.w, Height: row.h}).RatioClass(); got != row.want {
			t.Errorf("%d × %d: %q, want %q", row.w, row.h, got, row.want)
		}
	}
	css := ratioCSS()
	for w := 400; w <= 2500; w++ {
		class, _, _ := strings.Cut(Tile{Width: w, Height: 1000}.RatioClass(), " ")
		var step int
		if _, err := fmt.Sscanf(class, "r-%d", &step); err != nil || !strings.Contains(css, "."+class+"{") {
			t.Fatalf("%d: class %q, %v", w, class, err)
		}
		if off := math.Abs(float64(step)/float64(w) - 1); off > 0.0105 {
			t.Errorf("%d: trims %.2f %%", w, off*100)
		}
	}
}

func TestTilesAreGroupedByTheDayOfTheirZone(t *testing.T) {
	c := newSite(t).Words("en")
	now := time.Date(2026, 11, 30, 1, 0, 0, 0, time.UTC)
	tiles := []Tile{
		{ID: "a", CreatedAt: now}, {ID: "b", CreatedAt: now.Add(-30 * time.Minute)},
		{ID: "c", CreatedAt: now.Add(-2 * time.Hour)}, {ID: "d", CreatedAt: now.AddDate(0, 0, -3)}, {ID: "e", CreatedAt: now.AddDate(-1, 0, 0)},
	}
	days := c.days(tiles, now, nil)
	var got []string
	for _, d := range days {
		got = append(got, fmt.Sprint(d.Name, " ", len(d.Tiles)))
	}
	if want := "[Today 2 Yesterday 1 Friday 27 November 1 30 November 2025 1]"; fmt.Sprint(got) != want {
		t.Errorf("UTC: %v, want %v", got, want)
	}
	if there := c.days(tiles, now, time.FixedZone("west", -8*3600)); len(there) != 3 || len(there[0].Tiles) != 3 {
		t.Errorf("eight hours west of it the first three are of one day: %+v", there)
	}
}

func TestBrowsersAreCalledByTheirNames(t *testing.T) {
	c := newSite(t).Words("en")
	for agent, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36":                                   "Chrome on Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0":           "Edge on Windows",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1": "Safari on iPhone",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:140.0) Gecko/20100101 Firefox/140.0":                                                    "Firefox on macOS",
		"curl/8.5.0": "curl", "": "Unknown", "a program of ours": "a program of ours",
	} {
		if got := c.browser(agent); got != want {
			t.Errorf("%q is %q, want %q", agent, got, want)
		}
	}
}
