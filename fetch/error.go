package fetch

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// The reasons that an Error can have. They are stable: pages and the API show them.
const (
	Expired     = "source_expired"     // the link's time is over
	Missing     = "source_missing"     // the source no longer has the image
	Slow        = "source_slow"        // it took too long to send
	Unreachable = "source_unreachable" // DNS, connect, TLS, a connection that broke
	Odd         = "source_error"       // an error status or an answer that makes no sense
	TooLarge    = "source_too_large"   // more bytes, pixels, frames or inflated text than allowed
	NotImage    = "source_not_image"   // the bytes are something else
	Corrupt     = "source_corrupt"     // an image, but damaged or cut short
	Blocked     = "source_blocked"     // policy: address, port, scheme, credentials
)

// Error says why a source gave no image. It is safe to log: neither its text nor its fields hold a
// URL's query, credentials, or bytes that are not text.
//
// What is not the source's fault is no Error: a cancelled context comes back as its cause, a failed
// writer as the writer's error, both wrapped.
type Error struct {
	Reason     string        // one of the constants above
	Final      bool          // no retry of the same URL can help
	Status     int           // HTTP status, 0 when there was no answer
	RetryAfter time.Duration // how long the source asks us to wait, 0 when it does not say
	Host       string        // host[:port] that failed, the last one of a redirect chain
	Setting    string        // the setting that would allow it, "" when none would
	Detail     string        // for operators: what was found, and the start of a text answer
	Err        error         // what lies beneath, when its text is safe
}

// Error gives operators one line: where, what, why.
func (e *Error) Error() string {
	var parts []string
	if e.Host != "" {
		parts = append(parts, "fetch "+e.Host)
	}
	parts = append(parts, cmp.Or(e.Reason, Odd))
	if e.Status != 0 {
		parts = append(parts, "status "+strconv.Itoa(e.Status))
	}
	if e.Detail != "" {
		parts = append(parts, e.Detail)
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	if e.Setting != "" {
		parts = append(parts, e.Setting+" can change this")
	}
	return strings.Join(parts, ": ")
}

// Unwrap gives the error beneath.
func (e *Error) Unwrap() error { return e.Err }

// final is an Error that no retry can help.
func final(reason, detail string) *Error {
	return &Error{Reason: reason, Final: true, Detail: detail}
}

// passing is an Error that may be gone at the next try.
func passing(reason, detail string) *Error {
	return &Error{Reason: reason, Detail: detail}
}

// at names the host that the error is about, unless it names one already.
func (e *Error) at(host string) *Error {
	e.Host = cmp.Or(e.Host, host)
	return e
}
