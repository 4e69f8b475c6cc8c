// Package recordstest gives a test a database of its own, on each database
// that we ship. It is for tests only.
package recordstest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"afterimage/records"
)

// Each runs a test on SQLite and on PostgreSQL.
func Each(t *testing.T, test func(t *testing.T, db *records.DB)) {
	t.Run("sqlite", func(t *testing.T) { test(t, Open(t, SQLite(t))) })
	t.Run("postgres", func(t *testing.T) { test(t, Open(t, Postgres(t))) })
}

// EachConfig runs a test with where an empty database is, for tests that open
// it themselves, such as those in a synctest bubble.
func EachConfig(t *testing.T, test func(t *testing.T, c records.Config)) {
	t.Run("sqlite", func(t *testing.T) { test(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, Postgres(t)) })
}

// Open opens and migrates a database and closes it when the test ends.
func Open(t *testing.T, c records.Config) *records.DB {
	t.Helper()
	db, err := records.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

// SQLite is a file in the test's folder.
func SQLite(t *testing.T) records.Config {
	return records.Config{Path: filepath.Join(t.TempDir(), "afterimage.db")}
}

// Postgres is a schema of its own in the server that TEST_POSTGRES_URL names.
// Without one the test is skipped, but in CI it fails.
func Postgres(t *testing.T) records.Config {
	t.Helper()
	server := os.Getenv("TEST_POSTGRES_URL")
	if server == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("TEST_POSTGRES_URL is not set: make test starts a PostgreSQL and sets it")
		}
		t.Skip("PostgreSQL is left out: TEST_POSTGRES_URL is not set (make test does)")
	}
	schema := "t" + records.NewID()
	admin(t.Context(), t, server, "CREATE SCHEMA "+schema)
	t.Cleanup(func() { admin(context.Background(), t, server, "DROP SCHEMA "+schema+" CASCADE") })
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return records.Config{URL: u.String(), MaxConns: 8}
}

func admin(ctx context.Context, t *testing.T, server, statement string) {
	t.Helper()
	db, err := sql.Open("postgres", server)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", strings.Fields(statement)[0], err))
	}
}

// User adds a person and returns their id.
func User(t *testing.T, db *records.DB, name string) string {
	t.Helper()
	u, err := db.CreateUser(t.Context(), name, "correct horse", records.Member)
	if err != nil {
		t.Fatal(err)
	}
	return u.ID
}
