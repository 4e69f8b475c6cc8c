package http

import (
	"testing"
	"time"

	"afterimage/records"
)

func TestRecentSumsUpATimeAndForgetsTheHourBefore(t *testing.T) {
	var g recent
	start := time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC)
	g.archived(start.Add(-time.Hour), 1000, time.Second) // its bucket is taken by the next
	for n := range 100 {
		g.archived(start.Add(time.Duration(n)*100*time.Millisecond), 10, time.Duration(n+1)*10*time.Millisecond)
	}
	g.looked(start.Add(2*time.Second), records.Sample{Archiving: 9, Slots: 4, Running: 2, Oldest: 1500})
	g.looked(start.Add(7*time.Second), records.Sample{Archiving: 3, Slots: 4, Running: 4, Oldest: 500})

	s, ok := g.between(start, start.Add(time.Minute))
	if !ok || s.Archived != 100 || s.Bytes != 1000 || s.Archiving != 9 || s.Running != 4 || s.Oldest != 1500 {
		t.Errorf("%+v (%v)", s, ok)
	}
	if s.P50 < 400 || s.P50 > 600 || s.P95 < 760 || s.P95 > 1190 {
		t.Errorf("the median is %d ms and the 95th percentile %d ms, want about 500 and 950", s.P50, s.P95)
	}
	if _, ok := g.between(start.Add(time.Minute), start.Add(2*time.Minute)); ok {
		t.Error("something is known of a time when nothing was")
	}
	if s, _ := g.between(start, start.Add(5*time.Second)); s.Archived != 50 {
		t.Errorf("the first bucket has %d, want 50", s.Archived)
	}
}

func TestDurationsOfAnyLengthHaveAClass(t *testing.T) {
	for _, d := range []time.Duration{-time.Second, 0, 1, time.Millisecond, time.Hour, 1000 * time.Hour} {
		if c := durationClass(d); c < 0 || c >= durationClasses {
			t.Errorf("%s: %d", d, c)
		}
	}
}
