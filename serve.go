package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"log/slog"
	"net"
	nethttp "net/http"
	"os"
	"sync"
	"time"

	"afterimage/records"
	"afterimage/storage"
)

const (
	// beatInterval is how often an instance on PostgreSQL says that it lives.
	beatInterval = time.Second
	// beatIntervalSQLite is longer: nobody waits to take over, and each beat
	// is a write to somebody's disk.
	beatIntervalSQLite = 10 * time.Second
	// drainTime is how long open requests may go on when stopping.
	drainTime = 5 * time.Second
	// cleanInterval is how often the spool is cleaned.
	cleanInterval = time.Hour
	// signOffTime is how long the database may take to hear that we have ended.
	signOffTime = 3 * time.Second
)

// serve runs the app until the context ends.
func serve(ctx context.Context, p program, args []string) error {
	if len(args) > 0 {
		return usageError("Use: afterimage serve")
	}
	c, err := loadConfig(p)
	if err != nil {
		return err
	}
	// Before the database is opened, and perhaps migrated under another process.
	unlock, err := lockFolder(c.DataDir)
	if err != nil {
		return err
	}
	defer unlock()
	log := newLogger(c, p)
	// The standard library tells it, beside errors, the bytes of strange
	// answers: they may be anything.
	stdlog.SetOutput(io.Discard)
	db, err := openDatabase(ctx, c)
	if err != nil {
		return err
	}
	defer db.Close()
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w (AFTERIMAGE_LISTEN)", c.Listen, err)
	}
	defer listener.Close()
	if !c.BaseURLSet {
		c.BaseURL = BaseURLFor(listener.Addr().String())
	}
	a, err := newApp(ctx, c, db, c.BaseURL, log)
	if err != nil {
		return err
	}
	if err := a.setUp(ctx, p); err != nil {
		return err
	}
	return a.run(ctx, listener)
}

// setUp makes sure that there is an administrator, or a way to make one.
func (a *app) setUp(ctx context.Context, p program) error {
	needed, err := a.db.NeedsSetup(ctx)
	if err != nil || !needed {
		return err
	}
	if a.config.AdminUsername != "" {
		return a.createAdmin(ctx)
	}
	token, err := a.db.NewSetupToken(ctx)
	if err != nil {
		return err
	}
	printSetupLink(p, a.config.BaseURL, token)
	return nil
}

func (a *app) createAdmin(ctx context.Context) error {
	_, err := a.db.CreateUser(ctx, a.config.AdminUsername, a.config.AdminPassword, records.Admin)
	if errors.Is(err, records.ErrUsernameTaken) { // perhaps another instance was faster
		needed, neededErr := a.db.NeedsSetup(ctx)
		if neededErr != nil || !needed {
			return neededErr
		}
	}
	if err != nil {
		return fmt.Errorf("AFTERIMAGE_ADMIN_USERNAME: %w", err)
	}
	return nil
}

func printSetupLink(p program, baseURL, token string) {
	fmt.Fprintf(p.out, "Open %s/setup?token=%s to create the administrator (valid 30 min, once)\n", baseURL, token)
}

// run starts the worker, answers requests until the context ends, and then
// stops everything in order.
func (a *app) run(ctx context.Context, listener net.Listener) error {
	rescued, err := a.db.StartInstance(ctx, a.worker.Instance())
	if err != nil {
		return err
	}
	if rescued > 0 {
		a.log.Warn("work of a process that ended was taken up again", "jobs", rescued)
	}
	if err := a.schedule(ctx); err != nil {
		return err
	}
	alive, stopAlive := context.WithCancel(context.WithoutCancel(ctx))
	var upkeep sync.WaitGroup
	upkeep.Go(func() { a.db.Listen(alive, a.log) })
	upkeep.Go(func() { a.cleanSpool(alive) })
	upkeep.Go(func() { a.server.Sample(alive) })
	upkeep.Go(a.checkStore)
	a.worker.Start()

	server := &nethttp.Server{
		Handler:           a.server,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
	server.RegisterOnShutdown(a.server.Drain)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	systemd := findSupervisor(os.Getenv)
	if err := systemd.tell("READY=1"); err != nil {
		a.log.Warn("systemd could not be told that we are ready", "err", err)
	}
	// Whether we answer, and not whether the database does: to start us again
	// would not mend that.
	live := BaseURLFor(listener.Addr().String()) + "/livez"
	upkeep.Go(func() {
		systemd.keepTelling(alive, func(ctx context.Context) error { return ask(ctx, live, io.Discard) })
	})
	a.log.Info("afterimage is ready", "url", a.config.BaseURL, "store", a.store.String(), "slots", a.config.Archive.Concurrency)

	select {
	case <-ctx.Done():
	case err = <-served:
	}
	a.log.Info("stopping")
	_ = systemd.tell("STOPPING=1") // it would only wait less patiently
	ctx = context.WithoutCancel(ctx)
	var stopping sync.WaitGroup // side by side, so that all of it fits into what a container is given
	stopping.Go(a.worker.Stop)
	stopping.Go(func() { drain(ctx, server) })
	stopping.Wait()
	a.archiver.Close()
	a.presence.Close()
	stopAlive()
	upkeep.Wait()
	a.signOff(ctx)
	a.fetch.Close()
	a.hooks.Close()
	return err
}

// drain lets open requests finish for a while.
func drain(ctx context.Context, server *nethttp.Server) {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		server.Close()
	}
}

// signOff tells the others that this instance has ended in good order.
func (a *app) signOff(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, signOffTime)
	defer cancel()
	if err := a.db.EndInstance(ctx, a.instance); err != nil {
		a.log.Warn("this instance could not sign off", "err", err)
	}
}

// cleanSpool removes, at start and every hour, what a crash left in the spool
// and nobody needs: another instance may have archived it since.
func (a *app) cleanSpool(ctx context.Context) {
	tick := time.NewTicker(cleanInterval)
	defer tick.Stop()
	for {
		removed, err := a.archiver.CleanSpool(ctx)
		if err != nil && ctx.Err() == nil {
			a.log.Warn("the spool could not be cleaned", "err", err)
		}
		if removed > 0 {
			a.log.Info("the spool was cleaned", "files", removed)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// checkStore finds out whether the store takes images, and says how an S3 server
// proves that it got them.
func (a *app) checkStore() {
	a.archiver.CheckStore()
	_, _, paused := a.archiver.Paused()
	if s3, ok := a.store.(*storage.S3); ok && !paused {
		a.log.Info("the store was checked", "store", s3.String(), "arrivals", s3.Proof())
	}
}

// beat says that this instance lives, and takes over the work of those that
// do not.
func (a *app) beat(ctx context.Context) error {
	rescued, err := a.presence.Beat(ctx)
	if rescued > 0 {
		a.log.Warn("work of an instance that ended was taken over", "jobs", rescued)
	}
	if err != nil {
		return err
	}
	return a.db.SyncClock(ctx)
}

func newLogger(c Config, p program) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(p.err, options))
	}
	return slog.New(slog.NewTextHandler(p.err, options))
}
