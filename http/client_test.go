package http_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"afterimage/records"
	"afterimage/records/recordstest"
)

// The description is valid by a public judge, and a client that a public tool
// generates from it compiles and works.
func TestAGeneratedClientWorks(t *testing.T) {
	modules := os.Getenv("TEST_OPENAPI_NPM")
	if modules == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("TEST_OPENAPI_NPM is not set: make test installs the tools and sets it")
		}
		t.Skip("generated clients are left out: TEST_OPENAPI_NPM is not set (make test does)")
	}
	w := newWorld(t, recordstest.SQLite(t), nil)
	dir := t.TempDir()
	node := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "node", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("node %s: %v\n%s", args[0], err, out)
		}
		return string(out)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"validate.mjs", "smoke.mts"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	description := w.browser().get("/api/openapi.json").wants(200).body
	if err := os.WriteFile(filepath.Join(dir, "openapi.json"), []byte(description), 0o600); err != nil {
		t.Fatal(err)
	}
	node("validate.mjs", "openapi.json")
	node("node_modules/openapi-typescript/bin/cli.js", "openapi.json", "-o", "api.d.ts")
	node("node_modules/typescript/bin/tsc", "--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck", "--lib", "es2022,dom,dom.iterable",
		"--allowImportingTsExtensions", "--rewriteRelativeImportExtensions", "smoke.mts")
	key := w.key(w.person("ann"), records.ScopeImagesWrite)
	if out := node("smoke.mjs", w.url, key); strings.TrimSpace(out) != "ok" {
		t.Errorf("the client says %s", out)
	}
}
