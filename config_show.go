package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// EffectiveSetting is one line of `afterimage config`.
type EffectiveSetting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`  // as written; secrets masked; empty: none
	Origin string `json:"origin"` // environment, .env, default, or the variable that named a file
	Secret bool   `json:"secret,omitempty"`

	section string
	unset   string // what happens without a value
}

func (s setting) effective(value, origin string, dotEnv bool) EffectiveSetting {
	switch {
	case origin == "":
		origin = "default"
	case dotEnv && origin == s.name:
		origin = ".env"
	case dotEnv:
		origin += " in .env"
	case origin == s.name:
		origin = "environment"
	}
	return EffectiveSetting{
		Name: s.name, Value: s.show(value), Origin: origin, Secret: s.secret,
		section: s.section, unset: s.unset,
	}
}

// show is the value as it may be seen.
func (s setting) show(value string) string {
	switch {
	case value == "":
		return ""
	case s.secret:
		return mask(value)
	case s.shown != nil:
		return s.shown(value)
	}
	return value
}

// mask tells two keys apart without giving one away: the end is shown only of what is long enough to spare it.
func mask(secret string) string {
	n := utf8.RuneCountInString(secret)
	if n < 20 {
		return fmt.Sprintf("set, %d chars", n)
	}
	return fmt.Sprintf("set, %d chars, ends …%s", n, string([]rune(secret)[n-2:]))
}

const notShown = "(not shown)"

// redactURL leaves out the password and the query, where drivers take passwords too. What is no URL is shown only when
// nothing in it looks like a place for a secret.
func redactURL(text string) string {
	if !strings.ContainsAny(text, "@?#=\\ \t") {
		return text
	}
	u, err := url.Parse(text)
	// An @ or # inside a password moves the borders: then a part of it could stand anywhere.
	unsure := err != nil || u.Scheme == "" || u.Host == "" && u.Opaque != "" || u.Fragment != "" ||
		strings.Contains(text, "@") && (u.User == nil || strings.Count(text, "@") > 1)
	if unsure {
		return notShown
	}
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.Redacted()
}

// writeConfig prints what `afterimage config` shows.
func writeConfig(w io.Writer, c Config, asJSON bool) error {
	if asJSON {
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		out.SetEscapeHTML(false)
		return out.Encode(c.Effective)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	section := ""
	for _, s := range c.Effective {
		if s.section != section {
			if section != "" {
				fmt.Fprintln(table)
			}
			section = s.section
			fmt.Fprintln(table, section)
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\n", s.Name, cmp.Or(s.Value, "– "+s.unset), s.Origin)
	}
	return table.Flush()
}

// writeProblems prints every problem on a line of its own, what stops the start first.
func writeProblems(w io.Writer, problems []Problem) {
	for _, p := range problems {
		if !p.Warning {
			fmt.Fprintln(w, "error: "+p.String())
		}
	}
	for _, p := range problems {
		if p.Warning {
			fmt.Fprintln(w, "warning: "+p.String())
		}
	}
}

// writeSettingsHelp prints the part of --help about settings.
func writeSettingsHelp(w io.Writer) {
	fmt.Fprintln(w, "Settings are environment variables; NAME_FILE instead of NAME names a file that holds the value.")
	section := ""
	for _, s := range settings() {
		if s.section != section {
			section = s.section
			fmt.Fprintf(w, "\n%s\n", section)
		}
		fmt.Fprintf(w, "  %-30s %s\n  %-30s accepts %s; default: %s\n", s.name, s.help, "", s.accepts, cmp.Or(s.fallback, s.unset))
	}
}

// settingsTable is the README's part between its markers.
func settingsTable() string {
	var b strings.Builder
	section := ""
	for _, s := range settings() {
		if s.section != section {
			section = s.section
			fmt.Fprintf(&b, "\n**%s**\n\n| variable | default | accepts | |\n|---|---|---|---|\n", section)
		}
		fallback := s.unset
		if s.fallback != "" {
			fallback = "`" + s.fallback + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.name, fallback, s.accepts, s.help)
	}
	return strings.Trim(b.String(), "\n") + "\n"
}
