package storage

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// TestStoreContract holds every store to the one contract.
func TestStoreContract(t *testing.T) {
	t.Run("disk", func(t *testing.T) { testContract(t, newDisk(t)) })
	t.Run("s3 over http", func(t *testing.T) {
		testContract(t, newBucket(t, serviceEnv(t, "TEST_S3_ENDPOINT"), "", "some/Prefix"))
	})
	t.Run("s3 over https", func(t *testing.T) {
		testContract(t, newBucket(t, serviceEnv(t, "TEST_S3_ENDPOINT_TLS"), serviceEnv(t, "TEST_S3_CA_FILE"), ""))
	})
}

func testContract(t *testing.T, s Store) {
	for _, row := range []struct {
		name string
		test func(*testing.T, Store)
	}{
		{"what was put comes back", comesBack},
		{"an empty object is an object", emptyObject},
		{"a large object comes back", largeObject},
		{"the body may begin in the middle of a file", bodyInTheMiddle},
		{"a repeat replaces, and readers see one or the other", atomicReplace},
		{"ranges", ranges},
		{"a missing object is ErrNotFound", missing},
		{"deleting twice is fine", deleteTwice},
		{"lists come in pages in key order", listPages},
		{"wrong bytes are refused", wrongBytes},
		{"a body that fails is the body's failure", failingBody},
		{"bad keys are refused for ever", badKeys},
		{"a cancelled call is no failure of the store", cancelled},
		{"check passes and leaves nothing", checkLeavesNothing},
	} {
		t.Run(row.name, func(t *testing.T) { row.test(t, s) })
	}
}

func comesBack(t *testing.T, s Store) {
	o, data := put(t, s, "2026/07/26/ab12.png", "picture")
	info, err := s.Stat(t.Context(), o.Key)
	noError(t, err)
	if info.Key != o.Key || info.Size != 7 || info.ContentType != "image/png" || info.ETag == "" || info.ModTime.IsZero() {
		t.Errorf("Stat = %+v", info)
	}
	if got, opened := read(t, s, o.Key, 0, -1); got != data || opened.ETag != info.ETag || opened.Size != 7 {
		t.Errorf("Open = %q %+v, Stat's ETag is %s", got, opened, info.ETag)
	}
}

func emptyObject(t *testing.T, s Store) {
	put(t, s, "empty.txt", "")
	if got, info := read(t, s, "empty.txt", 0, -1); got != "" || info.Size != 0 {
		t.Errorf("Open = %q, %+v", got, info)
	}
}

func largeObject(t *testing.T, s Store) {
	data := make([]byte, 3<<20)
	_, _ = rand.Read(data)
	put(t, s, "large.bin", string(data))
	if got, _ := read(t, s, "large.bin", 0, -1); got != string(data) {
		t.Errorf("other bytes came back, %d of %d", len(got), len(data))
	}
}

func bodyInTheMiddle(t *testing.T, s Store) {
	body := strings.NewReader("header|picture")
	_, _ = body.Seek(7, io.SeekStart)
	_, err := s.Put(t.Context(), object("middle.png", "picture"), body)
	noError(t, err)
	if got, _ := read(t, s, "middle.png", 0, -1); got != "picture" {
		t.Errorf("Open = %q", got)
	}
}

func atomicReplace(t *testing.T, s Store) {
	older, newer := strings.Repeat("a", 300_000), strings.Repeat("b", 200_000)
	put(t, s, "replaced.bin", older)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				body, _, err := s.Open(t.Context(), "replaced.bin", 0, -1)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(body)
				_ = body.Close()
				if err != nil || string(got) != older && string(got) != newer {
					t.Errorf("read %d bytes of neither object, error %v", len(got), err)
				}
			}
		})
	}
	for range 5 {
		put(t, s, "replaced.bin", newer)
		put(t, s, "replaced.bin", older)
	}
	wg.Wait()
}

