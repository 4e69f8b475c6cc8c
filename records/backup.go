package records

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrBackupPostgres says who makes a backup of PostgreSQL.
var ErrBackupPostgres = errors.New("the database is PostgreSQL, which has its own tool: pg_dump --format=custom --file=FILE DATABASE_URL")

// Backup writes the SQLite database, as it is at one moment, into a file, while
// others go on reading and writing. The file is whole and on the disk when
// Backup returns, and has replaced an older one of its name; a failure leaves
// the older one. It holds everything that the database does, secrets too, so
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
	// Beside its final name, since only within one file system a rename is one
	// step; empty and private before SQLite writes into it.
	temp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // after the rename there is none
	defer temp.Close()
	if err := db.sameFile(ctx, file); err != nil {
		return err
	}
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

// sameFile refuses to replace the very database that is backed up.
func (db *DB) sameFile(ctx context.Context, file string) error {
	var path string
	if err := db.get(ctx, &path, `SELECT file FROM pragma_database_list WHERE name = 'main'`); err != nil {
		return err
	}
	ours, err := os.Stat(path)
	if err != nil {
		return err
	}
	if there, err := os.Stat(file); err == nil && os.SameFile(ours, there) {
		return errors.New("the file is the database itself")
	}
	return nil
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
