//go:build unix

package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// A binary that is put back must not write into what a newer one made.
func TestAnOlderProgramRefusesANewerSchema(t *testing.T) {
	dir := t.TempDir()
	env := testEnviron(dir)
	(&running{t: t, env: env}).command("migrate")
	mustExec(t, openSQLite(t, filepath.Join(dir, "afterimage.db")),
		`INSERT INTO schema_migrations (version, name, applied_at) VALUES (9000, 'future', '2030-01-01T00:00:00.000000Z')`)
	for command, want := range map[string]string{
		"serve": "schema 9000", "migrate": "schema 9000", "sweep": "schema 9000", "user list": "schema 9000", "migrate status": "",
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), program{args: strings.Fields(command), environ: env, in: strings.NewReader(""), out: &out, err: &errs})
		if want == "" {
			if code != exitDone || !strings.Contains(out.String(), "9000") || !strings.Contains(out.String(), "by a newer version") {
				t.Errorf("%s: exit code %d: %s%s", command, code, &out, &errs)
			}
			continue
		}
		if code != exitFailed || !strings.Contains(errs.String(), want) || !strings.Contains(errs.String(), "install the newer version again") {
			t.Errorf("%s: exit code %d: %s", command, code, &errs)
		}
	}
}
