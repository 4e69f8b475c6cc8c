package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Problem is something wrong with one setting.
type Problem struct {
	Name    string // the variable as it was set, so perhaps with _FILE
	Value   string // empty where there is none or it may be a secret
	Text    string // completes "NAME=value: "
	Accepts string
	Warning bool // the app starts all the same
}

// String is one line for people.
func (p Problem) String() string {
	line := p.Name
	if p.Value != "" {
		line += fmt.Sprintf("=%q", p.Value)
	}
	line += ": " + p.Text
	if p.Accepts != "" {
		line += "; accepts " + p.Accepts
	}
	return line
}

// fatal reports whether a problem keeps the app from starting.
func fatal(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return !p.Warning })
}

// environment is the variables that were given. An empty one counts as not given: compose files and unit files have no
// other way to leave one out.
type environment struct {
	values   map[string]string
	dotEnv   map[string]bool // the names that the file of settings gave
	readFile func(string) ([]byte, error)
	problems []Problem // of the file of settings
}

// newEnvironment reads a file of settings too, if it is named and there; what the environment says comes first.
func newEnvironment(environ []string, dotEnv string, readFile func(string) ([]byte, error)) *environment {
	values := make(map[string]string)
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if strings.TrimSpace(value) != "" {
			values[name] = value
		} else {
			delete(values, name) // the last one counts
		}
	}
	env := &environment{values: values, dotEnv: map[string]bool{}, readFile: readFile}
	if dotEnv != "" {
		env.readDotEnv(dotEnv)
	}
	return env
}

// has reports whether a setting was given, in itself or as a file.
func (e *environment) has(name string) bool {
	return e.values[name] != "" || e.values[name+"_FILE"] != ""
}

// lookup returns a setting's value and the variable that it comes from; both are empty when it was not given. Around a
// value spaces are slips, around a password they may be meant.
func (e *environment) lookup(name string, keepSpaces bool) (value, origin string, err error) {
	value, file := e.values[name], e.values[name+"_FILE"]
	switch {
	case value != "" && file != "":
		return "", name + "_FILE", fmt.Errorf("is set and %s as well, where only one may be", name)
	case value != "":
		origin = name
	case file != "":
		origin = name + "_FILE"
		content, err := e.readFile(strings.TrimSpace(file))
		if err != nil {
			return "", origin, errors.New("the file cannot be read: " + fileError(err))
		}
		value = string(content)
		if strings.TrimSpace(value) == "" {
			return "", origin, errors.New("the file is empty")
		}
	default:
		return "", "", nil
	}
	value = strings.Trim(value, "\r\n")
	if !keepSpaces {
		value = strings.TrimSpace(value)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", origin, errors.New("contains a line break or another control character")
	}
	return value, origin, nil
}

// fileError leaves out the path: people put the secret itself where its file's name should stand.
func fileError(err error) string {
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		return wrapped.Err.Error()
	}
	return "it is missing or closed to us"
}

// load reads the setting into c: what was given, else its fallback.
func (s setting) load(c *Config, env *environment) []Problem {
	value, origin, err := env.lookup(s.name, s.secret)
	if err == nil && value != "" {
		err = s.read(c, value)
	}
	var problems []Problem
	if err != nil {
		problems = append(problems, s.problem(origin, value, err))
	}
	if err != nil || value == "" {
		value, origin = s.fallback, ""
		if value != "" {
			if err := s.read(c, value); err != nil {
				problems = append(problems, s.problem(s.name, value, err)) // our own mistake; a test looks for it
			}
		}
	}
	c.Effective = append(c.Effective, s.effective(value, origin, env.dotEnv[origin]))
	return problems
}

func (s setting) problem(origin, value string, err error) Problem {
	p := Problem{Name: origin, Text: err.Error(), Accepts: s.accepts, Warning: s.tuning}
	if shown := s.show(value); !s.secret && shown != notShown {
		p.Value = shorten(shown)
	}
	if s.tuning {
		p.Accepts += "; using " + s.fallback
	}
	return p
}

// settingProblem is for who checks a value later on: main asks fetch about the rules of IMAGE_ARCHIVE_ALLOW.
func settingProblem(name, value, text string) Problem {
	all := settings()
	i := slices.IndexFunc(all, func(s setting) bool { return s.name == name })
	return all[i].problem(name, value, errors.New(text))
}

// shorten keeps a file pasted into a variable from filling the screen.
func shorten(s string) string {
	const most = 80
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
