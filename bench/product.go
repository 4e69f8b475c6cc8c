package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"afterimage/archive"
	"afterimage/fetch"
	"afterimage/jobs"
	"afterimage/records"
	"afterimage/storage"
)

// productConfig is what a product needs; a child process gets it as JSON.
type productConfig struct {
	Database string
	Dir      string // data folder
	S3       storage.S3Config
	Allow    string
	Slots    int

	Thumbnails bool
}

// product is a configuration without database and folder.
func (b *bench) product(slots int) productConfig {
	return productConfig{S3: b.s3, Allow: b.source.allowed(), Slots: slots, Thumbnails: b.Thumbs}
}

func (c productConfig) newFetch() (*fetch.Client, error) {
	rules, err := fetch.ParseAllow(c.Allow)
	if err != nil {
		return nil, err
	}
	return fetch.New(fetch.Config{Allow: rules})
}

// arrival is an image whose outcome is committed.
type arrival struct {
	image string
	at    time.Time
	err   error // it was not archived
}

// product is the app without its pages: records, worker and archiver, wired as
// in main.
type product struct {
	db       *records.DB
	fetch    *fetch.Client
	archiver *archive.Archiver
	worker   *jobs.Worker
	instance string
	spool    *storage.Spool
	arrived  chan arrival

	log    *slog.Logger
	alive  context.CancelFunc
	upkeep sync.WaitGroup
}

// maxArrivals is how many images one product may archive without anybody
// taking their arrivals.
const maxArrivals = 1 << 18

// newProduct builds it on a database that is migrated; begin starts it.
func newProduct(ctx context.Context, c productConfig) (*product, error) {
	// The log is written as the app does it, and read by nobody.
	p := &product{instance: records.NewID(), arrived: make(chan arrival, maxArrivals), alive: func() {},
		log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	var err error
	if p.db, err = records.Open(ctx, records.Config{URL: c.Database, MaxConns: max(16, 2*c.Slots)}); err != nil {
		return nil, err
	}
	if err := p.db.SyncClock(ctx); err != nil {
		return nil, err
	}
	if p.spool, err = storage.OpenSpool(filepath.Join(c.Dir, "spool")); err != nil {
		return nil, err
	}
	store, err := storage.NewS3(ctx, c.S3)
	if err != nil {
		return nil, err
	}
	if p.fetch, err = c.newFetch(); err != nil {
		return nil, err
	}
	p.archiver = archive.New(archive.Config{DB: p.db, Store: store, Spool: p.spool, Fetch: p.fetch, Slots: c.Slots,
		Thumbnails: c.Thumbnails, Log: p.log})
	p.worker = jobs.New(jobs.Config{DB: p.db, InstanceID: p.instance, SpoolID: p.spool.ID(), Kinds: p.watched(p.archiver.Kinds()), Log: p.log})
	p.db.OnJobs(p.worker.Wake)
	return p, nil
}

// watched notes when the outcome of each image is committed.
func (p *product) watched(kinds []jobs.Kind) []jobs.Kind {
	for n := range kinds {
		after := kinds[n].After
		if kinds[n].Name != records.KindArchive {
			continue
		}
		kinds[n].After = func(ctx context.Context, s records.Settlement, lost bool) {
			a := arrival{at: time.Now()}
			for _, c := range s.Images {
				a.image = c.Image.ID
				if lost || c.Image.Status != records.Archived {
					a.err = fmt.Errorf("image %s is %s: %s", a.image, c.Image.Status, c.Image.Reason)
				}
				p.arrived <- a
			}
			after(ctx, s, lost)
		}
	}
	return kinds
}

// begin registers the instance and starts everything.
func (p *product) begin(ctx context.Context) error {
	if _, err := p.db.StartInstance(ctx, records.Instance{ID: p.instance, SpoolID: p.spool.ID()}); err != nil {
		return err
	}
	ctx, p.alive = context.WithCancel(ctx)
	p.upkeep.Go(func() { p.beat(ctx) })
	p.upkeep.Go(func() { p.db.Listen(ctx, p.log) })
	p.worker.Start()
	return nil
}

func (p *product) beat(ctx context.Context) {
	presence := p.db.NewPresence(records.Instance{ID: p.instance, SpoolID: p.spool.ID()})
	defer presence.Close()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		_, err := presence.Beat(ctx)
		if err := errors.Join(err, p.db.SyncClock(ctx)); err != nil && ctx.Err() == nil {
			p.log.Warn("this instance could not say that it lives", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (p *product) end() {
	p.worker.Stop()
	p.archiver.Close()
	p.alive()
	p.upkeep.Wait()
	p.fetch.Close()
	p.db.Close()
}

// silence is how long nothing may arrive before a measurement is given up.
const silence = time.Minute

// await takes the next n arrivals.
func (p *product) await(ctx context.Context, n int) ([]arrival, error) {
	list := make([]arrival, 0, n)
	quiet := time.NewTimer(silence)
	defer quiet.Stop()
	for len(list) < n {
		select {
		case a := <-p.arrived:
			if a.err != nil {
				return nil, a.err
			}
			list = append(list, a)
			quiet.Reset(silence)
		case <-quiet.C:
			return nil, fmt.Errorf("%d of %d images were archived, and then none for %s", len(list), n, silence)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return list, nil
}

// running is a product on a database of its own, in this process.
type running struct {
	*product
	person string
	config records.Config
	drop   func()
}

// newRunning builds one; begin starts it, close ends it and removes all that
// it made.
func (b *bench) newRunning(ctx context.Context, slots int) (*running, error) {
	db, config, person, drop, err := b.newRecords(ctx, 2)
	if err != nil {
		return nil, err
	}
	db.Close() // the product has its own
	c := b.product(slots)
	c.Database = config.URL
	if c.Dir, err = b.newFolder(); err == nil {
		var p *product
		if p, err = newProduct(ctx, c); err == nil {
			return &running{product: p, person: person, config: config, drop: drop}, nil
		}
	}
	drop()
	return nil, err
}

func (r *running) close() {
	r.end()
	r.drop()
}

// insert imports images, a thousand at a time as the API takes them.
func insert(ctx context.Context, db *records.DB, person string, urls []string) (ids []string, err error) {
	for len(urls) > 0 {
		part := urls[:min(len(urls), 1000)]
		urls = urls[len(part):]
		items := make([]records.ImportItem, len(part))
		for n, u := range part {
			items[n].URL = u
		}
		_, images, err := db.CreateImport(ctx, person, items, records.Idempotency{})
		if err != nil {
			return nil, err
		}
		for _, i := range images {
			ids = append(ids, i.ID)
		}
	}
	return ids, nil
}

// urls are the addresses of n images.
func (b *bench) urls(n, size int) []string {
	list := make([]string, n)
	for k := range list {
		list[k] = b.source.url(k, size)
	}
	return list
}
