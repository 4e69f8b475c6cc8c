package web

import (
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"
)

// Unit is what a chart's figures are.
type Unit int

// The units.
const (
	Pieces       Unit = iota
	Milliseconds      // told as a length of time
	ByteSize
)

// Chart is figures over time, drawn as SVG. NaN is a time of which nothing is known.
type Chart struct {
	// Name is "queue", "rate", "oldest", "flight", "took" or "bytes".
	Name     string
	Unit     Unit
	Stacked  bool    // the parts stand on each other; default: each is a line of its own
	Bars     bool    // of the one part there is
	Limit    float64 // drawn as a line; 0: none
	Parts    []ChartPart
	From, To time.Time
	Zone     *time.Location
	// Tone is "warm" or "hot" where the present figure is bad.
	Tone string
}

// ChartPart is one line of a chart.
type ChartPart struct {
	Name   string // its words are chart.part.…; empty where there is one part
	Color  string // "1", "2" or "wait"
	Values []float64
}

// Where a chart is in its picture of 360 by 148.
const (
	chartLeft, chartRight = 38.0, 358.0
	chartTop, chartFoot   = 8.0, 126.0
)

// Now is the latest figure; of stacked parts their sum.
func (c Chart) Now() float64 {
	sum := math.NaN()
	for _, p := range c.Parts {
		if v := last(p.Values); !math.IsNaN(v) && (c.Stacked || math.IsNaN(sum)) {
			sum = v + zero(sum)
		}
	}
	return sum
}

func last(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return values[len(values)-1]
}

func zero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// Most is the highest figure there is.
func (c Chart) Most() float64 {
	most := 0.0
	for n := range c.length() {
		sum := 0.0
		for _, p := range c.Parts {
			if c.Stacked {
				sum += zero(p.Values[n])
			} else {
				sum = max(sum, zero(p.Values[n]))
			}
		}
		most = max(most, sum)
	}
	return most
}

func (c Chart) length() int {
	if len(c.Parts) == 0 {
		return 0
	}
	return len(c.Parts[0].Values)
}

// top is the end of the scale: a round figure that nothing is above.
func (c Chart) top() float64 {
	most := max(c.Most(), c.Limit)
	switch c.Unit {
	case Milliseconds:
		for _, s := range []float64{.1, .2, .5, 1, 2, 4, 10, 20, 60, 120, 240, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400} {
			if most <= s*1000 {
				return s * 1000
			}
		}
	case ByteSize:
		unit := 1024.0
		for most > 512*unit {
			unit *= 1024
		}
		return unit * round(most/unit)
	}
	return max(2, round(most))
}

// round is 1, 2, 4 or 6 times a power of ten that is not below v.
func round(v float64) float64 {
	if v <= 1 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, n := range []float64{1, 2, 4, 6} {
		if v <= n*power {
			return n * power
		}
	}
	return 10 * power
}

// ChartLine is a figure of the scale at its height.
type ChartLine struct {
	Y    string
	Text string
}

// scale are the lines of the scale, from zero up.
func (c Catalogue) scale(ch Chart) []ChartLine {
	var lines []ChartLine
	for _, part := range []float64{0, .5, 1} {
		v := ch.top() * part
		text := "0"
		if v > 0 {
			text = c.measure(ch.Unit, v)
		}
		lines = append(lines, ChartLine{at(ch.y(v)), text})
	}
	return lines
}

// measure is a figure as people say it.
func (c Catalogue) measure(u Unit, v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case u == Milliseconds:
		if v == 0 {
			return c.Text("dur.s", Args{"s": 0})
		}
		return c.Took(time.Duration(v * float64(time.Millisecond)))
	case u == ByteSize:
		return c.Bytes(int64(v))
	case v < 10 && v != math.Trunc(v):
		return short(v, true)
	}
	return number(int64(math.Round(v)))
}

func (ch Chart) y(v float64) float64 {
	return chartFoot - min(1, max(0, v/ch.top()))*(chartFoot-chartTop)
}

func (ch Chart) x(n int) float64 {
	return chartLeft + float64(n)/float64(max(1, ch.length()-1))*(chartRight-chartLeft)
}

