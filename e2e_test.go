package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"image/png"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"afterimage/records"
	"afterimage/records/recordstest"
)

// service is a variable that make test sets. Without it the test is skipped,
// but in CI it fails.
func service(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not set: make test starts the service and sets it", name)
		}
		t.Skipf("left out: %s is not set (make test does)", name)
	}
	return value
}

// bucket makes a bucket and returns the settings that lead to it.
func bucket(t *testing.T, endpointName string) []string {
	t.Helper()
	endpoint := service(t, endpointName)
	key, secret := service(t, "TEST_S3_ACCESS_KEY_ID"), service(t, "TEST_S3_SECRET_ACCESS_KEY")
	if strings.HasPrefix(endpoint, "https:") {
		t.Setenv("AWS_CA_BUNDLE", service(t, "TEST_S3_CA_FILE"))
	}
	t.Setenv("AWS_ACCESS_KEY_ID", key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv("AWS_REGION", "us-east-1")
	c, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	name := "e2e-" + records.NewID()
	client := s3.NewFromConfig(c, func(o *s3.Options) { o.BaseEndpoint, o.UsePathStyle = &endpoint, true })
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(name)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { emptyBucket(t, client, name) })
	return []string{"S3_BUCKET=" + name, "S3_ENDPOINT=" + endpoint, "S3_ACCESS_KEY_ID=" + key, "S3_SECRET_ACCESS_KEY=" + secret}
}

func emptyBucket(t *testing.T, client *s3.Client, name string) {
	ctx := context.Background()
	list, err := client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &name})
	if err != nil {
		t.Log(err)
		return
	}
	for _, o := range list.Contents {
		client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &name, Key: o.Key})
	}
	client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &name})
}

// TestProgram is what a program does with us, on every pair of database and
// store: make images, follow the history until they are kept, get the bytes;
// import images from elsewhere.
func TestProgram(t *testing.T) {
	databases := map[string]func(*testing.T) []string{
		"sqlite":   func(*testing.T) []string { return nil },
		"postgres": func(t *testing.T) []string { return []string{"DATABASE_URL=" + recordstest.Postgres(t).URL} },
	}
	stores := map[string]func(*testing.T) []string{
		"disk":     func(*testing.T) []string { return nil },
		"s3":       func(t *testing.T) []string { return bucket(t, "TEST_S3_ENDPOINT") },
		"s3-https": func(t *testing.T) []string { return bucket(t, "TEST_S3_ENDPOINT_TLS") },
	}
	for database, databaseEnv := range databases {
		for store, storeEnv := range stores {
			t.Run(database+"-"+store, func(t *testing.T) {
				dir := t.TempDir()
				env := slices.Concat(testEnviron(dir), databaseEnv(t), storeEnv(t))
				source := newSource(t)
				c := start(t, append(env, source.allowed()...)).client()
				c.makeImages(3)
				c.importImages(source)
				if left := spooled(t, dir); len(left) > 0 {
					t.Errorf("the spool still has %v", left)
				}
				if code := c.stop(); code != exitDone {
					t.Errorf("exit code %d after a stop in good order", code)
				}
				if log := c.out.String(); strings.Contains(log, "level=ERROR") || strings.Contains(log, source.secret) {
					t.Errorf("the log has an error or a secret:\n%s", log)
				}
			})
		}
	}
}

