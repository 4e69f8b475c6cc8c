package web

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"
)

// funcs are what the templates of one language can call.
func funcs(c Catalogue, names []string, assetPrefix string) template.FuncMap {
	return template.FuncMap{
		// words
		"lang":        c.Lang,
		"langs":       func() []string { return names },
		"t":           func(key string, pairs ...any) string { return c.Text(key, pair(pairs)) },
		"th":          func(key string, pairs ...any) template.HTML { return c.HTML(key, pair(pairs)) },
		"say":         func(m Message) string { return c.Text(m.Key, m.Args) },
		"tell":        func(e FieldError) string { return c.Text(e.Key, e.Args) },
		"summed":      summed,
		"scriptWords": c.scriptWords,
		"reason":      c.Reason,
		"provider":    c.Provider,
		"fault":       c.fault,
		// states
		"badge":       func(t Tile) template.HTML { return c.badge(t, time.Now()) },
		"badgeShort":  func(t Tile) template.HTML { return c.badgeShort(t, time.Now()) },
		"badgeRead":   c.badgeRead,
		"sentence":    func(v ImageView) template.HTML { return c.sentence(v, time.Now()) },
		"expiry":      func(t Tile) template.HTML { return c.expiry(t, time.Now()) },
		"expiryShort": func(t Tile) template.HTML { return c.expiryShort(t, time.Now()) },
		"urgency":     func(t Tile) string { return t.Expiry(time.Now()) },
		"happened":    c.happened,
		// figures
		"figure":  func(n int) string { return number(int64(n)) },
		"bytes":   c.Bytes,
		"took":    c.Took,
		"roughly": c.Roughly,
		"ago":     c.ago,
		"clock":   c.clock,
		"date":    c.date,
		"told":    func(d DigestDay) []string { return d.Lines(c) },
		"inDays":  func(d time.Duration) int { return int(d / (24 * time.Hour)) },
		// operators
		"problem":    c.problem,
		"forecast":   c.forecast,
		"fact":       c.fact,
		"reasonOf":   func(code string) string { return c.Reason(Reason{Code: code}) },
		"left":       func(at time.Time) template.HTML { return c.counting("left", at, time.Now()) },
		"measure":    c.measure,
		"scale":      c.scale,
		"ticks":      c.ticks,
		"chartNote":  c.chartNote,
		"chartTable": c.chartTable,
		"browser":    c.browser,
		// building
		"asset":     func(name string) string { return assetPrefix + name },
		"days":      c.days,
		"hung":      func(t Tile, index int, pick bool) tileView { return tileView{t, index < 8, pick} },
		"act":       actPart,
		"trashOnly": func() [][2]string { return [][2]string{{"trashed", "1"}} },
		"option":    c.option,
		"alt":       func(prompt string) string { return cut(prompt, 120) },
		"shortHash": shortHash,
		"code": func(s string) template.HTML {
			return template.HTML("<code>" + template.HTMLEscapeString(s) + "</code>")
		},
		"size":  size,
		"upper": func(mime string) string { return strings.ToUpper(strings.TrimPrefix(mime, "image/")) },
		"has":   func(list []string, one string) bool { return slices.Contains(list, one) },
		"list":  func(items ...string) []string { return items },
		"upTo":  upTo,
		"dict":  func(pairs ...any) map[string]any { return pair(pairs) },
		"now":   time.Now,
	}
}

// pair makes arguments of "name", value, "name", value.
func pair(pairs []any) Args {
	args := Args{}
	for i := 0; i+1 < len(pairs); i += 2 {
		args[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return args
}

// fault is what is wrong with a field; empty for nothing.
func (c Catalogue) fault(errors []FieldError, field string) string {
	for _, e := range errors {
		if e.Field == field {
			return c.Text(e.Key, e.Args)
		}
	}
	return ""
}

// summed reports whether the faults need a list above the form: one alone is read at its field.
func summed(errors []FieldError) bool {
	return len(errors) > 1 || len(errors) == 1 && errors[0].Field == ""
}

// tileView is a tile, how to load its picture (at once near the top of a page),
// and whether it has a box to tick.
type tileView struct {
	Tile
	Eager, Pick bool
}

// actPart is the icon or the word of a bulk action.
func actPart(action, part string) string {
	if part == "word" {
		return "bulk." + action
	}
	return map[string]string{"favorite": "star", "retry": "again", "restore": "again", "delete": "trash"}[action] + map[string]string{"download": "download", "trash": "trash"}[action]
}

// option is the name people know a model's option by, or its own.
func (c Catalogue) option(name string) string {
	if c.Has("option." + name) {
		return c.Text("option."+name, nil)
	}
	return strings.ReplaceAll(name, "_", " ")
}

// day is the images of one day under its heading.
type day struct {
	Name, More string
	Date       string // as 2026-11-30, for the script that joins pages
	Tiles      []Tile
}

// days groups tiles, which are in order, by the day they were made.
func (c Catalogue) days(tiles []Tile, now time.Time, zone *time.Location) []day {
	var all []day
	last := ""
	for _, t := range tiles {
		at := in(zone, t.CreatedAt)
		if date := at.Format(time.DateOnly); date != last || len(all) == 0 {
			all, last = append(all, c.heading(at, in(zone, now))), date
			all[len(all)-1].Date = date
		}
		all[len(all)-1].Tiles = append(all[len(all)-1].Tiles, t)
	}
	return all
}

func (c Catalogue) heading(at, now time.Time) day {
	switch at.Format(time.DateOnly) {
	case now.Format(time.DateOnly):
		return day{Name: c.Text("gallery.today", nil), More: c.Day(at)}
	case now.AddDate(0, 0, -1).Format(time.DateOnly):
		return day{Name: c.Text("gallery.yesterday", nil), More: c.Day(at)}
	}
	if at.Year() == now.Year() {
		return day{Name: c.Day(at)}
	}
	return day{Name: c.Date(at)}
}

// ago is how long ago something was, with the moment itself for a script and a pointer.
func (c Catalogue) ago(at time.Time) template.HTML {
	return template.HTML(fmt.Sprintf(`<time data-count="ago" datetime=%q>%s</time>`,
		stamp(at), template.HTMLEscapeString(c.Ago(at, time.Now()))))
}

// happened is the line of "What happened" for an event.
func (c Catalogue) happened(e Event) string {
	if e.Kind == "archived" && e.Attempt > 1 {
		return c.Text("event.archived.attempt", Args{"n": e.Attempt})
	}
	return c.Text("event."+e.Kind, Args{"n": e.Attempt})
}

// Icon is the name of the event's picture in icons.svg.
func (e Event) Icon() string {
	switch e.Kind {
	case "accepted", "imported":
		return "s-queued"
	case "attempt_failed", "generate_failed", "archive_failed", "damaged":
		return "s-failed"
	case "retried", "interrupted", "paused":
		return "s-retry-wait"
	case "archived", "verified":
		return "s-archived"
	case "trashed":
		return "i-trash"
	case "restored":
		return "s-archived"
	}
	return "s-" + e.Kind
}

// Tone colours the event's picture: "ok", "no" or none.
func (e Event) Tone() string {
	switch e.Kind {
	case "archived", "verified":
		return "ok"
	case "attempt_failed", "generate_failed", "archive_failed", "damaged":
		return "no"
	}
	return ""
}

// cut shortens a text to so many characters.
func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// size turns "1024x768" into "1024 × 768".
func size(s string) string { return strings.Replace(s, "x", " × ", 1) }

// upTo are the numbers from 1.
func upTo(n int) []int {
	var all []int
	for i := range n {
		all = append(all, i+1)
	}
	return all
}
