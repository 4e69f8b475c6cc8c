package http

import (
	"context"
	"math"
	"time"

	"afterimage/records"
	"afterimage/web"
)

// deskRange is a time that the charts can show, in so many points.
type deskRange struct {
	span   time.Duration
	points int
}

var deskRanges = map[string]deskRange{
	"1h": {time.Hour, 60}, "24h": {24 * time.Hour, 96}, "7d": {7 * 24 * time.Hour, 84},
}

// deskCharts fills in the charts, and what the first sentence says.
func (s *Server) deskCharts(ctx context.Context, v *web.OpsView, now records.Sample) error {
	day, err := s.DB.Samples(ctx, s.DB.Now().Add(-7*24*time.Hour))
	if err != nil {
		return err
	}
	g := deskRanges[v.Range]
	step := g.span / time.Duration(g.points)
	until := v.Now.Truncate(step).Add(step)
	points := make([]*records.Sample, g.points)
	for n := range points {
		from := until.Add(-g.span + time.Duration(n)*step)
		points[n] = s.deskPoint(day, from, from.Add(step), v.Range == "1h")
	}
	points[g.points-1] = withNow(points[g.points-1], now)
	v.Charts = drawCharts(points, step, now)
	for n := range v.Charts {
		v.Charts[n].From, v.Charts[n].To, v.Charts[n].Zone = until.Add(-g.span), v.Now, v.Zone
	}
	v.Kept, v.Wait = s.keptInADay(day, v.Now, now)
	return nil
}

// deskPoint is how it was in a time: nil where nothing is known. The last hour
// of this process is known by the second; what is older is in the database.
func (s *Server) deskPoint(kept []records.Sample, from, until time.Time, fine bool) *records.Sample {
	var sum records.Sample
	known := false
	for _, one := range kept {
		if !one.At.Before(from) && one.At.Before(until) {
			addSample(&sum, one)
			known = true
		}
	}
	if s.Metrics == nil || known && !fine {
		return pointer(sum, known)
	}
	if late, ok := s.Metrics.recent.between(from, until); ok {
		if fine {
			return &late
		}
		addSample(&sum, late)
		known = true
	}
	return pointer(sum, known && !fine)
}

func pointer(s records.Sample, known bool) *records.Sample {
	if !known {
		return nil
	}
	return &s
}

// withNow is the last point with what the queue is at this moment.
func withNow(p *records.Sample, now records.Sample) *records.Sample {
	if p != nil {
		now.Archived, now.Bytes, now.P50, now.P95 = p.Archived, p.Bytes, p.P50, p.P95
	}
	return &now
}

// keptInADay is how many images were archived in 24 hours, and the longest
// that one waited.
func (s *Server) keptInADay(kept []records.Sample, now time.Time, present records.Sample) (n int, wait time.Duration) {
	longest := present.Oldest
	last := now.Add(-24 * time.Hour)
	for _, one := range kept {
		if one.At.Before(now.Add(-24 * time.Hour)) {
			continue
		}
		n += int(one.Archived)
		longest = max(longest, one.Oldest)
		last = one.At.Add(records.SampleStep).Time
	}
	if s.Metrics != nil { // what is not in the database yet
		late, _ := s.Metrics.recent.between(later(last, now.Add(-time.Hour)), now.Add(recentStep))
		n += int(late.Archived)
		longest = max(longest, late.Oldest, late.P95)
	}
	return n, time.Duration(longest) * time.Millisecond
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// drawCharts makes charts of points that are a step apart.
func drawCharts(points []*records.Sample, step time.Duration, now records.Sample) []web.Chart {
	part := func(name, color string, of func(*records.Sample) float64) web.ChartPart {
		values := make([]float64, len(points))
		for n, p := range points {
			values[n] = math.NaN()
			if p != nil {
				values[n] = of(p)
			}
		}
		return web.ChartPart{Name: name, Color: color, Values: values}
	}
	took := func(ms int64) float64 { // none was archived: nothing is known
		if ms == 0 {
			return math.NaN()
		}
		return float64(ms)
	}
	charts := []web.Chart{
		{Name: "queue", Stacked: true, Parts: []web.ChartPart{
			part("generating", "1", func(p *records.Sample) float64 { return float64(p.Generating) }),
			part("archiving", "2", func(p *records.Sample) float64 { return float64(p.Archiving) }),
			part("retrying", "wait", func(p *records.Sample) float64 { return float64(p.Retrying) })}},
		{Name: "rate", Bars: true, Parts: []web.ChartPart{
			part("", "1", func(p *records.Sample) float64 { return float64(p.Archived) / step.Minutes() })}},
		{Name: "oldest", Unit: web.Milliseconds, Parts: []web.ChartPart{
			part("", "1", func(p *records.Sample) float64 { return float64(p.Oldest) })}},
		{Name: "flight", Limit: float64(now.Slots), Parts: []web.ChartPart{
			part("", "1", func(p *records.Sample) float64 { return float64(p.Running) })}},
		{Name: "took", Unit: web.Milliseconds, Parts: []web.ChartPart{
			part("p95", "1", func(p *records.Sample) float64 { return took(p.P95) }),
			part("p50", "2", func(p *records.Sample) float64 { return took(p.P50) })}},
		{Name: "bytes", Unit: web.ByteSize, Parts: []web.ChartPart{
			part("", "1", func(p *records.Sample) float64 { return float64(p.Bytes) / step.Minutes() })}},
	}
	tone(&charts[2], float64(late.Milliseconds()), float64(4*late.Milliseconds()))
	tone(&charts[4], 30_000, 120_000)
	return charts
}

func tone(c *web.Chart, warm, hot float64) {
	switch now := c.Now(); {
	case now >= hot:
		c.Tone = "hot"
	case now >= warm:
		c.Tone = "warm"
	}
}
