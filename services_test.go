//go:build unix

package main

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	nethttp "net/http"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"afterimage/records"
)

// daemon is a server of a test's own, which it stops and starts again on the
// same port.
type daemon struct {
	t     *testing.T
	args  []string
	env   []string
	user  *syscall.Credential // nil: whoever runs the test
	ready func() error

	cmd   *exec.Cmd
	ended chan struct{}
	log   *output
}

func (d *daemon) start() {
	d.t.Helper()
	d.log = newOutput()
	d.cmd = exec.Command(d.args[0], d.args[1:]...)
	d.cmd.Env, d.cmd.Dir = append(os.Environ(), d.env...), "/"
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: d.user}
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) { cmd.Wait(); close(ended) }(d.cmd, d.ended)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(time.Minute)
	for d.ready() != nil {
		select {
		case <-tick.C:
		case <-d.ended:
			d.t.Fatalf("%s ended:\n%s", d.args[0], d.log)
		case <-timeout:
			d.t.Fatalf("%s is not ready: %v\n%s", d.args[0], d.ready(), d.log)
		}
	}
}

func (d *daemon) stop(signal os.Signal) {
	d.cmd.Process.Signal(signal)
	select {
	case <-d.ended:
	case <-time.After(20 * time.Second):
		d.cmd.Process.Kill()
		<-d.ended
	}
}

// unprivileged is who runs PostgreSQL and PgBouncer, which refuse root. The
// folder becomes theirs.
func unprivileged(t *testing.T, dir string) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		t.Fatal(err)
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	if uidErr != nil || gidErr != nil {
		t.Fatal(uidErr, gidErr)
	}
	// They walk through the test's folder into their own.
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// ownPostgres is a PostgreSQL that the test may stop, and its address.
func ownPostgres(t *testing.T) (*daemon, string) {
	t.Helper()
	bin := service(t, "TEST_POSTGRES_BIN")
	dir := t.TempDir()
	d := &daemon{t: t, user: unprivileged(t, dir)}
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", dir+"/data", "-U", "postgres", "-E", "UTF8", "--locale=C", "-A", "trust", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = "/", &syscall.SysProcAttr{Credential: d.user}
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	port := freePort(t)
	address := "postgres://postgres@127.0.0.1:" + port + "/postgres?sslmode=disable"
	d.args = []string{filepath.Join(bin, "postgres"), "-D", dir + "/data", "-k", "", "-h", "127.0.0.1", "-p", port, "-F", "-c", "max_connections=200"}
	d.ready = func() error { return ping(address) }
	d.start()
	t.Cleanup(func() { d.stop(syscall.SIGQUIT) })
	return d, address
}

func ping(address string) error {
	db, err := sql.Open("postgres", address)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Ping()
}

// ownDatabase is a database of the test's own, whose notifications and locks
// no other test sees, in the server that all tests share.
func ownDatabase(t *testing.T) string {
	t.Helper()
	server := service(t, "TEST_POSTGRES_URL")
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	name := "t" + records.NewID()
	db := openSQL(t, server)
	mustExec(t, db, "CREATE DATABASE "+name)
	t.Cleanup(func() { mustExec(t, db, "DROP DATABASE "+name+" WITH (FORCE)") })
	u.Path = "/" + name
	return u.String()
}

func openSQL(t *testing.T, address string) *sql.DB {
	t.Helper()
	db, err := sql.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func openSQLite(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func mustExec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(context.Background(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// value reads one value.
func value[T any](t *testing.T, db *sql.DB, query string, args ...any) (v T) {
	t.Helper()
	if err := db.QueryRow(query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

// eventually waits until a condition holds.
func eventually(t *testing.T, within time.Duration, what string, holds func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Since(began) > within {
			t.Fatalf("after %v not yet: %s", within, what)
		}
		<-tick.C
	}
	return time.Since(began)
}

// ownPooler is a PgBouncer in transaction mode before a database, and the
// address through it.
func ownPooler(t *testing.T, database string) string {
	t.Helper()
	binary, dir, port := service(t, "TEST_PGBOUNCER"), t.TempDir(), freePort(t)
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	settings := fmt.Sprintf(`[databases]
app = host=127.0.0.1 port=%s dbname=%s user=%s password=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 200
ignore_startup_parameters = extra_float_digits
`, u.Port(), u.Path[1:], u.User.Username(), password, port)
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	address := "postgres://anybody@127.0.0.1:" + port + "/app?sslmode=disable"
	d := &daemon{t: t, user: unprivileged(t, dir), args: []string{binary, file}, ready: func() error { return ping(address) }}
	d.start()
	t.Cleanup(func() { d.stop(os.Interrupt); d.cmd.Process.Kill() })
	return address
}

// gateway is an S3 server that the test may stop, with one bucket.
type gateway struct {
	*daemon
	client *s3.Client
	bucket string
	env    []string // for an afterimage
}

func ownStore(t *testing.T) *gateway {
	t.Helper()
	binary, dir, port, secret := service(t, "TEST_VERSITYGW"), t.TempDir(), freePort(t), records.NewID()
	for _, name := range []string{"/objects", "/meta"} {
		if err := os.Mkdir(dir+name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	endpoint := "http://127.0.0.1:" + port
	g := &gateway{daemon: &daemon{t: t, env: []string{"ROOT_ACCESS_KEY=test", "ROOT_SECRET_KEY=" + secret}}}
	g.args = []string{binary, "--port", "127.0.0.1:" + port, "--health", "/health-" + secret, "--quiet", "--keep-alive",
		"posix", "--sidecar", dir + "/meta", dir + "/objects"}
	g.ready = func() error {
		resp, err := nethttp.Get(endpoint + "/health-" + secret)
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	}
	g.daemon.start()
	t.Cleanup(func() { g.stop(os.Kill) })
	g.connect(endpoint, "test", secret)
	return g
}

// sharedStore is a bucket of the test's own in the S3 server of all tests.
func sharedStore(t *testing.T) *gateway {
	t.Helper()
	g := &gateway{daemon: &daemon{t: t}}
	g.connect(service(t, "TEST_S3_ENDPOINT"), service(t, "TEST_S3_ACCESS_KEY_ID"), service(t, "TEST_S3_SECRET_ACCESS_KEY"))
	t.Cleanup(func() { emptyBucket(t, g.client, g.bucket) })
	return g
}

func (g *gateway) connect(endpoint, key, secret string) {
	g.t.Helper()
	g.bucket = "own-" + records.NewID()
	g.client = s3.New(s3.Options{BaseEndpoint: &endpoint, UsePathStyle: true, Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider(key, secret, "")})
	if _, err := g.client.CreateBucket(g.t.Context(), &s3.CreateBucketInput{Bucket: aws.String(g.bucket)}); err != nil {
		g.t.Fatal(err)
	}
	g.env = []string{"S3_BUCKET=" + g.bucket, "S3_ENDPOINT=" + endpoint, "S3_REGION=us-east-1",
		"S3_ACCESS_KEY_ID=" + key, "S3_SECRET_ACCESS_KEY=" + secret}
}

// objects are the keys of all objects.
func (g *gateway) objects() (keys []string) {
	g.t.Helper()
	pages := s3.NewListObjectsV2Paginator(g.client, &s3.ListObjectsV2Input{Bucket: &g.bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(g.t.Context())
		if err != nil {
			g.t.Fatal(err)
		}
		for _, o := range page.Contents {
			keys = append(keys, *o.Key)
		}
	}
	return keys
}
