package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jmoiron/sqlx"
	"golang.org/x/sync/errgroup"

	"afterimage/records"
)

// claimers is how many instances claim at once, each with connections of its
// own.
const claimers = 16

// claimWorld is a database that claims are made on.
type claimWorld struct {
	filler
	sql       *sqlx.DB
	instances []*records.DB
	drop      func()
}

// newClaimWorld makes a database with as many people as claimers. Nothing
// vacuums it but the bench.
func (b *bench) newClaimWorld(ctx context.Context) (*claimWorld, error) {
	db, config, _, drop, err := b.newRecords(ctx, 2)
	if err != nil {
		return nil, err
	}
	w := &claimWorld{instances: []*records.DB{db}}
	w.drop = func() {
		for _, i := range w.instances {
			i.Close()
		}
		if w.sql != nil {
			w.sql.Close()
		}
		drop()
	}
	if err := w.build(ctx, config); err != nil {
		w.drop()
		return nil, err
	}
	return w, nil
}

func (w *claimWorld) build(ctx context.Context, config records.Config) error {
	for n := range claimers {
		u, err := w.instances[0].CreateUser(ctx, "person"+strconv.Itoa(n), records.NewID(), records.Member)
		if err != nil {
			return err
		}
		w.persons = append(w.persons, u.ID)
	}
	for range claimers - 1 {
		db, err := records.Open(ctx, config)
		if err != nil {
			return err
		}
		w.instances = append(w.instances, db)
		if err := db.SyncClock(ctx); err != nil {
			return err
		}
	}
	var err error
	if w.sql, err = connect(config); err != nil {
		return err
	}
	w.db = w.sql
	for _, table := range []string{"jobs", "images", "image_events", "change_heads"} {
		if _, err := w.sql.ExecContext(ctx, `ALTER TABLE `+table+` SET (autovacuum_enabled = off)`); err != nil {
			return err
		}
	}
	return nil
}

