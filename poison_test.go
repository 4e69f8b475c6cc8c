//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"afterimage/records"
)

// TestPoison: a job that ends its process five times is discarded, and the
// others go on and are not discarded with it.
func TestPoison(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := records.Open(t.Context(), records.Config{Path: filepath.Join(dir, "afterimage.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	raw := openSQLite(t, filepath.Join(dir, "afterimage.db"))
	now := db.Now()
	for n := range 40 {
		ref := "good"
		if n == 5 {
			ref = "poison"
		}
		mustExec(t, raw, `INSERT INTO jobs (id, kind, ref, state, deadline, run_at, created_at) VALUES (?, 'test', ?, 'ready', ?, ?, ?)`,
			records.NewID(), ref, records.Never, now, now)
	}
	k := keep(t, 0, []string{poisonFolder + "=" + dir})
	eventually(t, time.Minute, "only the poison is left", func() bool {
		return value[int](t, raw, `SELECT count(*) FROM jobs WHERE state <> 'discarded'`) == 0
	})
	if left := value[string](t, raw, `SELECT group_concat(ref || ' ' || state || ' ' || crashes) FROM jobs`); left != "poison discarded 5" {
		t.Errorf("left are %s", left)
	}
	if n := strings.Count(k.out.String(), "swallowed the poison"); n != 5 {
		t.Errorf("it was run %d times:\n%s", n, k.out)
	}
	if n := strings.Count(k.out.String(), "beside others"); n > 2 {
		t.Errorf("it was run %d times beside others", n)
	}
	if code := k.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