func at(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") }

// LimitY is the height of the limit.
func (ch Chart) LimitY() string { return at(ch.y(ch.Limit)) }

// ChartShape is a path with the class of its colour.
type ChartShape struct{ Class, D string }

// Shapes are what is drawn.
func (ch Chart) Shapes() []ChartShape {
	switch {
	case ch.Bars:
		return []ChartShape{{"f1", ch.bars()}}
	case ch.Stacked:
		return ch.stack()
	}
	var shapes []ChartShape
	for _, p := range ch.Parts {
		shapes = append(shapes, ChartShape{"l" + p.Color, ch.line(p.Values)})
	}
	return shapes
}

// line is broken where nothing is known. A figure alone is a short stroke.
func (ch Chart) line(values []float64) string {
	var d strings.Builder
	pen := false
	for n, v := range values {
		if math.IsNaN(v) {
			pen = false
			continue
		}
		if !pen {
			fmt.Fprintf(&d, "M%s %s", at(ch.x(n)-1), at(ch.y(v)))
		}
		fmt.Fprintf(&d, "L%s %s", at(ch.x(n)), at(ch.y(v)))
		pen = true
	}
	return d.String()
}

func (ch Chart) bars() string {
	var d strings.Builder
	width := (chartRight - chartLeft) / float64(max(1, ch.length()))
	for n, v := range ch.Parts[0].Values {
		if zero(v) > 0 {
			fmt.Fprintf(&d, "M%s %sV%sh%sV%sz", at(chartLeft+float64(n)*width+width*.15), at(chartFoot), at(ch.y(v)), at(width*.7), at(chartFoot))
		}
	}
	return d.String()
}

func (ch Chart) stack() []ChartShape {
	floor := make([]float64, ch.length())
	var shapes []ChartShape
	for _, p := range ch.Parts {
		var up, back strings.Builder
		for n, v := range p.Values {
			fmt.Fprintf(&up, "%s %s ", at(ch.x(n)), at(ch.y(floor[n]+zero(v))))
		}
		for n := len(p.Values) - 1; n >= 0; n-- {
			fmt.Fprintf(&back, "%s %s ", at(ch.x(n)), at(ch.y(floor[n])))
			floor[n] += zero(p.Values[n])
		}
		if up.Len() > 0 {
			shapes = append(shapes, ChartShape{"f" + p.Color, "M" + up.String() + back.String() + "Z"})
		}
	}
	return shapes
}

// ChartTick is a moment below a chart.
type ChartTick struct{ X, Anchor, Text string }

// ticks are moments of the time that a chart is about.
func (c Catalogue) ticks(ch Chart) []ChartTick {
	layout := "15:04"
	if ch.To.Sub(ch.From) > 36*time.Hour {
		layout = "02.01."
	}
	var all []ChartTick
	for n, anchor := range []string{"start", "middle", "end"} {
		part := float64(n) / 2
		moment := ch.From.Add(time.Duration(part * float64(ch.To.Sub(ch.From))))
		text := in(ch.Zone, moment).Format(layout)
		if layout != "15:04" {
			text = c.Text("date.short", Args{"day": in(ch.Zone, moment).Day(), "month": int(in(ch.Zone, moment).Month())})
		}
		all = append(all, ChartTick{at(chartLeft + part*(chartRight-chartLeft)), anchor, text})
	}
	return all
}

// ChartRow is a line of a chart's table.
type ChartRow struct {
	Time    template.HTML
	Figures []string
}

// chartRows is enough of the figures for who cannot see them.
const chartRows = 12

func (c Catalogue) chartTable(ch Chart) []ChartRow {
	var rows []ChartRow
	length := ch.length()
	step := max(1, (length+chartRows-1)/chartRows)
	for n := (length - 1) % step; n < length; n += step {
		moment := ch.From.Add(time.Duration(float64(n+1) / float64(length) * float64(ch.To.Sub(ch.From))))
		row := ChartRow{Time: c.clock(ch.Zone, moment, "clock")}
		for _, p := range ch.Parts {
			row.Figures = append(row.Figures, c.measure(ch.Unit, p.Values[n]))
		}
		rows = append(rows, row)
	}
	return rows
}

// chartNote is what stands beside the figure.
func (c Catalogue) chartNote(ch Chart) string {
	switch ch.Name {
	case "queue":
		if v := last(ch.Parts[len(ch.Parts)-1].Values); v > 0 {
			return c.Text("chart.queue.note", Args{"n": int(v)})
		}
	case "flight":
		return c.Text("chart.flight.note", Args{"n": int(ch.Limit)})
	case "took":
		return c.Text("chart.took.note", Args{"time": c.measure(ch.Unit, last(ch.Parts[1].Values))})
	case "oldest", "rate", "bytes":
		return c.Text("chart.most", Args{"most": c.measure(ch.Unit, ch.Most())})
	}
	return ""
}
