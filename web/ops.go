package web

import (
	"html/template"
	"time"
)

// OpsView is the page "ops".
type OpsView struct {
	Layout
	Range  string // "1h", "24h" or "7d"
	Still  bool   // nothing is refreshed
	Now    time.Time
	Kept   int           // images archived in 24 hours
	Wait   time.Duration // the longest that an image waited, as far as the range goes
	Wrong  []Problem
	Charts []Chart
	// Failures are of 24 hours; the most frequent first.
	Failures []FailureRow
	Expiring [3]int // sources that die within 5 minutes, 15 minutes and an hour
	Dying    []DyingSource
	Forecast Forecast
	Facts    []Fact
}

// Ranges are what the charts can show.
func (v OpsView) Ranges() []string { return []string{"1h", "24h", "7d"} }

// Problem is something to be seen to. Its sentence is problem.… with its arguments.
type Problem struct {
	Name   string // "store", "paused", "late", "jobs", or an alarm's "alarm.…"
	Reason string // of a paused store
	Kind   string // of job
	By     string
	Detail string // for operators
	Since  time.Time
	Wait   time.Duration
	N      int
}

// FailureRow is how many images have the same trouble.
type FailureRow struct {
	Reason    string
	Detail    string // what the last one said
	N         int    // of them all
	Waiting   int    // of those that go on by themselves
	Retryable int
	Share     int // per cent of the most frequent
}

// DyingSource is one whose image we do not have yet.
type DyingSource struct {
	ID, Status string
	ExpiresAt  time.Time
	CanRetry   bool
}

// Tone says how soon it dies.
func (d DyingSource) Tone() string {
	switch left := time.Until(d.ExpiresAt); {
	case left < 5*time.Minute:
		return "hot"
	case left < 15*time.Minute:
		return "warm"
	}
	return ""
}

// Forecast is how the queue clears.
type Forecast struct {
	PerMinute float64
	Waiting   int64
	Clears    time.Duration // 0: it is empty, or never
	DieFirst  int
}

// Fact is a line about a part of the system.
type Fact struct {
	Name   string // its words are ops.fact.…
	Bad    bool
	Plain  bool // neither good nor bad
	Detail string
	// What its sentence tells of, if it has one: ops.fact.….is.
	N     int
	Bytes int64
	Time  time.Duration
}

// problem is the sentence of what is wrong.
func (c Catalogue) problem(zone *time.Location, p Problem) template.HTML {
	args := Args{"n": p.N, "kind": p.Kind, "name": p.By, "time": c.Roughly(p.Wait)}
	if !p.Since.IsZero() {
		args["clock"], args["ago"] = c.clock(zone, p.Since, "clock"), c.ago(p.Since)
	}
	key := "problem." + p.Name
	switch {
	case c.Has("alarm." + p.Name):
		return c.HTML("problem.since", Args{"what": c.Text("alarm."+p.Name, Args{"n": p.N}), "clock": args["clock"]})
	case p.Name == "store":
		args["why"] = c.Text("problem.store.error", nil)
		if why := "problem." + p.Reason; c.Has(why) {
			args["why"] = c.Text(why, nil)
		}
	}
	return c.HTML(key, args)
}

// forecast is the sentence about how the queue clears.
func (c Catalogue) forecast(f Forecast) string {
	args := Args{"n": f.DieFirst, "time": c.Roughly(f.Clears), "waiting": f.Waiting}
	switch {
	case f.Waiting == 0:
		return c.Text("forecast.empty", nil)
	case f.Clears == 0 && f.DieFirst == 0:
		return c.Text("forecast.never", args)
	case f.Clears == 0:
		return c.Text("forecast.never.dying", args)
	case f.DieFirst == 0:
		return c.Text("forecast.clears", args)
	}
	return c.Text("forecast.clears.dying", args)
}

// fact is the sentence about a part of the system.
func (c Catalogue) fact(f Fact) string {
	key := "ops.fact." + f.Name + ".is"
	if !c.Has(key) {
		return f.Detail
	}
	return c.Text(key, Args{"n": f.N, "bytes": c.Bytes(f.Bytes), "time": c.Roughly(f.Time), "took": c.Took(f.Time), "detail": f.Detail})
}
