package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// importer is a data folder with one account, and no app running on it.
type importer struct {
	*running
	dir string
}

func newImporter(t *testing.T, extra ...string) *importer {
	t.Helper()
	dir := t.TempDir()
	i := &importer{&running{t: t, env: append(testEnviron(dir), extra...)}, dir}
	var out bytes.Buffer
	p := program{args: []string{"user", "create", "ann", "--admin"}, environ: i.env, in: strings.NewReader(adminPassword + "\n"), out: &out, err: &out}
	if code := run(t.Context(), p); code != exitDone {
		t.Fatal(out.String())
	}
	return i
}

// imports runs the command and returns how it ended and what it complained of.
func (i *importer) imports(code int, list string, args ...string) (importDone, string) {
	i.t.Helper()
	var out, errs bytes.Buffer
	p := program{args: append([]string{"import", "--json"}, args...), environ: i.env, in: strings.NewReader(list), out: &out, err: &errs}
	if got := run(i.t.Context(), p); got != code {
		i.t.Fatalf("exit code %d, want %d: %s", got, code, &errs)
	}
	return decoded[importDone](i.t, out.Bytes(), errs.String()), errs.String()
}

// A list is kept without an app running, a line for each failure; the same list
// again imports nothing twice; what was exported comes back somewhere else
// under the same addresses.
func TestImport(t *testing.T) {
	source := newSource(t)
	i := newImporter(t, append(source.allowed(), "IMAGE_ARCHIVE_MAX_ATTEMPTS=1")...)
	var list strings.Builder
	for n := range 5 {
		fmt.Fprintln(&list, source.url(fmt.Sprintf("/%d.png", n)))
	}
	fmt.Fprintf(&list, "%s\nhttp://10.0.0.1/private.png\n%s\n", source.url("/page.html"), source.url("/0.png"))
	done, errs := i.imports(exitFailed, list.String(), "-")
	if done.Read != 8 || done.Added != 7 || done.There != 1 || done.Kept != 5 || done.Failed != 2 || done.Waiting != 0 {
		t.Errorf("imported %+v: %s", done, errs)
	}
	for _, want := range []string{"line 6: source_not_image\n", "line 7: source_blocked\n", "2 images failed"} {
		if !strings.Contains(errs, want) {
			t.Errorf("the failures have no %q: %s", want, errs)
		}
	}
	if strings.Contains(errs, source.secret) {
		t.Errorf("a signed address was printed: %s", errs)
	}
	if done, errs := i.imports(exitDone, list.String(), "-"); done.There != 8 || done.Added != 0 || source.gets.Load() != 6 {
		t.Errorf("the second time: %+v, fetched %d times: %s", done, source.gets.Load(), errs)
	}

	log := filepath.Join(i.dir, "log.jsonl")
	line := fmt.Sprintf(`{"request":{"prompt":"灯塔"},"response":{"data":[{"b64_json":%q}]}}`+"\n", base64.StdEncoding.EncodeToString(noisePNG(t, 20)))
	if err := os.WriteFile(log, []byte(line+"{broken\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if done, errs := i.imports(exitFailed, "", log); done.Kept != 1 || done.Failed != 1 || !strings.Contains(errs, "line 2: ") {
		t.Errorf("a log: %+v: %s", done, errs)
	}
	if left := spooled(t, i.dir); len(left) > 0 {
		t.Errorf("the spool still has %v", left)
	}

	folder := filepath.Join(t.TempDir(), "export")
	i.command("export", folder)
	zipped := folder + ".zip"
	i.command("export", zipped)
	if done, _ := i.imports(exitDone, "", folder); done.There != 6 || done.Added != 0 {
		t.Errorf("an export into where it came from: %+v", done)
	}
	other := newImporter(t)
	if done, errs := other.imports(exitDone, "", zipped); done.Kept != 6 || done.Added != 6 {
		t.Errorf("an export elsewhere: %+v: %s", done, errs)
	}
	if done, _ := other.imports(exitDone, "", folder); done.There != 6 || done.Added != 0 {
		t.Errorf("the same export again: %+v", done)
	}
	doubled(t, folder)
	third := newImporter(t)
	if done, errs := third.imports(exitDone, "", folder); done.Kept != 6 || done.Added != 6 || done.There != 6 {
		t.Errorf("an export that has each line twice: %+v: %s", done, errs)
	}
	db := openSQLite(t, filepath.Join(third.dir, "afterimage.db"))
	if _, err := db.Exec(`UPDATE images SET status = 'archive_failed', object_key = '', sha256 = '' WHERE position = 0`); err != nil {
		t.Fatal(err)
	}
	if done, errs := third.imports(exitDone, "", folder); done.Kept != 1 || done.Added != 1 {
		t.Errorf("an export whose first image was lost: %+v: %s", done, errs)
	}
	ours, theirs := i.listed(), other.listed()
	if ours != theirs || strings.Count(ours, "\n") != 6 {
		t.Errorf("the images are\n%swant\n%s", theirs, ours)
	}
}

// doubled writes each line of an export's list twice.
func doubled(t *testing.T, folder string) {
	t.Helper()
	name := filepath.Join(folder, "images.jsonl")
	text, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, append(text, text...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// listed are the archived images with what must not change on their way.
func (i *importer) listed() string {
	i.t.Helper()
	db := openSQLite(i.t, filepath.Join(i.dir, "afterimage.db"))
	return value[string](i.t, db, `SELECT coalesce(group_concat(line, ''), '') FROM (
		SELECT id || ' ' || sha256 || ' ' || prompt || ' ' || created_at || char(10) AS line FROM images WHERE status = 'archived' ORDER BY id)`)
}