// vacuum leaves no dead rows of jobs and fresh statistics of everything.
func (w *claimWorld) vacuum(ctx context.Context) error {
	for _, s := range []string{`VACUUM (ANALYZE) jobs`, `VACUUM (ANALYZE) change_heads`, `ANALYZE`} {
		if _, err := w.sql.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// p99 adds jobs, has the claimers claim one at a time all at once, each for an
// instance, and returns the p99 in ms. The claimed jobs go afterwards, without
// vacuum.
func (w *claimWorld) p99(ctx context.Context, each int) (float64, error) {
	if err := w.ready(ctx, claimers*each, "http://127.0.0.1/%s"); err != nil {
		return 0, err
	}
	took := make([]latencies, claimers)
	group, groupCtx := errgroup.WithContext(ctx)
	for n, db := range w.instances {
		group.Go(func() error {
			for range each {
				started := time.Now()
				_, jobs, err := db.Advance(groupCtx, nil, request(n, 1))
				if err != nil {
					return err
				}
				if len(jobs) != 1 {
					return fmt.Errorf("%d jobs were claimed, and one was there", len(jobs))
				}
				took[n] = append(took[n], time.Since(started))
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	if _, err := w.sql.ExecContext(ctx, `DELETE FROM jobs WHERE state = 'running'`); err != nil {
		return 0, err
	}
	var all latencies
	for _, l := range took {
		all = append(all, l...)
	}
	return all.p(99), nil
}

func request(instance, limit int) records.ClaimRequest {
	return records.ClaimRequest{Kind: records.KindArchive, Limit: limit, InstanceID: "bench" + strconv.Itoa(instance), TTL: 10 * time.Minute, Onward: true}
}

// churnBatch is how many jobs of one instance are claimed and done together
// while the queue is worn.
const churnBatch = 64

// churn has all instances claim and complete that many jobs.
func (w *claimWorld) churn(ctx context.Context, n int) error {
	if err := w.ready(ctx, n, "http://127.0.0.1/%s"); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for k, db := range w.instances {
		group.Go(func() error {
			var done []records.Settlement
			for {
				errs, jobs, err := db.Advance(ctx, done, request(k, churnBatch))
				for _, e := range errs {
					if err == nil {
						err = e
					}
				}
				if err != nil || len(jobs) == 0 {
					return err
				}
				done = done[:0]
				for _, j := range jobs {
					done = append(done, records.Settlement{Job: j, Verdict: records.Complete})
				}
			}
		})
	}
	return group.Wait()
}

// compare measures claims on two databases in turn and adds the line.
func (b *bench) compare(ctx context.Context, what string, reach float64, empty, full *claimWorld, refresh bool) error {
	var base, ours []float64
	for range b.Runs {
		for _, side := range []struct {
			w  *claimWorld
			to *[]float64
			ok bool
		}{{empty, &base, true}, {full, &ours, refresh}} {
			if side.ok {
				if err := side.w.vacuum(ctx); err != nil {
					return err
				}
			}
			p, err := side.w.p99(ctx, b.Claims)
			if err != nil {
				return fmt.Errorf("claim: %w", err)
			}
			*side.to = append(*side.to, p)
		}
	}
	m, n := median(base), median(ours)
	b.table.add(line{what: "claim p99, 16 at once: " + what + " ÷ empty", base: number(m) + " ms", ours: number(n) + " ms",
		figures: []figure{{value: n / m, reach: reach}}})
	return nil
}

// withWorlds gives measure an empty database and one to fill.
func (b *bench) withWorlds(ctx context.Context, measure func(empty, full *claimWorld) error) error {
	empty, err := b.newClaimWorld(ctx)
	if err != nil {
		return err
	}
	defer empty.drop()
	full, err := b.newClaimWorld(ctx)
	if err != nil {
		return err
	}
	defer full.drop()
	return measure(empty, full)
}

// claimHistory is the row of finished images, which a claim must not feel.
func claimHistory(ctx context.Context, b *bench) error {
	return b.withWorlds(ctx, func(empty, full *claimWorld) error {
		for left := b.History; left > 0; left -= 500_000 { // a statement's memory
			if err := full.history(ctx, min(left, 500_000)); err != nil {
				return err
			}
		}
		return b.compare(ctx, fmt.Sprintf("%d finished images", b.History), 1.2, empty, full, true)
	})
}

// claimWaiting is the row of jobs that wait for their retry.
func claimWaiting(ctx context.Context, b *bench) error {
	return b.withWorlds(ctx, func(empty, full *claimWorld) error {
		if err := full.waiting(ctx, b.Waiting); err != nil {
			return err
		}
		return b.compare(ctx, fmt.Sprintf("%d jobs waiting for their retry", b.Waiting), 1.5, empty, full, true)
	})
}

// claimChurn is the rows of a queue that nothing has vacuumed: first when
// nothing forbids it, then while an old snapshot does.
func claimChurn(ctx context.Context, b *bench) error {
	return b.withWorlds(ctx, func(empty, full *claimWorld) error {
		if err := full.churn(ctx, b.Churn); err != nil {
			return err
		}
		if err := b.compare(ctx, fmt.Sprintf("after %d jobs without vacuum", b.Churn), 1.5, empty, full, false); err != nil {
			return err
		}
		if err := full.vacuum(ctx); err != nil {
			return err
		}
		release, err := full.snapshot(ctx)
		if err != nil {
			return err
		}
		defer release()
		if err := full.churn(ctx, b.Churn); err != nil {
			return err
		}
		return b.compare(ctx, fmt.Sprintf("after %d jobs while another transaction holds an old snapshot", b.Churn), 2, empty, full, false)
	})
}

// snapshot begins a transaction that sees the database as it is now, so that
// nothing that goes later can be cleaned up until release.
func (w *claimWorld) snapshot(ctx context.Context) (release func(), err error) {
	tx, err := w.sql.BeginTxx(ctx, nil)
	if err != nil {
		return nil, err
	}
	if _, err := tx.ExecContext(ctx, `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`); err != nil {
		tx.Rollback()
		return nil, err
	}
	var n int
	if err := tx.GetContext(ctx, &n, `SELECT count(*) FROM jobs`); err != nil {
		tx.Rollback()
		return nil, err
	}
	return func() { tx.Rollback() }, nil
}
