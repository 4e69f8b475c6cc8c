package records_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"afterimage/records"
	"afterimage/records/recordstest"
)

// A backup that is made while others write is a database of its own, whole, of
// one moment, and nobody's but its owner's.
func TestBackupWhileOthersWrite(t *testing.T) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		db := recordstest.Open(t, c)
		file := filepath.Join(t.TempDir(), "backup ? # %.db")
		if c.URL != "" {
			if err := db.Backup(t.Context(), file); !errors.Is(err, records.ErrBackupPostgres) {
				t.Errorf("PostgreSQL: %v", err)
			}
			return
		}
		user, err := db.CreateUser(t.Context(), "ada", "correct horse", records.Admin)
		if err != nil {
			t.Fatal(err)
		}
		var writer sync.WaitGroup
		stop := make(chan struct{})
		written := make(chan struct{}, 1)
		writer.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				// Two images in one transaction: no backup may have one of them.
				items := []records.ImportItem{{URL: fmt.Sprintf("https://a.example/%d.png", n)}, {URL: "https://a.example/b.png"}}
				if _, _, err := db.CreateImport(t.Context(), user.ID, items, records.Idempotency{}); err != nil {
					t.Error(err)
					return
				}
				select {
				case written <- struct{}{}:
				default:
				}
			}
		})
		for range 3 { // the later ones replace the first
			<-written
			if err := db.Backup(t.Context(), file); err != nil {
				t.Fatal(err)
			}
		}
		close(stop)
		writer.Wait()
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file's mode is %v: %v", info.Mode(), err)
		}
		if entries, _ := os.ReadDir(filepath.Dir(file)); len(entries) != 1 {
			t.Errorf("beside the backup there are %d files", len(entries)-1)
		}
		copied := recordstest.Open(t, records.Config{Path: file})
		n, err := copied.CountAll(t.Context(), user.ID)
		if err != nil || n == 0 || n%2 != 0 {
			t.Errorf("the backup has %d images: %v", n, err)
		}
		if err := db.Backup(t.Context(), c.Path); err == nil {
			t.Error("the database was replaced by its own backup")
		}
		if err := db.Backup(t.Context(), filepath.Join(t.TempDir(), "no", "folder.db")); err == nil {
			t.Error("a folder that is not there is no error")
		}
	})
}

// What is no backup is not replaced, least of all what SQLite keeps beside the
// database: overwriting its log would destroy it under a running app.
func TestBackupReplacesOnlyBackups(t *testing.T) {
	c := recordstest.SQLite(t)
	db := recordstest.Open(t, c)
	other := filepath.Join(t.TempDir(), "list.jsonl")
	if err := os.WriteFile(other, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{other, c.Path + "-wal", c.Path + "-shm", c.Path + "-journal",
		filepath.Join(filepath.Dir(c.Path), ".", filepath.Base(c.Path)+"-journal")} {
		if err := db.Backup(t.Context(), file); err == nil {
			t.Errorf("%s was replaced", file)
		}
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "precious" {
		t.Errorf("the file has %q: %v", text, err)
	}
	if err := db.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}
