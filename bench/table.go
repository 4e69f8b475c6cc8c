package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// figure is a measured value beside the one to reach.
type figure struct {
	value, reach float64
	atLeast      bool // to reach it means to be at least as large
}

func (f figure) reached() bool {
	if f.atLeast {
		return f.value >= f.reach
	}
	return f.value <= f.reach
}

// line is one line of the table.
type line struct {
	what    string
	base    string // what it is compared with
	ours    string
	figures []figure
	shipped string // the peer's, as shipped
	tuned   string // the peer's, tuned
}

type table []line

func (t *table) add(l line) { *t = append(*t, l) }

// write prints a Markdown table whose columns stand below each other.
func (t table) write(out io.Writer) {
	cells := [][]string{{"", "beside", "ours", "figure", "reach", "", "peer as shipped", "peer tuned"}}
	for _, l := range t {
		cells = append(cells, l.cells())
	}
	width := make([]int, len(cells[0]))
	for _, row := range cells {
		for n, c := range row {
			width[n] = max(width[n], utf8.RuneCountInString(c))
		}
	}
	for n, row := range cells {
		for c := range row {
			row[c] += strings.Repeat(" ", width[c]-utf8.RuneCountInString(row[c]))
		}
		fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | "))
		if n == 0 {
			for _, w := range width {
				fmt.Fprint(out, "|", strings.Repeat("-", w+2))
			}
			fmt.Fprintln(out, "|")
		}
	}
}

func (l line) cells() []string {
	var values, reach []string
	verdict, sign := "ok", "≤ "
	for _, f := range l.figures {
		values, reach = append(values, number(f.value)), append(reach, number(f.reach))
		if !f.reached() {
			verdict = "MISSED"
		}
		if f.atLeast {
			sign = "≥ "
		}
	}
	return []string{l.what, l.base, l.ours, strings.Join(values, " / "), sign + strings.Join(reach, " / "), verdict,
		cmp.Or(l.shipped, "–"), cmp.Or(l.tuned, "–")}
}

// number has as many digits as mean something.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// median is the middle one, or the lower of the two in the middle.
func median[T cmp.Ordered](list []T) T { return percentile(list, 50) }

// percentile is the smallest of the values that p in a hundred do not exceed.
func percentile[T cmp.Ordered](list []T, p float64) T {
	if len(list) == 0 {
		var none T
		return none
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[max(0, int(math.Ceil(float64(len(sorted))*p/100))-1)]
}
