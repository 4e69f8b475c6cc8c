package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "afterimage"

// arrows says which of our folders each folder may import, sub-folders included. What is not listed is wrong: a new
// folder gets its line here, and a part of the drawing in ARCHITECTURE.md, before it gets code.
var arrows = map[string][]string{
	"main": {"http", "archive", "jobs", "fetch", "records", "storage", "generate", "notify", "web", "migrations"},
	"http": {"archive", "jobs", "fetch", "records", "storage", "generate", "notify", "web", "migrations"},

	"archive":  {"records", "storage", "fetch", "jobs"},
	"generate": {"records", "storage", "fetch", "jobs"},
	"notify":   {"records", "fetch", "jobs"},
	"jobs":     {"records"},
	"records":  {"migrations"},

	"fetch":      {},
	"storage":    {},
	"web":        {},
	"migrations": {},

	// Measures what main wires; no part of the application.
	"bench": {"http", "archive", "jobs", "fetch", "records", "storage", "generate", "notify", "web", "migrations"},

	"testclients": {}, // clients of others, in a module of their own; no part of the application

	"scripts": {}, // helpers of the test scripts; no part of the application
}

func TestImportsFollowTheArrows(t *testing.T) {
	root := os.DirFS(".")
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipFolder(name)
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		imports, err := importsOf(name)
		if err != nil {
			return err
		}
		for _, imported := range imports {
			if wrong := wrongArrow(name, imported); wrong != "" {
				t.Error(wrong)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// skipFolder leaves out what the go command leaves out as well, and the data of a running app.
func skipFolder(name string) error {
	base := path.Base(name)
	hidden := name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_"))
	if hidden || base == "testdata" || name == "data" {
		return fs.SkipDir
	}
	return nil
}

func importsOf(name string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(name), nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var imports []string
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		imports = append(imports, imported)
	}
	return imports, nil
}

// wrongArrow says what is wrong with the file importing the package, or nothing.
func wrongArrow(file, imported string) string {
	target, ours := strings.CutPrefix(imported, module+"/")
	if !ours {
		return ""
	}
	from, to := folderOf(path.Dir(file)), folderOf(target)
	allowed, known := arrows[from]
	switch {
	case isTestOnly(target) && !isTestCode(file):
		return fmt.Sprintf("%s imports %s: that folder is for tests only", file, target)
	case from == to, isTestOnly(target), isTestOnly(path.Dir(file)):
		return ""
	case !known:
		return fmt.Sprintf("%s imports %s: folder %s has no arrows yet; add it to the list", file, target, from)
	case !slices.Contains(allowed, to):
		return fmt.Sprintf("%s imports %s: the arrow %s → %s does not exist", file, target, from, to)
	}
	return ""
}

// folderOf is the part of the design that a folder belongs to: its first element.
func folderOf(folder string) string {
	if folder == "." {
		return "main"
	}
	first, _, _ := strings.Cut(folder, "/")
	return first
}

// isTestOnly: a folder named like recordstest holds helpers for tests. It may import anything, and only tests import it.
func isTestOnly(folder string) bool { return strings.HasSuffix(path.Base(folder), "test") }

func isTestCode(file string) bool {
	return strings.HasSuffix(file, "_test.go") || isTestOnly(path.Dir(file))
}

func TestWrongArrow(t *testing.T) {
	for _, c := range []struct {
		file, imports, want string
	}{
		{"main.go", "afterimage/records", ""},
		{"fetch/client.go", "net/http", ""},
		{"fetch/client.go", "afterimages/storage", ""},
		{"http/images.go", "afterimage/records", ""},
		{"archive/work.go", "afterimage/jobs", ""},
		{"archive/thumbs/draw.go", "afterimage/archive", ""},
		{"fetch/client.go", "afterimage/storage", "fetch/client.go imports storage: the arrow fetch → storage does not exist"},
		{"jobs/run.go", "afterimage/archive", "jobs/run.go imports archive: the arrow jobs → archive does not exist"},
		{"records/db.go", "afterimage/http/pages", "records/db.go imports http/pages: the arrow records → http does not exist"},
		{"http/images.go", "afterimage/scripts/testenv", "http/images.go imports scripts/testenv: the arrow http → scripts does not exist"},
		{"extra/x.go", "afterimage/records", "extra/x.go imports records: folder extra has no arrows yet; add it to the list"},

		{"jobs/run_test.go", "afterimage/recordstest", ""},
		{"jobs/run_test.go", "afterimage/records/recordstest", ""},
		{"recordstest/open.go", "afterimage/records", ""},
		{"jobs/run_test.go", "afterimage/archive", "jobs/run_test.go imports archive: the arrow jobs → archive does not exist"},
		{"jobs/run.go", "afterimage/recordstest", "jobs/run.go imports recordstest: that folder is for tests only"},
		{"records/db.go", "afterimage/records/recordstest", "records/db.go imports records/recordstest: that folder is for tests only"},
		{"main.go", "afterimage/records/recordstest", "main.go imports records/recordstest: that folder is for tests only"},
	} {
		t.Run(c.file+" imports "+c.imports, func(t *testing.T) {
			if got := wrongArrow(c.file, c.imports); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}
