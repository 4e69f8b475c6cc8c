package main

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// readDotEnv takes settings from a file of lines NAME=value, as compose and shells read it: with "export" or without,
// with quotes or without, # before a comment. Nothing is expanded. Names that are not ours are other programs': such a
// file is often shared.
func (e *environment) readDotEnv(path string) {
	content, err := e.readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		e.problems = append(e.problems, Problem{Name: path, Text: "cannot be read: " + fileError(err)})
		return
	}
	mine := make(map[string]bool)
	for _, s := range settings() {
		mine[s.name], mine[s.name+"_FILE"] = true, true
	}
	given := map[string]string{}
	for n, line := range strings.Split(strings.TrimPrefix(string(content), "\uFEFF"), "\n") {
		name, value, err := dotEnvLine(line)
		if err != nil {
			// The line is not shown: it may hold a secret.
			e.problems = append(e.problems, Problem{Name: fmt.Sprintf("%s line %d", path, n+1), Text: err.Error()})
			continue
		}
		if mine[name] || name != "" && hasPrefix(name, prefixes) {
			given[name] = value // the last one counts
		}
	}
	for name, value := range given {
		if value != "" && !e.outdone(name) {
			e.values[name], e.dotEnv[name] = value, true
		}
	}
}

// outdone: the environment has the setting, in itself or as a file.
func (e *environment) outdone(name string) bool {
	bare := strings.TrimSuffix(name, "_FILE")
	return e.values[bare] != "" && !e.dotEnv[bare] || e.values[bare+"_FILE"] != "" && !e.dotEnv[bare+"_FILE"]
}

var dotEnvName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// dotEnvLine gives no name for a line that says nothing.
func dotEnvLine(line string) (name, value string, err error) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", "", nil
	}
	name, value, found := strings.Cut(line, "=")
	name = strings.TrimSpace(strings.TrimPrefix(name, "export "))
	if !found || !dotEnvName.MatchString(name) {
		return "", "", errors.New("is not NAME=value")
	}
	value = strings.TrimSpace(value)
	if value == "" || value[0] != '"' && value[0] != '\'' {
		if i := strings.Index(value, " #"); i >= 0 {
			value = strings.TrimSpace(value[:i])
		}
		return name, value, nil
	}
	quote := value[0]
	end := strings.LastIndexByte(value, quote)
	if rest := strings.TrimSpace(value[end+1:]); end == 0 || rest != "" && rest[0] != '#' {
		return "", "", fmt.Errorf("has a value of %s whose quote does not end with the line", name)
	}
	value = value[1:end]
	if quote == '"' {
		value = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\$`, `$`).Replace(value)
	}
	return name, value, nil
}
