package recordstest

import (
	"testing"

	"github.com/jmoiron/sqlx"

	"afterimage/records"
)

// Raw is a second way into a test's database, to write what no method of
// records would write and to see what no method shows.
type Raw struct{ db *sqlx.DB }

// OpenRaw opens it and closes it when the test ends. Statements use ? on both
// databases.
func OpenRaw(t *testing.T, c records.Config) Raw {
	t.Helper()
	driver, dsn := "postgres", c.URL
	if c.URL == "" {
		driver, dsn = "sqlite", "file:"+c.Path+"?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)"
	}
	db, err := sqlx.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return Raw{db}
}

// Exec runs a statement and returns how many rows it changed.
func (r Raw) Exec(t *testing.T, query string, args ...any) int64 {
	t.Helper()
	res, err := r.db.Exec(r.db.Rebind(query), args...)
	if err != nil {
		t.Fatal(err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Get reads one row into dest.
func (r Raw) Get(t *testing.T, dest any, query string, args ...any) {
	t.Helper()
	if err := r.db.Get(dest, r.db.Rebind(query), args...); err != nil {
		t.Fatal(err)
	}
}
