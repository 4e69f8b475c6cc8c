// Package storage owns the bytes that are kept: the Store contract, its two
// implementations (Disk and S3), and the Spool, where bytes wait that are
// secured on this machine but not stored yet.
//
// It does not know what an image is, who owns one, or what is queued. It gives
// no verdict on retries: it says what went wrong (Error) and whether the same
// object can ever be stored, and its callers decide.
package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// ErrNotFound is what errors.Is finds when the store is fine and has no such object.
var ErrNotFound = errors.New("no such object")

// ErrRange is what errors.Is finds when a read starts at or beyond the object's end.
var ErrRange = errors.New("range outside the object")

// Object describes bytes to be stored.
type Object struct {
	Key         string // see ValidKey
	ContentType string // sent exactly as given; never text that a user typed
	Size        int64  // bytes
	SHA256      [32]byte
}

// Info is what a store says of an object it holds.
type Info struct {
	Key         string
	Size        int64     // of the whole object in bytes, also when a part was opened
	ETag        string    // without quotes; opaque: how it is made is the store's affair
	ContentType string    // empty in what List returns
	ModTime     time.Time // zero in what Put returns, where the store does not say
}

// Store keeps objects. Any number of goroutines may use one at once. Failures
// of the store are *Error; a cancelled context is context.Canceled and a body
// that cannot be read is the body's own error, since neither tells anything
// about the store.
type Store interface {
	// Put stores body, which begins at o.Size bytes before its end, under o.Key.
	// The object is whole or absent: a reader never sees a part, and a failed Put
	// leaves an older object as it was or removes it. A repeat overwrites.
	// Success means that the bytes were proven to be there. A body that is not
	// what o declares is refused with Reason "checksum_mismatch".
	// The caller must keep body open until Put returns, and no longer.
	Put(ctx context.Context, o Object, body io.ReadSeeker) (Info, error)

	// Open reads length bytes from offset; length < 0, or one beyond the end,
	// reads to the end. ErrNotFound, ErrRange.
	Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, Info, error)

	// Stat is ErrNotFound only when the store is reachable and has no such object.
	Stat(ctx context.Context, key string) (Info, error)

	// Delete removes the object for ever. One that is not there is no error.
	Delete(ctx context.Context, key string) error

	// List returns up to limit objects (1,000 when limit is 0 or less) whose keys
	// begin with prefix and come after the key after, in ascending byte order.
	// Fewer than limit means that there are no more. Strangers' objects, whose
	// keys no other method takes, are listed too.
	List(ctx context.Context, prefix, after string, limit int) ([]Info, error)

	// Check proves the settings: it writes, reads back and deletes a small object
	// of its own. Safe to call at any time and from several instances.
	Check(ctx context.Context) error

	// String says where the store is, for people: no secrets.
	String() string
}

const (
	maxKey     = 900 // S3 allows 1,024 including the prefix
	maxSegment = 200 // file systems allow 255
	listLimit  = 1000

	// immutable is sent with every object: keys are made from ids and never get
	// other bytes, so whoever serves the bucket may cache them for good.
	immutable = "public, max-age=31536000, immutable"
)

// ValidKey tells whether every store takes the key: segments of [a-z0-9._-]
// joined by single slashes, none beginning with a dot, at most 900 bytes, 200
// in a segment. Servers disagree about everything else. A key must not also be
// the folder of another one: file systems cannot hold both.
func ValidKey(key string) bool {
	if len(key) > maxKey {
		return false
	}
	for segment := range strings.SplitSeq(key, "/") {
		if !validSegment(segment) {
			return false
		}
	}
	return true
}

func validSegment(s string) bool {
	if s == "" || len(s) > maxSegment || s[0] == '.' {
		return false
	}
	for _, c := range []byte(s) {
		lower, digit := 'a' <= c && c <= 'z', '0' <= c && c <= '9'
		if !lower && !digit && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func checkKey(op, key string) error {
	if ValidKey(key) {
		return nil
	}
	return &Error{Reason: ReasonError, Final: true, Op: op, Key: key, Err: errors.New("keys are a-z 0-9 . _ - and single slashes")}
}

// checkObject refuses what can be seen to be wrong without reading the body.
func checkObject(op string, o Object, body io.Seeker) error {
	if err := checkKey(op, o.Key); err != nil {
		return err
	}
	start, err := body.Seek(0, io.SeekCurrent)
	if err != nil {
		return fmt.Errorf("%s %s: read body: %w", op, o.Key, err)
	}
	end, err := body.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("%s %s: read body: %w", op, o.Key, err)
	}
	if end-start != o.Size {
		return mismatch(op, o.Key, fmt.Errorf("body has %d bytes, %d were declared", end-start, o.Size))
	}
	if _, err := body.Seek(start, io.SeekStart); err != nil {
		return fmt.Errorf("%s %s: read body: %w", op, o.Key, err)
	}
	return nil
}

func notFound(op, key string) error {
	return fmt.Errorf("%s %s: %w", op, key, ErrNotFound)
}

func outOfRange(op, key string) error {
	return fmt.Errorf("%s %s: %w", op, key, ErrRange)
}
