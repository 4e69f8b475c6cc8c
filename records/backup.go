package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrBackupPostgres says who makes a backup of PostgreSQL.
var ErrBackupPostgres = errors.New("the database is PostgreSQL, which has its own tool: pg_dump --format=custom --file=FILE DATABASE_URL")

// Backup writes the SQLite database, as it is at one moment, into a file, while
// others go on reading and writing. The file is whole and on the disk when
// Backup returns, and has replaced an older backup of its name; a failure leaves
// the older one. A file that is no backup is never replaced. It holds everything that the database does, secrets too, so
// only its owner may read it.
func (db *DB) Backup(ctx context.Context, file string) error {
	if db.postgres {
		return ErrBackupPostgres
	}
	if err := db.backup(ctx, file); err != nil {
		return fmt.Errorf("back up the database: %w", err)
	}
	return nil
}

func (db *DB) backup(ctx context.Context, file string) error {
	if err := db.mayReplace(ctx, file); err != nil {
		return err
	}
	// Beside its final name, since only within one file system a rename is one
	// step; empty and private before SQLite writes into it.
	temp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // after the rename there is none
	defer temp.Close()
	if _, err := db.sqlx.ExecContext(ctx, `VACUUM INTO ?`, temp.Name()); err != nil {
		return err
	}
	if err := checkBackup(ctx, temp.Name()); err != nil {
		return err
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), file); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// mayReplace refuses a name of the database itself, or of the files that SQLite
// keeps beside it, and a file that is no backup.
func (db *DB) mayReplace(ctx context.Context, file string) error {
	var path string
	if err := db.get(ctx, &path, `SELECT file FROM pragma_database_list WHERE name = 'main'`); err != nil {
		return err
	}
	for _, beside := range []string{"", "-wal", "-shm", "-journal"} {
		if sameName(path+beside, file) {
			return errors.New("the file is the database itself: name another one")
		}
	}
	there, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer there.Close()
	head := make([]byte, len(sqliteHead))
	if _, err := io.ReadFull(there, head); err != nil || string(head) != sqliteHead {
		return errors.New("the file is there already and is no backup: name another one")
	}
	return nil
}

// sqliteHead begins every database of SQLite.
const sqliteHead = "SQLite format 3\x00"

// sameName reports whether two names are of one file, which need not exist.
func sameName(a, b string) bool {
	one, err := os.Stat(a)
	if other, otherErr := os.Stat(b); err == nil && otherErr == nil {
		return os.SameFile(one, other)
	}
	one, err = os.Stat(filepath.Dir(a))
	other, otherErr := os.Stat(filepath.Dir(b))
	return err == nil && otherErr == nil && os.SameFile(one, other) && filepath.Base(a) == filepath.Base(b)
}

// checkBackup reads the copy through.
func checkBackup(ctx context.Context, file string) error {
	db, err := openSQLite(file)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, `PRAGMA journal_mode = DELETE`); err != nil { // one file, without others beside it
		return err
	}
	var said []string
	if err := db.SelectContext(ctx, &said, `PRAGMA quick_check`); err != nil {
		return err
	}
	if len(said) != 1 || said[0] != "ok" {
		return fmt.Errorf("the copy is damaged: %s", strings.Join(said, "; "))
	}
	return nil
}
