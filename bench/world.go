package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/jmoiron/sqlx"
	"golang.org/x/sync/errgroup"

	"afterimage/records"
	"afterimage/storage"
)

// bench is what all rows share.
type bench struct {
	settings
	server string   // URL of a PostgreSQL whose user may make databases
	admin  *sqlx.DB // to it
	s3     storage.S3Config
	store  *storage.S3
	source *sourceProcess
	dir    string // temporary
	table  table
}

// open finds the services that scripts/with-services.sh has started and makes
// a bucket and a source.
func open(ctx context.Context, s settings) (*bench, error) {
	b := &bench{settings: s, server: os.Getenv("TEST_POSTGRES_URL"), s3: storage.S3Config{
		Bucket: "bench-" + records.NewID()[:16], Region: "us-east-1", PathStyle: "true", Endpoint: os.Getenv("TEST_S3_ENDPOINT"),
		AccessKeyID: os.Getenv("TEST_S3_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("TEST_S3_SECRET_ACCESS_KEY"),
	}}
	if b.server == "" || b.s3.Endpoint == "" {
		return nil, errors.New("TEST_POSTGRES_URL or TEST_S3_ENDPOINT is not set: make bench starts the services and sets them")
	}
	var err error
	if b.admin, err = sqlx.Open("postgres", b.server); err != nil {
		return nil, err
	}
	if err := b.makeBucket(ctx); err != nil {
		return nil, err
	}
	if b.store, err = storage.NewS3(ctx, b.s3); err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "afterimage-bench-"); err != nil {
		return nil, err
	}
	b.source, err = startSource(ctx)
	return b, err
}

func (b *bench) close() {
	b.source.stop()
	b.admin.Close()
	os.RemoveAll(b.dir)
}

func (b *bench) makeBucket(ctx context.Context) error {
	client := s3.New(s3.Options{BaseEndpoint: &b.s3.Endpoint, Region: b.s3.Region, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(b.s3.AccessKeyID, b.s3.SecretAccessKey, "")})
	if _, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(b.s3.Bucket)}); err != nil {
		return fmt.Errorf("make a bucket: %w", err)
	}
	return nil
}

// say tells how far it is.
func (b *bench) say(format string, args ...any) { fmt.Fprintf(os.Stderr, "-- "+format+"\n", args...) }

// describe says what the figures were measured on.
func (b *bench) describe(ctx context.Context, out io.Writer) error {
	var version, fsync, commit, buffers string
	for name, to := range map[string]*string{"server_version": &version, "fsync": &fsync, "synchronous_commit": &commit, "shared_buffers": &buffers} {
		if err := b.admin.GetContext(ctx, to, `SHOW `+name); err != nil {
			return fmt.Errorf("ask PostgreSQL for %s: %w", name, err)
		}
	}
	load, _ := os.ReadFile("/proc/loadavg") // only Linux has it
	fmt.Fprintf(out, "%s/%s, %d CPUs (%s), load before %s, %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor(),
		strings.Join(strings.Fields(string(load))[:min(3, len(strings.Fields(string(load))))], " "), runtime.Version())
	fmt.Fprintf(out, "PostgreSQL %s: fsync %s, synchronous_commit %s, shared_buffers %s; pool of max(16, 2 × slots) connections, the peer's too\n",
		version, fsync, commit, buffers)
	fmt.Fprintf(out, "S3 at %s; source on %d loopback addresses; thumbnails %v; median of %d runs, base and product in turn\n\n", b.s3.Endpoint, hosts, b.Thumbs, b.Runs)
	return nil
}

// processor is the name of the CPU, where the system says it.
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for l := range strings.Lines(string(info)) {
		if name, value, found := strings.Cut(l, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// newDatabase makes an empty database and returns its URL.
func (b *bench) newDatabase(ctx context.Context) (address string, drop func(), err error) {
	name := "bench_" + records.NewID()[:20]
	if _, err := b.admin.ExecContext(ctx, `CREATE DATABASE `+name); err != nil {
		return "", nil, fmt.Errorf("make a database: %w", err)
	}
	u, err := url.Parse(b.server)
	if err != nil {
		return "", nil, errors.New("TEST_POSTGRES_URL is not a URL")
	}
	u.Path = "/" + name
	drop = func() {
		b.admin.ExecContext(context.WithoutCancel(ctx), `DROP DATABASE IF EXISTS `+name+` WITH (FORCE)`)
	}
	return u.String(), drop, nil
}

// newRecords makes a database with its schema and one person in it.
func (b *bench) newRecords(ctx context.Context, conns int) (db *records.DB, c records.Config, person string, drop func(), err error) {
	address, dropDatabase, err := b.newDatabase(ctx)
	if err != nil {
		return nil, c, "", nil, err
	}
	c = records.Config{URL: address, MaxConns: conns}
	if db, err = records.Open(ctx, c); err != nil {
		dropDatabase()
		return nil, c, "", nil, err
	}
	drop = func() {
		db.Close()
		dropDatabase()
	}
	err = errors.Join(db.Migrate(ctx), db.SyncClock(ctx))
	if err == nil {
		var u *records.User
		if u, err = db.CreateUser(ctx, "bench", records.NewID(), records.Member); err == nil {
			return db, c, u.ID, drop, nil
		}
	}
	drop()
	return nil, c, "", nil, err
}

// connect opens a database for statements that only a bench makes.
func connect(c records.Config) (*sqlx.DB, error) { return sqlx.Open("postgres", c.URL) }

// emptyBucket deletes all objects, so that rows do not fill the disk.
func (b *bench) emptyBucket(ctx context.Context) error {
	for {
		list, err := b.store.List(ctx, "", "", 1000)
		if err != nil || len(list) == 0 {
			return err
		}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(16)
		for _, o := range list {
			group.Go(func() error { return b.store.Delete(ctx, o.Key) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
}

// newFolder is a data folder.
func (b *bench) newFolder() (string, error) {
	dir := filepath.Join(b.dir, records.NewID())
	return dir, os.MkdirAll(dir, 0o700)
}