func ranges(t *testing.T, s Store) {
	put(t, s, "range.txt", "0123456789")
	for _, row := range []struct {
		name           string
		offset, length int64
		want           string
	}{
		{"the whole", 0, -1, "0123456789"},
		{"the beginning", 0, 3, "012"},
		{"the middle", 4, 2, "45"},
		{"to the end", 7, -1, "789"},
		{"beyond the end", 8, 100, "89"},
		{"nothing", 2, 0, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got, info := read(t, s, "range.txt", row.offset, row.length); got != row.want || info.Size != 10 {
				t.Errorf("Open = %q, %+v; want %q of 10", got, info, row.want)
			}
		})
	}
	for _, offset := range []int64{-1, 10, 99} {
		if _, _, err := s.Open(t.Context(), "range.txt", offset, -1); !errors.Is(err, ErrRange) {
			t.Errorf("Open at %d: %v, want ErrRange", offset, err)
		}
	}
}

func missing(t *testing.T, s Store) {
	_, err := s.Stat(t.Context(), "none/such.png")
	wantNotFound(t, err)
	for _, length := range []int64{-1, 0, 5} {
		_, _, err = s.Open(t.Context(), "none/such.png", 0, length)
		wantNotFound(t, err)
	}
	put(t, s, "folder/file.txt", "x")
	_, err = s.Stat(t.Context(), "folder")
	wantNotFound(t, err)
}

func deleteTwice(t *testing.T, s Store) {
	put(t, s, "gone/soon.txt", "x")
	noError(t, s.Delete(t.Context(), "gone/soon.txt"))
	noError(t, s.Delete(t.Context(), "gone/soon.txt"))
	noError(t, s.Delete(t.Context(), "never/was.txt"))
	_, err := s.Stat(t.Context(), "gone/soon.txt")
	wantNotFound(t, err)
}

func listPages(t *testing.T, s Store) {
	// The order of bytes: "-" and "." come before "/", "0" after it.
	want := []string{"list/a-b", "list/a.b", "list/a/x/1", "list/a/x/2", "list/a0", "list/b/1"}
	for _, i := range []int{3, 0, 5, 1, 4, 2} {
		put(t, s, want[i], "12345")
	}
	put(t, s, "list.txt", "not below list/")
	for limit := range 8 {
		var got []string
		for after := ""; ; after = got[len(got)-1] {
			page, err := s.List(t.Context(), "list/", after, limit)
			noError(t, err)
			for _, info := range page {
				if info.Size != 5 || info.ETag == "" || info.ModTime.IsZero() {
					t.Errorf("List gives %+v", info)
				}
				got = append(got, info.Key)
			}
			if limit == 0 || len(page) < limit {
				break
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("in pages of %d: %v, want %v", limit, got, want)
		}
	}
	if page, err := s.List(t.Context(), "list/a/", "list/a/x/1", 5); err != nil || len(page) != 1 {
		t.Errorf("after the first: %v, %v", page, err)
	}
	if page, err := s.List(t.Context(), "nothing/here", "", 5); err != nil || len(page) != 0 {
		t.Errorf("no match: %v, %v", page, err)
	}
}

func wrongBytes(t *testing.T, s Store) {
	put(t, s, "kept.txt", "older")
	for _, row := range []struct{ name, declared, body string }{
		{"the same size, another hash", "right", "wrong"},
		{"too short", "right", "rig"},
		{"too long", "right", "right and more"},
		{"nothing instead of something", "right", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := s.Put(t.Context(), object("kept.txt", row.declared), strings.NewReader(row.body))
			wantReason(t, err, ReasonMismatch)
			if got, _ := read(t, s, "kept.txt", 0, -1); got != "older" {
				t.Errorf("the older object became %q", got)
			}
			_, err = s.Put(t.Context(), object("never.txt", row.declared), strings.NewReader(row.body))
			wantReason(t, err, ReasonMismatch)
			_, err = s.Stat(t.Context(), "never.txt")
			wantNotFound(t, err)
		})
	}
}

func failingBody(t *testing.T, s Store) {
	bad := errors.New("the spool's disk died")
	_, err := s.Put(t.Context(), object("failing.txt", "right"), brokenBody{strings.NewReader("right"), bad})
	if !errors.Is(err, bad) || errorIs[*Error](err) {
		t.Errorf("Put = %v, want the body's own error", err)
	}
	_, err = s.Stat(t.Context(), "failing.txt")
	wantNotFound(t, err)
}

