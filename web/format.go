package web

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Bytes is a size as people say it: "3.4 MB". A megabyte is 1024 × 1024, as in the settings.
func (c Catalogue) Bytes(n int64) string {
	units := []string{"bytes.b", "bytes.kb", "bytes.mb", "bytes.gb", "bytes.tb"}
	size, unit := float64(n), 0
	for size >= 999.5 && unit < len(units)-1 {
		size, unit = size/1024, unit+1
	}
	return c.Text(units[unit], Args{"n": short(size, unit > 0)})
}

// short writes 3.4, 34 and 340; a whole number without ".0".
func short(size float64, fraction bool) string {
	if !fraction || size >= 9.95 {
		return strconv.FormatFloat(math.Round(size), 'f', 0, 64)
	}
	return strings.TrimSuffix(strconv.FormatFloat(size, 'f', 1, 64), ".0")
}

// Countdown is a time to wait, to the second below an hour: "1m 58s".
func (c Catalogue) Countdown(d time.Duration) string {
	s := int(max(d, 0).Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return c.Text("dur.s", Args{"s": s})
	case s < 3600 && s%60 == 0:
		return c.Text("dur.m", Args{"m": s / 60})
	case s < 3600:
		return c.Text("dur.ms", Args{"m": s / 60, "s": s % 60})
	}
	return c.Roughly(d)
}

// Roughly is a length of time in one unit or two: "41m", "3h 5m", "3d".
func (c Catalogue) Roughly(d time.Duration) string {
	m := int(max(d, 0) / time.Minute)
	switch {
	case m < 1:
		return c.Text("dur.s", Args{"s": int(max(d, 0) / time.Second)})
	case m < 60:
		return c.Text("dur.m", Args{"m": m})
	case m < 48*60 && m%60 == 0:
		return c.Text("dur.h", Args{"h": m / 60})
	case m < 48*60:
		return c.Text("dur.hm", Args{"h": m / 60, "m": m % 60})
	}
	return c.Text("dur.d", Args{"d": m / 60 / 24})
}

// Took is how long something took: "12 ms", "0.8 s", "12 s", "3m 5s".
func (c Catalogue) Took(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return c.Countdown(d)
	case d < time.Second/10:
		return c.Text("dur.milli", Args{"n": max(1, d.Milliseconds())})
	}
	return c.Text("dur.exact", Args{"s": short(d.Seconds(), true)})
}

// Ago is how long ago something was: "just now", "2m ago".
func (c Catalogue) Ago(at, now time.Time) string {
	if d := now.Sub(at); d >= time.Minute {
		return c.Text("ago", Args{"time": c.Roughly(d)})
	}
	return c.Text("ago.now", nil)
}

// Date is "30 November 2026".
func (c Catalogue) Date(t time.Time) string {
	return c.Text("date.full", Args{
		"day": t.Day(), "month": c.month(t), "year": strconv.Itoa(t.Year()),
	})
}

// Day is "Monday 30 November".
func (c Catalogue) Day(t time.Time) string {
	return c.Text("date.day", Args{
		"weekday": c.Text(fmt.Sprintf("weekday.%d", t.Weekday()), nil), "day": t.Day(), "month": c.month(t),
	})
}

func (c Catalogue) month(t time.Time) string {
	return c.Text(fmt.Sprintf("month.%d", t.Month()), nil)
}
