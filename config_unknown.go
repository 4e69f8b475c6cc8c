package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// prefixes of our settings. The first two are ours alone; other programs read those of S3 and the providers too.
var (
	ownPrefixes = []string{"AFTERIMAGE_", "IMAGE_ARCHIVE_"}
	prefixes    = append([]string{"S3_", "OPENAI_", "REPLICATE_", "DASHSCOPE_", "A1111_"}, ownPrefixes...)
)

// unknownNames reports variables with one of our prefixes that we do not know, as warnings. One that is ours alone and
// nearly the name of a setting is a slip, and going on without that setting could, say, leave images open that should
// not be: that stops the start, except for tuning.
func unknownNames(env *environment) []Problem {
	known := make(map[string]setting)
	for _, s := range settings() {
		known[s.name] = s
		known[s.name+"_FILE"] = s
	}
	var problems []Problem
	for _, name := range slices.Sorted(maps.Keys(env.values)) {
		_, isKnown := known[name]
		if isKnown || !hasPrefix(name, prefixes) || fromKubernetes(name, env.values[name]) {
			continue
		}
		p := Problem{Name: name, Text: "is not a setting", Warning: true}
		if meant := nearest(name, known); meant != "" {
			p.Text += "; did you mean " + meant + "?"
			p.Warning = known[meant].tuning || !hasPrefix(name, ownPrefixes)
		}
		problems = append(problems, p)
	}
	return problems
}

func hasPrefix(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

var kubernetesForm = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_|$)|_PORT_[0-9]+_(TCP|UDP|SCTP)(_|$)`)

// fromKubernetes: for a service called "afterimage" it sets AFTERIMAGE_SERVICE_HOST, AFTERIMAGE_PORT=tcp://… and so on.
func fromKubernetes(name, value string) bool {
	return kubernetesForm.MatchString(name) || strings.HasSuffix(name, "_PORT") && strings.Contains(value, "://")
}

// nearest is the known name that was probably meant, or nothing. A right name with a prefix too many is meant, however
// far away it is.
func nearest(name string, known map[string]setting) string {
	for _, prefix := range prefixes {
		if rest, found := strings.CutPrefix(name, prefix); found {
			if _, isKnown := known[rest]; isKnown {
				return rest
			}
		}
	}
	best, bestDistance := "", len(name)/5+1
	for _, candidate := range slices.Sorted(maps.Keys(known)) {
		if d := editDistance(name, candidate); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// editDistance counts the letters to insert, drop, replace or swap with their neighbour to turn a into b.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
