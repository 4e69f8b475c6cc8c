package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"afterimage/archive"
	"afterimage/records/recordstest"
)

// TestRebuild loses the database and gets everybody's history back from what
// lies in the store.
func TestRebuild(t *testing.T) {
	for _, c := range []struct {
		name  string
		store func(*testing.T) []string
		// database gives the settings of an empty database, and a way into it.
		database func(t *testing.T, dir string) ([]string, *sql.DB)
	}{
		{"sqlite-disk", func(*testing.T) []string { return nil }, func(t *testing.T, dir string) ([]string, *sql.DB) {
			files, err := filepath.Glob(filepath.Join(dir, "afterimage.db*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
			return nil, openSQLite(t, filepath.Join(dir, "afterimage.db"))
		}},
		{"postgres-s3", func(t *testing.T) []string { return bucket(t, "TEST_S3_ENDPOINT") }, func(t *testing.T, _ string) ([]string, *sql.DB) {
			url := recordstest.Postgres(t).URL
			return []string{"DATABASE_URL=" + url}, openSQL(t, url)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			source := newSource(t)
			env := append(slices.Concat(testEnviron(dir), c.store(t)), source.allowed()...)
			database, db := c.database(t, dir)
			first := startProcess(t, slices.Concat(env, database)).client()
			first.makeImages(2)
			first.importImages(source)
			first.mark(map[string]any{"favorite": true}, map[string]any{"trashed": true})
			eventually(t, time.Minute, "all is written", func() bool {
				return value[int](t, db, `SELECT count(*) FROM jobs WHERE kind IN ('archive', 'thumbnail', 'delete')`) == 0
			})
			want := first.everything()
			first.stop()
			db.Close()

			database, db = c.database(t, dir)
			env = slices.Concat(env, database)
			var found archive.Rebuilt
			if err := json.Unmarshal(process(t, env, "rebuild", "--json"), &found); err != nil {
				t.Fatal(err)
			}
			if found.Images != 4 || found.Users != 1 || found.Generations != 1 || found.Imports != 1 || found.Missing+found.WithoutSidecar+found.Unreadable+found.Thumbnails > 0 {
				t.Errorf("rebuilt %+v", found)
			}
			if said := string(process(t, env, "rebuild")); !strings.HasPrefix(said, "restored 0 images of 0 generations and 0 imports; 4 were there already\n") {
				t.Errorf("once more it says %s", said)
			}
			second := startProcess(t, env).client() // the settings give the administrator a password again
			if got := second.everything(); !reflect.DeepEqual(got, want) {
				t.Errorf("there is\n%v\nwant\n%v", got, want)
			}
		})
	}
}

// process runs a command as a process of its own and returns what it printed.
func process(t *testing.T, env []string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), env...), "RUN_AFTERIMAGE=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("afterimage %s: %v: %s", strings.Join(args, " "), err, &errs)
	}
	return out.Bytes()
}

// mark sets marks on kept images, one each.
func (c *client) mark(marks ...map[string]any) {
	c.t.Helper()
	var list struct{ Items []image }
	c.call("GET", "/api/v1/images?status=archived", nil, 200, &list)
	for n, m := range marks {
		c.call("PATCH", "/api/v1/images/"+list.Items[n].ID, m, 200, nil)
	}
}

// everything is what the API says of all kept images, by id, with their bytes
// and thumbnails. The time of the last change is new after a rebuild.
func (c *client) everything() map[string]any {
	c.t.Helper()
	var page struct{ Items []map[string]any }
	c.call("GET", "/api/v1/history?limit=200", nil, 200, &page)
	all := map[string]any{}
	for _, i := range page.Items {
		if i["status"] != "archived" {
			continue // failures leave nothing in the store
		}
		id := i["id"].(string)
		delete(i, "updated_at")
		for _, name := range []string{"url", "thumb_url"} {
			url := i[name].(string)
			i[name] = strings.TrimPrefix(url, c.url)
			if i["trashed_at"] == nil { // only its owner sees it
				i[name+" bytes"] = string(c.bytes(url))
			}
		}
		if g, _ := i["generation_id"].(string); g != "" {
			var generation map[string]any
			c.call("GET", "/api/v1/generations/"+g, nil, 200, &generation)
			delete(generation, "images")
			i["of"] = generation
		}
		all[id] = i
	}
	return all
}
