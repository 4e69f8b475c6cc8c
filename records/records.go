// Package records owns the domain's types and every SQL statement. It is the
// only place that knows PostgreSQL from SQLite; it does not know HTTP,
// providers, storage or who runs a job.
//
// Every statement about a person's things names the person. Every change of
// an image raises its owner's change number in the same transaction (history.go),
// and every job is written in the transaction that makes it necessary.
package records

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// ErrNotFound says that there is no such row, or that it is somebody else's.
var ErrNotFound = errors.New("not found")

// DB is the database. Its methods may be called by many goroutines.
type DB struct {
	sqlx     *sqlx.DB
	postgres bool
	url      string        // of PostgreSQL
	sessions atomic.Int32  // see Listen
	writer   chan struct{} // SQLite has one writer: waiting here is fair, waiting in SQLite is not
	quota    Quota
	offset   atomic.Int64 // nanoseconds that the database's clock is ahead of ours

	marks     marks
	heads     heads
	announcer *announcer
	onJobs    func(kind string)
	onChange  func(userID string)
}

// Config says where the database is.
type Config struct {
	URL      string // postgres://…; empty: SQLite
	Path     string // the SQLite file
	MaxConns int    // connections to PostgreSQL; 0 means 16
	Quota    Quota  // of each person who has none of their own; default: no bounds
}

// Open connects, without migrating.
func Open(ctx context.Context, c Config) (*DB, error) {
	db := &DB{
		postgres:  c.URL != "",
		quota:     c.Quota,
		writer:    make(chan struct{}, 1),
		announcer: newAnnouncer(),
		onJobs:    func(string) {},
		onChange:  func(string) {},
	}
	var err error
	if db.postgres {
		db.url, err = postgresURL(c.URL)
		if err == nil {
			db.sqlx, err = openPostgres(db.url, c.MaxConns)
		}
	} else {
		db.sqlx, err = openSQLite(c.Path)
	}
	if err != nil {
		return nil, err
	}
	if err := db.sqlx.PingContext(ctx); err != nil {
		db.sqlx.Close()
		return nil, fmt.Errorf("open the database: %w (check DATABASE_URL or AFTERIMAGE_DATA_DIR)", err)
	}
	return db, nil
}

// postgresURL is the URL that we connect with.
func postgresURL(given string) (string, error) {
	u, err := url.Parse(given)
	if err != nil {
		return "", errors.New("open the database: DATABASE_URL is not a URL") // err would show the password
	}
	q := u.Query()
	// Without it lib/pq prepares each statement, and a pooler in transaction
	// mode hands the prepared statement to another session.
	q.Set("binary_parameters", "yes")
	u.RawQuery = q.Encode()
	return u.String(), nil
}

func openPostgres(url string, conns int) (*sqlx.DB, error) {
	connector, err := pq.NewConnector(url)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	db := sqlx.NewDb(sql.OpenDB(impatient{connector}), "postgres")
	conns = cmp.Or(conns, 16)
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// impatient has PostgreSQL end our session when a transaction waits for us for
// 10 s. A process that was frozen, or cut off, in the middle of one would else
// keep its rows locked for as long as it is, and nobody could take over its
// work. It is no startup parameter, since poolers refuse those.
type impatient struct{ *pq.Connector }

func (c impatient) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	_, err = conn.(driver.ExecerContext).ExecContext(ctx, `SET idle_in_transaction_session_timeout = '10s'`, nil)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func openSQLite(path string) (*sqlx.DB, error) {
	dsn := url.URL{Scheme: "file", Opaque: strings.NewReplacer("?", "%3f", "#", "%23", "%", "%25").Replace(path)}
	// In the DSN, since a PRAGMA run on the pool would reach one connection.
	dsn.RawQuery = "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
		"&_pragma=foreign_keys(1)&_txlock=immediate"
	// Before SQLite makes it, with its other files after it, for all to read.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w (AFTERIMAGE_DATA_DIR)", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	db, err := sqlx.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(8)
	return db, nil
}

// Close closes all connections.
func (db *DB) Close() error { return db.sqlx.Close() }

// Ping reports whether the database answers.
func (db *DB) Ping(ctx context.Context) error { return db.sqlx.PingContext(ctx) }

// Postgres reports whether this is PostgreSQL.
func (db *DB) Postgres() bool { return db.postgres }

// OnJobs sets what is called after a commit that made jobs of a kind due. It
// must not block. Call it before the database is used.
func (db *DB) OnJobs(fn func(kind string)) { db.onJobs = fn }

// OnChange sets what is called after a commit that changed images of a
// person, here or in another instance that Listen heard of. An empty id means
// that anybody's may have changed. It must not block. Call it before the
// database is used.
func (db *DB) OnChange(fn func(userID string)) { db.onChange = fn }

// Now is the present moment by the database's clock, the one clock that all
// instances share.
func (db *DB) Now() Time { return At(time.Now().Add(time.Duration(db.offset.Load()))) }

// slowAnswer is how long the database's clock may take to be read before the
// answer says too little.
const slowAnswer = time.Second

// SyncClock measures how far the database's clock is ahead of ours. SQLite
// runs in our process and has our clock.
func (db *DB) SyncClock(ctx context.Context) error {
	if !db.postgres {
		return nil
	}
	asked := time.Now()
	var theirs Time
	if err := db.sqlx.GetContext(ctx, &theirs, `SELECT clock_timestamp()`); err != nil {
		return fmt.Errorf("read the database's clock: %w", err)
	}
	took := time.Since(asked)
	if took > slowAnswer && db.offset.Load() != 0 {
		return nil // it does not say when it was read: the last sample is better
	}
	db.offset.Store(int64(theirs.Sub(asked.Add(took / 2))))
	return nil
}

// get reads one row outside a transaction; no row is ErrNotFound.
func (db *DB) get(ctx context.Context, dest any, query string, args ...any) error {
	return notFound(db.sqlx.GetContext(ctx, dest, db.sqlx.Rebind(query), args...))
}

// all reads rows outside a transaction.
func (db *DB) all(ctx context.Context, dest any, query string, args ...any) error {
	return db.sqlx.SelectContext(ctx, dest, db.sqlx.Rebind(query), args...)
}

func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}
