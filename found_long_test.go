//go:build unix

package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"afterimage/archive"
	"afterimage/records"
)

// hoard is a data folder with very many archived images, written without the
// app: what is asked is whether all of them are looked at.
type hoard struct {
	t   *testing.T
	dir string
	env []string
	db  *sql.DB
	ids []string
	old time.Time // when all of it was written
}

func newHoard(t *testing.T, n int) *hoard {
	t.Helper()
	h := &hoard{t: t, dir: t.TempDir(), old: time.Now().Add(-3 * time.Hour)}
	h.env = testEnviron(h.dir)
	(&running{t: t, env: h.env}).command("migrate")
	h.db = openSQLite(t, filepath.Join(h.dir, "afterimage.db"))
	user := records.NewID()
	mustExec(t, h.db, `INSERT INTO users (id, username, password_hash, role, created_at) VALUES ($1, 'ann', '', 'admin', '2026-01-01T00:00:00.000000Z')`, user)
	mustExec(t, h.db, `INSERT INTO change_heads (user_id, seq) VALUES ($1, $2)`, user, n)
	tx, err := h.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	insert, err := tx.Prepare(`INSERT INTO images (id, user_id, seq, status, object_key, mime, bytes, width, height, sha256, thumb, sidecar,
		attempt, created_at, updated_at, archived_at) VALUES ($1, $2, $3, 'archived', $4, 'image/png', $5, 10, 10, $6, 'none', 'abc', 1, $7, $7, $7)`)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * 100 * 24 * time.Hour / time.Duration(n))
		id := idAt(at)
		key, body := h.key("images", id, ".png"), []byte("the bytes of "+id)
		h.writes("objects/"+key, body)
		h.writes("objects/"+h.key("meta", id, "-abc.json"), []byte("{}"))
		_, err := insert.Exec(id, user, i+1, key, len(body), fmt.Sprintf("%x", sha256.Sum256(body)), at.Format("2006-01-02T15:04:05.000000Z"))
		if err != nil {
			t.Fatal(err)
		}
		h.ids = append(h.ids, id)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	return h
}

// idAt is an id that was made at a time.
func idAt(at time.Time) string {
	b := make([]byte, 20)
	rand.Read(b)
	binary.BigEndian.PutUint32(b, uint32(at.Unix()))
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}

func (h *hoard) key(prefix, id, suffix string) string {
	return prefix + records.IDTime(id).Format("/2006/01/02/") + id + suffix
}

func (h *hoard) writes(name string, body []byte) {
	h.t.Helper()
	path := filepath.Join(h.dir, filepath.FromSlash(name))
	err := os.WriteFile(path, body, 0o600)
	if os.IsNotExist(err) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = os.WriteFile(path, body, 0o600)
		}
	}
	if err == nil {
		err = os.Chtimes(path, h.old, h.old)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// command runs a sub-command as a process of its own and says how much memory
// it took at most.
func (h *hoard) command(code int, args ...string) []byte {
	h.t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), h.env...), "RUN_AFTERIMAGE=1")
	cmd.Stdout, cmd.Stderr = &out, &errs
	begin := time.Now()
	cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != code {
		h.t.Fatalf("afterimage %v: exit code %d, want %d: %.2000s", args, got, code, errs.String())
	}
	peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	h.t.Logf("afterimage %s: %s (%s of a processor), at most %d MB", strings.Join(args, " "),
		time.Since(begin).Round(time.Millisecond), cpu.Round(time.Millisecond), peak)
	if peak > 200 {
		h.t.Errorf("afterimage %v took %d MB", args, peak)
	}
	return out.Bytes()
}

// TestEverythingIsFoundAmongAHundredThousand: of 100,000 images 100 objects are
// deleted and 100 changed behind our back, 100 objects and 50 spool files are
// added that nobody knows. Each is found, and nothing else.
func TestEverythingIsFoundAmongAHundredThousand(t *testing.T) {
	if os.Getenv("TEST_LONG") == "" {
		t.Skip("left out: make test-long does it")
	}
	const n = 100_000
	h := newHoard(t, n)
	lost, want := map[string]bool{}, map[string]bool{}
	for i := range 100 {
		gone, changed := h.ids[i*n/100+7], h.ids[i*n/100+500]
		lost[gone], lost[changed] = true, true
		if err := os.Remove(filepath.Join(h.dir, "objects", filepath.FromSlash(h.key("images", gone, ".png")))); err != nil {
			t.Fatal(err)
		}
		h.writes("objects/"+h.key("images", changed, ".png"), []byte("the bytes of "+strings.ToUpper(changed)))
		stranger := h.key("images", idAt(time.Date(2026, 1, 1+i, 5, 0, 0, 0, time.UTC)), ".png")
		h.writes("objects/"+stranger, []byte("a stranger"))
		want["object without an image: "+stranger] = true
		want["image without its object: "+h.key("images", gone, ".png")] = true
		if i < 50 {
			id := idAt(time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC))
			h.writes("spool/"+id, []byte("nobody's"))
			want["file in the spool without an image: "+id] = true
		}
	}
	found := map[string]bool{}
	for line := range strings.Lines(string(h.command(exitFailed, "reconcile"))) {
		if line, bytes, ok := strings.Cut(line, " ("); ok && strings.HasSuffix(bytes, "bytes)\n") {
			found[line] = true
		}
	}
	if !maps.Equal(found, want) {
		t.Fatalf("reconcile found %d differences, want %d", len(found), len(want))
	}

	verified := decoded[archive.Scrubbed](t, h.command(exitFailed, "verify", "--json"), "")
	if verified.Images != n || verified.Missing != 100 || verified.Wrong != 100 || verified.Unreadable != 0 {
		t.Errorf("verify found %+v", verified)
	}
	rows, err := h.db.Query(`SELECT id FROM images WHERE status <> 'archived'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	blamed := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		blamed[id] = true
	}
	if !maps.Equal(blamed, lost) {
		t.Errorf("%d images say that they are lost, want 200", len(blamed))
	}

	repaired := decoded[archive.Reconciled](t, h.command(exitDone, "reconcile", "--repair", "--json"), "")
	if repaired.Repaired != 150 || repaired.Total() != 150 {
		t.Errorf("repaired %+v", repaired)
	}
	if again := decoded[archive.Reconciled](t, h.command(exitDone, "reconcile", "--json"), ""); again.Total() != 0 {
		t.Errorf("after the repair there are %v", slices.Sorted(maps.Keys(again.Found)))
	}
}
