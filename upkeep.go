package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"afterimage/archive"
	"afterimage/records"
	"afterimage/storage"
)

// withArchive runs fn on what the settings name: the database, the store and
// the spool, beside an app that may be running on them.
func withArchive(ctx context.Context, p program, fn func(Config, *archive.Archiver) error) error {
	return withDatabase(ctx, p, func(c Config, db *records.DB) error {
		spool, err := storage.OpenSpool(filepath.Join(c.DataDir, "spool"))
		if err != nil {
			return err
		}
		store, err := newStore(ctx, c)
		if err != nil {
			return err
		}
		client, err := newFetch(c.Archive)
		if err != nil {
			return err
		}
		defer client.Close()
		a := archive.New(archive.Config{DB: db, Store: store, Spool: spool, Fetch: client, Thumbnails: true, Log: commandLog(p)})
		defer a.Close()
		return fn(c, a)
	})
}

// commandLog tells what goes wrong without the times of a log that is kept.
func commandLog(p program) *slog.Logger {
	return slog.New(slog.NewTextHandler(p.err, &slog.HandlerOptions{Level: slog.LevelWarn,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
}

const verifyUse = `Use: afterimage verify [--limit N] [--rate 50MiB/s] [--anyway] [--json]
Reads stored images back, the one first that was looked at longest ago, and compares each with what was stored.
Exit code 1 if one is missing or damaged.
  --limit N     only so many images
  --rate SPEED  at most so many bytes a second
  --anyway      believe it when most images are missing; otherwise the settings are suspected and nothing is changed`

func verify(ctx context.Context, p program, args []string) error {
	flags := newFlags()
	limit := flags.Int("limit", 0, "")
	rate := flags.String("rate", "", "")
	anyway := flags.Bool("anyway", false, "")
	asJSON := flags.Bool("json", false, "")
	rest, err := parse(flags, args)
	if err != nil || len(rest) > 0 || *limit < 0 {
		return usageError(verifyUse)
	}
	s := archive.Scrub{Images: *limit, Anyway: *anyway}
	if *rate != "" {
		if s.Rate, err = speed(1, 1<<40)(*rate); err != nil {
			return usageError("--rate " + err.Error() + "\n" + verifyUse)
		}
	}
	return withArchive(ctx, p, func(_ Config, a *archive.Archiver) error {
		line := newProgress(p)
		s.Progress = func(d archive.Scrubbed) {
			line.say(d.Images, d.Total, fmt.Sprintf("%d of %d images, %d MB, %d not whole", d.Images, d.Total, d.Bytes>>20, d.Bad()))
		}
		found, err := a.Verify(ctx, s)
		line.clear()
		return errors.Join(err, tellVerified(p, found, *asJSON))
	})
}

func tellVerified(p program, s archive.Scrubbed, asJSON bool) error {
	if asJSON {
		if err := writeJSON(p.out, s); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(p.out, "%d images read back (%d bytes): %d whole, %d missing, %d wrong, %d unreadable; %d archived once more, %d recovered\n",
			s.Images, s.Bytes, s.Whole, s.Missing, s.Wrong, s.Unreadable, s.Again, s.Recovered)
	}
	if s.Bad() > 0 {
		return fmt.Errorf("%d images are not whole: %s", s.Bad(), strings.Join(s.IDs, " "))
	}
	return nil
}