func badKeys(t *testing.T, s Store) {
	for _, key := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", ".tmp/x", "a/.hidden", `a\b`, "Upper", "a b", "é", "a\x00", "a?b", "a%2fb",
		strings.Repeat("a", 201), strings.Repeat("a/", 450) + "a",
	} {
		_, putErr := s.Put(t.Context(), object(key, "x"), strings.NewReader("x"))
		_, _, openErr := s.Open(t.Context(), key, 0, -1)
		_, statErr := s.Stat(t.Context(), key)
		for _, err := range []error{putErr, openErr, statErr, s.Delete(t.Context(), key)} {
			if e, ok := errors.AsType[*Error](err); !ok || !e.Final {
				t.Errorf("key %q: %v, want a final error", key, err)
			}
		}
	}
}

func cancelled(t *testing.T, s Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, putErr := s.Put(ctx, object("cancelled.txt", "x"), strings.NewReader("x"))
	_, _, openErr := s.Open(ctx, "cancelled.txt", 0, -1)
	_, statErr := s.Stat(ctx, "cancelled.txt")
	_, listErr := s.List(ctx, "", "", 1)
	for _, err := range []error{putErr, openErr, statErr, listErr, s.Delete(ctx, "cancelled.txt")} {
		if !errors.Is(err, context.Canceled) || errorIs[*Error](err) {
			t.Errorf("%v, want context.Canceled alone", err)
		}
	}
}

func checkLeavesNothing(t *testing.T, s Store) {
	noError(t, s.Check(t.Context()))
	if left, err := s.List(t.Context(), "check-", "", 10); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

type brokenBody struct {
	io.ReadSeeker
	err error
}

func (b brokenBody) Read([]byte) (int, error) { return 0, b.err }

func object(key, data string) Object {
	return Object{Key: key, ContentType: contentType(filepath.Ext(key)), Size: int64(len(data)), SHA256: sha256.Sum256([]byte(data))}
}

func put(t *testing.T, s Store, key, data string) (Object, string) {
	t.Helper()
	o := object(key, data)
	info, err := s.Put(t.Context(), o, strings.NewReader(data))
	noError(t, err)
	if info.Key != key || info.Size != o.Size || info.ETag == "" || info.ContentType != o.ContentType {
		t.Errorf("Put = %+v, want what %+v says and an ETag", info, o)
	}
	return o, data
}

func read(t *testing.T, s Store, key string, offset, length int64) (string, Info) {
	t.Helper()
	body, info, err := s.Open(t.Context(), key, offset, length)
	noError(t, err)
	defer body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(body)
	noError(t, err)
	return b.String(), info
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantNotFound(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, ErrNotFound) || errorIs[*Error](err) {
		t.Errorf("error is %v, want ErrNotFound alone", err)
	}
}

func wantReason(t *testing.T, err error, reason string) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Reason != reason {
		t.Fatalf("error is %v, want reason %s", err, reason)
	}
	return e
}

func errorIs[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func newDisk(t *testing.T) *Disk {
	t.Helper()
	d, err := NewDisk(filepath.Join(t.TempDir(), "objects"))
	noError(t, err)
	return d
}

// newBucket makes an S3 store with a new bucket on a real server.
func newBucket(t *testing.T, endpoint, caFile, prefix string) *S3 {
	t.Helper()
	s, err := NewS3(t.Context(), S3Config{
		Bucket:          "test-" + strings.ToLower(rand.Text()),
		Endpoint:        endpoint,
		AccessKeyID:     serviceEnv(t, "TEST_S3_ACCESS_KEY_ID"),
		SecretAccessKey: serviceEnv(t, "TEST_S3_SECRET_ACCESS_KEY"),
		Prefix:          prefix,
		CAFile:          caFile,
	})
	noError(t, err)
	_, err = s.client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(s.bucket)})
	noError(t, err)
	return s
}

// serviceEnv is a variable that the test script sets when it has started the service.
func serviceEnv(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	switch {
	case value != "":
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is not set", name)
	default:
		t.Skipf("%s is not set: the contract on a real S3 server is left out; `make test` starts one", name)
	}
	return value
}
