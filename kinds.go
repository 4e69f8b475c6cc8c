package main

import (
	"context"
	"slices"
	"time"

	"afterimage/archive"
	"afterimage/jobs"
	"afterimage/notify"
	"afterimage/records"
)

// kinds is the table of every kind of job: its name, what does it, how many at
// a time, how often it is tried and how long it waits before it is tried again.
// Where nothing is said a task is tried five times, 30 s · 2^n apart.
func (a *app) kinds() []jobs.Kind {
	due, n := a.dueLimits(), a.notifier
	later := []jobs.Kind{
		{Name: records.KindWebhook, Slots: 8, Attempts: notify.Attempts, Backoff: notify.Backoff, Timeout: 2 * notify.Timeout, Do: n.Deliver},
		{Name: records.KindImportFinish, Slots: 1, Do: n.FinishImport},
		{Name: records.KindDigest, Slots: 1, Do: n.Digest},
		{Name: records.KindUsageDaily, Slots: 1, Timeout: time.Hour, Do: n.RollUpUsage},

		{Name: records.KindGenerationTimeout, Slots: 1, Do: a.runner.TimedOut},
		{Name: records.KindUnknownSettle, Slots: 1, Run: a.runner.SettleUnknown},

		{Name: records.KindWatch, Slots: 1, Timeout: time.Minute, Do: a.watch, Failed: a.watchFailed},
		{Name: records.KindTrashPurge, Slots: 1, Do: func(ctx context.Context, j records.Job) error {
			return a.archiver.PurgeTrash(ctx, j, due.Trash)
		}},
		{Name: records.KindConservation, Slots: 1, Timeout: 12 * time.Hour, Do: a.archiver.ConserveDaily},
		{Name: records.KindVerify, Slots: 1, Timeout: 12 * time.Hour, Do: a.archiver.VerifyDaily},
		{Name: records.KindCleanup, Slots: 1, Timeout: time.Hour, Do: a.archiver.Cleanup},
	}
	for i := range later {
		if d, ok := daily(later[i].Name); ok {
			later[i].Do = a.ahead(d, later[i].Do)
		}
	}
	return slices.Concat(a.archiver.Kinds(), a.runner.Kinds(), later)
}

// dailies are the jobs of each day, in UTC.
var dailies = []jobs.Daily{
	{Kind: records.KindUsageDaily, Hour: 0, Minute: 10},
	{Kind: records.KindConservation, Hour: 1, Minute: 0},
	{Kind: records.KindCleanup, Hour: 2, Minute: 0},
	{Kind: records.KindVerify, Hour: 3, Minute: 0},
}

func daily(kind string) (jobs.Daily, bool) {
	i := slices.IndexFunc(dailies, func(d jobs.Daily) bool { return d.Kind == kind })
	if i < 0 {
		return jobs.Daily{}, false
	}
	return dailies[i], true
}

// ahead schedules the next job of a daily kind before this one is done, which
// may fail.
func (a *app) ahead(d jobs.Daily, do jobs.Task) jobs.Task {
	return func(ctx context.Context, job records.Job) error {
		if err := jobs.Ensure(ctx, a.db, d); err != nil {
			return err
		}
		return do(ctx, job)
	}
}

// schedule makes sure that everything is scheduled that goes on for ever. It is
// called at start, and again each minute: a clock may have been set.
func (a *app) schedule(ctx context.Context) error {
	if err := a.db.EnsureOne(ctx, records.KindWatch); err != nil {
		return err
	}
	return a.ensureDailies(ctx)
}

func (a *app) ensureDailies(ctx context.Context) error {
	digests, err := a.notifier.Dailies(ctx)
	if err != nil {
		return err
	}
	return jobs.Ensure(ctx, a.db, slices.Concat(dailies, digests)...)
}

// dueLimits are after what time a state is acted on. A generation's own
// provider may have a longer limit; its job knows.
func (a *app) dueLimits() records.DueLimits {
	return records.DueLimits{Generating: 15 * time.Minute, Unknown: 24 * time.Hour, Trash: a.config.TrashRetention}
}

// watch is the one job that runs each minute, on one instance.
func (a *app) watch(ctx context.Context, _ records.Job) error {
	if err := a.ensureDailies(ctx); err != nil {
		a.log.Error("daily jobs could not be scheduled", "err", err)
	}
	return a.archiver.Watch(ctx, a.dueLimits())
}

// watchFailed keeps the watch going after a panic: nobody else would begin it
// again.
func (a *app) watchFailed(_ context.Context, _ records.Job, err error) records.Settlement {
	return records.Settlement{Verdict: records.Defer, RunAt: a.db.Now().Add(archive.WatchEvery), Error: err.Error()}
}
