package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// What an Error's Reason can be. These strings are part of the public API.
const (
	ReasonDenied      = "store_denied"      // refused: keys, signature, permissions
	ReasonMissing     = "store_missing"     // the bucket or the folder is not there
	ReasonFull        = "store_full"        // no space, or a quota is used up
	ReasonUnreachable = "store_unreachable" // no answer, too slow, or "not now"
	ReasonError       = "store_error"       // anything else
	ReasonMismatch    = "checksum_mismatch" // the caller's bytes are not the declared ones; the store is fine
)

// Error is a failure of a store or of the spool. Its text is for operators: it
// names the setting to change and never holds a secret or a query string.
type Error struct {
	Reason  string
	Final   bool   // this object can never be stored: too large, or its key is refused
	Setting string // the variable to look at, or empty
	Op, Key string // "put object", and the key, if the failure is about one
	Status  int    // HTTP status, or 0
	Code    string // the server's own error code, or empty
	Err     error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Key != "" {
		b.WriteString(" " + e.Key)
	}
	b.WriteString(": ")
	if e.Status != 0 {
		fmt.Fprintf(&b, "the store answered %d %s: ", e.Status, e.Code)
	}
	b.WriteString(e.Err.Error())
	if e.Setting != "" {
		b.WriteString("; check " + e.Setting)
	}
	return b.String()
}

// Unwrap gives errors.Is and errors.As what the failure was made from.
func (e *Error) Unwrap() error { return e.Err }

func mismatch(op, key string, err error) error {
	return &Error{Reason: ReasonMismatch, Op: op, Key: key, Err: err}
}

var errFull = errors.New("the disk is nearly full")

// diskError sorts what the file system said.
func diskError(op, key string, err error) error {
	e := &Error{Reason: ReasonError, Setting: "AFTERIMAGE_DATA_DIR", Op: op, Key: key, Err: err}
	switch {
	case errors.Is(err, errFull), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Reason = ReasonFull
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e.Reason = ReasonDenied
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ENOTDIR),
		errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.EFBIG):
		e.Final = true
	case errors.Is(err, fs.ErrNotExist):
		e.Reason = ReasonMissing
	}
	return e
}
