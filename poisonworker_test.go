package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"time"

	"afterimage/jobs"
	"afterimage/records"
)

// poisonFolder is the environment variable that makes this program a worker
// with a job that kills it, on the SQLite database in that folder.
const poisonFolder = "TEST_RUN_POISON"

// runPoison is a worker with a job that ends its process.
func runPoison(dir string) int {
	log := slog.New(slog.NewTextHandler(os.Stdout, nil))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	db, err := records.Open(ctx, records.Config{Path: filepath.Join(dir, "afterimage.db")})
	if err != nil {
		log.Error("open", "err", err)
		return exitFailed
	}
	defer db.Close()
	var running atomic.Int32
	work := func(ctx context.Context, j records.Job) records.Settlement {
		beside := running.Add(1) > 1
		defer running.Add(-1)
		<-time.After(20 * time.Millisecond)
		if *j.Ref == "poison" {
			if beside || running.Load() > 1 {
				log.Info("beside others")
			}
			log.Info("swallowed the poison")
			os.Exit(exitFailed)
		}
		return records.Settlement{}
	}
	w := jobs.New(jobs.Config{DB: db, InstanceID: records.NewID(), SpoolID: "spool", Log: log, Sweep: 100 * time.Millisecond,
		Kinds: []jobs.Kind{{Name: "test", Slots: 4, Run: work}}})
	db.OnJobs(w.Wake)
	if _, err := db.StartInstance(ctx, w.Instance()); err != nil {
		log.Error("start", "err", err)
		return exitFailed
	}
	w.Start()
	log.Info("afterimage is ready")
	<-ctx.Done()
	w.Stop()
	return exitDone
}