func (c *client) makeImages(n int) {
	c.t.Helper()
	var made struct{ Images []image }
	c.call("POST", "/api/v1/generations", map[string]any{"prompt": "A lighthouse in fog", "n": n, "size": "320x200", "seed": 7}, 202, &made)
	if len(made.Images) != n {
		c.t.Fatalf("%d images for n = %d", len(made.Images), n)
	}
	hashes := map[string]bool{}
	for id, i := range c.follow(ids(made.Images)) {
		content := c.checkKept(i)
		picture, err := png.Decode(bytes.NewReader(content))
		if err != nil || picture.Bounds().Dx() != 320 || picture.Bounds().Dy() != 200 {
			c.t.Errorf("image %s is no 320x200 PNG: %v", id, err)
		}
		if !bytes.Contains(content, []byte("A lighthouse in fog")) {
			c.t.Errorf("image %s does not have its prompt in it", id)
		}
		hashes[i.SHA256] = true
	}
	if len(hashes) != n {
		c.t.Errorf("%d different images of %d", len(hashes), n)
	}
	for n := range made.Images { // the address was final from the first answer
		var now image
		c.call("GET", "/api/v1/images/"+made.Images[n].ID, nil, 200, &now)
		if now.URL != made.Images[n].URL {
			c.t.Errorf("the address was %s and is %s", made.Images[n].URL, now.URL)
		}
	}
}

func (c *client) importImages(source *source) {
	c.t.Helper()
	var made struct{ Items []image }
	items := []map[string]any{
		{"url": source.url("/good.png"), "prompt": "good"},
		{"url": source.url("/page.html"), "prompt": "a page"},
		{"url": "http://169.254.169.254/latest/meta-data", "prompt": "inside"},
		{"url": source.url("/good.png?again"), "prompt": "good, too"},
	}
	c.call("POST", "/api/v1/images/import", map[string]any{"items": items}, 202, &made)
	if len(made.Items) != len(items) {
		c.t.Fatalf("%d images for %d items", len(made.Items), len(items))
	}
	found := c.follow(ids(made.Items))
	for n, want := range []struct{ status, reason string }{
		{"archived", ""}, {"archive_failed", "source_not_image"}, {"archive_failed", "source_blocked"}, {"archived", ""},
	} {
		i := found[made.Items[n].ID]
		if i.Status != want.status || i.Archive.Reason != want.reason || i.Prompt != items[n]["prompt"] {
			c.t.Errorf("item %d: %s %s %q, want %s %s", n, i.Status, i.Archive.Reason, i.Prompt, want.status, want.reason)
		}
		if i.Status == "archived" {
			c.checkKept(i)
		}
	}
}

// checkKept gets an archived image by its permanent URL and compares it with
// what the API says of it.
func (c *client) checkKept(i image) []byte {
	c.t.Helper()
	if i.Status != "archived" {
		c.t.Fatalf("image %s is %s (%s)\n%s", i.ID, i.Status, i.Archive.Reason, c.out)
	}
	content := c.bytes(i.URL)
	if sum := fmt.Sprintf("%x", sha256.Sum256(content)); sum != i.SHA256 || int64(len(content)) != i.Bytes {
		c.t.Errorf("image %s: %d bytes %s, the API says %d bytes %s", i.ID, len(content), sum, i.Bytes, i.SHA256)
	}
	return content
}

func ids(images []image) []string {
	var list []string
	for _, i := range images {
		list = append(list, i.ID)
	}
	return list
}

// source is a server with images to import, behind a signed query that must
// not be seen anywhere.
type source struct {
	*httptest.Server
	secret string
	gets   atomic.Int32
	slow   chan struct{} // closed: answers are given; nil: at once
}

func newSource(t *testing.T) *source {
	t.Helper()
	s := &source{secret: "S1GNATURE" + records.NewID()}
	picture := smallPNG(t)
	s.Server = httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		s.gets.Add(1)
		if s.slow != nil {
			select {
			case <-s.slow:
			case <-r.Context().Done():
				return
			}
		}
		if strings.HasSuffix(r.URL.Path, ".html") {
			w.Write([]byte("<html>not here</html>"))
			return
		}
		w.Write(picture)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *source) url(path string) string {
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	return s.URL + path + sep + "X-Amz-Signature=" + s.secret
}

// allowed are the settings that let a source on loopback through.
func (s *source) allowed() []string {
	return []string{"IMAGE_ARCHIVE_ALLOW=" + s.Listener.Addr().(*net.TCPAddr).AddrPort().String()}
}
