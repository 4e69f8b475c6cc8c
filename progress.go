package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// progress is a line on a terminal that says how far a command is. Where there
// is no terminal, nobody reads it and nothing is written.
type progress struct {
	out   io.Writer // nil: no terminal
	width int
	last  time.Time
	shown bool
}

// progressEvery is how often the line is written anew.
const progressEvery = 100 * time.Millisecond

func newProgress(p program) *progress {
	f, ok := p.err.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return &progress{}
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		width = 80
	}
	return &progress{out: f, width: width}
}

// say shows a text beside a bar, if a total is known.
func (g *progress) say(done, total int, text string) {
	if g.out == nil || time.Since(g.last) < progressEvery {
		return
	}
	g.last, g.shown = time.Now(), true
	line := text
	if total > 0 {
		line = bar(done, total) + " " + text
	}
	if runes := []rune(line); len(runes) >= g.width {
		line = string(runes[:max(0, g.width-1)])
	}
	fmt.Fprint(g.out, "\r\x1b[K"+line)
}

// barWidth is a bar's length in characters.
const barWidth = 24

// bar is [=====>    ] 42%.
func bar(done, total int) string {
	done = min(done, total)
	full := barWidth * done / total
	return fmt.Sprintf("[%s%s] %3d%%", strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), 100*done/total)
}

// clear takes the line away, so that others can be written.
func (g *progress) clear() {
	if g.shown {
		fmt.Fprint(g.out, "\r\x1b[K")
		g.shown = false
	}
}
