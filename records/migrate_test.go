package records_test

import (
	"strings"
	"sync"
	"testing"

	"afterimage/records"
	"afterimage/records/recordstest"
)

func TestMigrate(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		t.Run("a second time changes nothing", func(t *testing.T) {
			before, err := w.Migrations(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			after, err := w.Migrations(t.Context())
			if err != nil || len(before) == 0 || len(after) != len(before) || after[0].AppliedAt != before[0].AppliedAt || before[0].AppliedAt.IsZero() {
				t.Errorf("migrations were %v and are %v, %v", before, after, err)
			}
		})
		t.Run("a newer schema is refused", func(t *testing.T) {
			w.Exec(t, `INSERT INTO schema_migrations (version, name, applied_at) VALUES (9000, 'future', ?)`, w.Now())
			err := w.Migrate(t.Context())
			if err == nil || !strings.Contains(err.Error(), "schema 9000") {
				t.Errorf("migrate says %v", err)
			}
			list, err := w.Migrations(t.Context())
			if err != nil || list[len(list)-1].Version != 9000 {
				t.Errorf("the newer one is not listed: %v, %v", list, err)
			}
		})
	})
}

func TestMigrateByManyAtOnceIsDoneOnce(t *testing.T) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		var wait sync.WaitGroup
		for range 6 {
			db, err := records.Open(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			wait.Go(func() {
				if err := db.Migrate(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		raw := recordstest.OpenRaw(t, c)
		var n int
		raw.Get(t, &n, `SELECT count(*) FROM schema_migrations WHERE version = 1`)
		if n != 1 {
			t.Errorf("version 1 is recorded %d times", n)
		}
	})
}

func TestMigrationsOfAnEmptyDatabaseAreListedAsNotApplied(t *testing.T) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		db, err := records.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		list, err := db.Migrations(t.Context())
		if err != nil || len(list) == 0 || !list[0].AppliedAt.IsZero() {
			t.Errorf("got %v, %v", list, err)
		}
	})
}
