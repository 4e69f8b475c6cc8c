package records

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"afterimage/migrations"
)

// Migration is one step of the schema.
type Migration struct {
	Version   int    `db:"version" json:"version"`
	Name      string `db:"name" json:"name"`
	AppliedAt Time   `db:"applied_at" json:"applied_at"` // zero: not yet
	Newer     bool   `db:"-" json:"newer,omitempty"`     // in the database, and unknown to this program
	sql       string
}

// migrationLock is any number that nobody else in the database uses for an
// advisory lock.
const migrationLock = 0x0af7e41a9e

// Migrate brings the schema up to date, under a lock, so that instances that
// start together do it once. It refuses a schema newer than this binary.
func (db *DB) Migrate(ctx context.Context) error {
	known, err := readMigrations(db.postgres)
	if err != nil {
		return err
	}
	return db.write(ctx, func(t *tx) error {
		if db.postgres {
			if _, err := t.exec(`SELECT pg_advisory_xact_lock(?)`, migrationLock); err != nil {
				return fmt.Errorf("lock the schema: %w", err)
			}
		}
		if _, err := t.exec(`CREATE TABLE IF NOT EXISTS schema_migrations (
			version    BIGINT PRIMARY KEY,
			name       TEXT NOT NULL,
			applied_at TIMESTAMPTZ NOT NULL)`); err != nil {
			return fmt.Errorf("create schema_migrations: %w", err)
		}
		var version int
		if err := t.get(&version, `SELECT coalesce(max(version), 0) FROM schema_migrations`); err != nil {
			return fmt.Errorf("read the schema's version: %w", err)
		}
		if newest := known[len(known)-1].Version; version > newest {
			return fmt.Errorf("the database has schema %d, this program knows %d: install the newer version again", version, newest)
		}
		for _, m := range known {
			if m.Version <= version {
				continue
			}
			// No parameters: only then may one call hold several statements.
			if _, err := t.ExecContext(ctx, m.sql); err != nil {
				return fmt.Errorf("migrate to %04d %s: %w", m.Version, m.Name, err)
			}
			if _, err := t.exec(`INSERT INTO schema_migrations (version, name, applied_at) VALUES (?, ?, ?)`,
				m.Version, m.Name, t.now); err != nil {
				return fmt.Errorf("record migration %04d: %w", m.Version, err)
			}
		}
		return nil
	})
}

// Migrations lists all steps that this program knows and when each was
// applied.
func (db *DB) Migrations(ctx context.Context) ([]Migration, error) {
	known, err := readMigrations(db.postgres)
	if err != nil {
		return nil, err
	}
	exists, err := db.hasTable(ctx, "schema_migrations")
	if err != nil || !exists {
		return known, err
	}
	var applied []Migration
	if err := db.all(ctx, &applied, `SELECT version, name, applied_at FROM schema_migrations`); err != nil {
		return nil, fmt.Errorf("read the schema's version: %w", err)
	}
	for _, a := range applied {
		i := slices.IndexFunc(known, func(m Migration) bool { return m.Version == a.Version })
		if i < 0 {
			a.Newer = true
			known = append(known, a)
			continue
		}
		known[i].AppliedAt = a.AppliedAt
	}
	return known, nil
}

func (db *DB) hasTable(ctx context.Context, name string) (bool, error) {
	query := `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?`
	if db.postgres {
		query = `SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = ?`
	}
	var n int
	if err := db.get(ctx, &n, query, name); err != nil {
		return false, fmt.Errorf("look for table %s: %w", name, err)
	}
	return n > 0, nil
}

// These end the name of a file with what only one of the two has. It belongs to
// the migration of the same number.
const (
	onlyPostgres = ".postgres.sql"
	onlySQLite   = ".sqlite.sql"
)

func readMigrations(postgres bool) ([]Migration, error) {
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		return nil, err
	}
	var list []Migration
	for _, file := range names {
		if strings.HasSuffix(file, onlyPostgres) || strings.HasSuffix(file, onlySQLite) {
			continue
		}
		base := strings.TrimSuffix(file, ".sql")
		number, name, ok := strings.Cut(base, "_")
		version, err := strconv.Atoi(number)
		if !ok || err != nil {
			return nil, fmt.Errorf("migration %s is not named NNNN_name.sql", file)
		}
		text, err := migrations.FS.ReadFile(file)
		if err != nil {
			return nil, err
		}
		only := onlySQLite
		if postgres {
			only = onlyPostgres
		}
		if slices.Contains(names, base+only) {
			more, err := migrations.FS.ReadFile(base + only)
			if err != nil {
				return nil, err
			}
			text = append(append(text, '\n'), more...)
		}
		list = append(list, Migration{Version: version, Name: name, sql: string(text)})
	}
	slices.SortFunc(list, func(a, b Migration) int { return a.Version - b.Version })
	return list, nil
}
