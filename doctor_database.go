package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"afterimage/records"
)

// What is worth a look in a database.
const (
	slowDatabase = 50 * time.Millisecond // a question and its answer
	clocksApart  = 5 * time.Second
)

// database asks without changing anything. One that is not there yet is made at
// the first start. folder says that there is a data folder.
func (d *checkup) database(folder bool) {
	file := filepath.Join(d.config.DataDir, "afterimage.db")
	setting := "DATABASE_URL"
	if d.config.DatabaseURL == "" {
		setting = dataDirSetting
		if _, err := os.Stat(file); !folder || errors.Is(err, fs.ErrNotExist) {
			d.check("database", func(context.Context) finding { return skip("%s is made at the first start", file) })
			return
		}
	}
	var db *records.DB
	opened := d.check("database", func(ctx context.Context) (f finding) {
		var err error
		if db, err = records.Open(ctx, records.Config{URL: d.config.DatabaseURL, Path: file, MaxConns: 2}); err != nil {
			return failed(err, setting)
		}
		version, err := db.Version(ctx)
		if err != nil {
			return failed(err, setting)
		}
		return fine("%s", version)
	})
	if db == nil {
		return
	}
	defer db.Close()
	if opened.Status == broken {
		return
	}
	d.check("database latency", func(ctx context.Context) finding { return checkLatency(ctx, db, setting) })
	d.check("database clock", func(ctx context.Context) finding { return checkDatabaseClock(ctx, db, setting) })
	d.check("migrations", func(ctx context.Context) finding { return checkMigrations(ctx, db, setting) })
	d.check("notifications", func(ctx context.Context) finding { return d.checkNotifications(ctx, db) })
}

func checkLatency(ctx context.Context, db *records.DB, setting string) finding {
	best := time.Hour
	for range 5 {
		began := time.Now()
		if err := db.Ping(ctx); err != nil {
			return failed(err, setting)
		}
		best = min(best, time.Since(began))
	}
	if best > slowDatabase {
		return look(setting, "%s for an answer: far away, or busy", best.Round(time.Millisecond))
	}
	return fine("%s for an answer", best.Round(10*time.Microsecond))
}

func checkDatabaseClock(ctx context.Context, db *records.DB, setting string) finding {
	if !db.Postgres() {
		return skip("SQLite has this machine's clock")
	}
	if err := db.SyncClock(ctx); err != nil {
		return failed(err, setting)
	}
	ahead := db.ClockAhead().Round(10 * time.Millisecond)
	if ahead.Abs() > clocksApart {
		return look("", "the database's clock is %s ahead of this machine's: set both by NTP", ahead)
	}
	return fine("%s ahead of this machine's", ahead)
}

func checkMigrations(ctx context.Context, db *records.DB, setting string) finding {
	list, err := db.Migrations(ctx)
	if err != nil {
		return failed(err, setting)
	}
	waiting := 0
	for _, m := range list {
		if m.Newer {
			return wrong("", "the database has schema %d, which this program does not know: install the newer version again", m.Version)
		}
		if m.AppliedAt.IsZero() {
			waiting++
		}
	}
	if waiting > 0 {
		return look("", "%d of %d to apply: start the app, or run afterimage migrate", waiting, len(list))
	}
	return fine("%d of %d applied", len(list), len(list))
}

func (d *checkup) checkNotifications(ctx context.Context, db *records.DB) finding {
	if !db.Postgres() {
		return skip("SQLite has one instance, which needs none")
	}
	arrive, err := db.Notifies(ctx)
	if err != nil {
		return failed(err, "DATABASE_URL")
	}
	if !arrive {
		return look("DATABASE_URL", "a pooler in transaction mode swallows LISTEN: work of other instances is found every %s, and a dead one after 30 s; connect without it to be faster",
			d.config.Archive.PollInterval)
	}
	return fine("LISTEN works")
}
