package fetch

import (
	"compress/flate"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"syscall"
)

// networkError sorts what the network or the transport said. answered: the headers had come.
//
// Only errors whose text is known to be ours are kept beneath: some of net/http's quote what the
// server sent.
func networkError(err error, answered bool) *Error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) && answered:
		return passing(Corrupt, "the connection ended before the body did")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return passing(Unreachable, "the connection ended without an answer")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return passing(Corrupt, "the gzip encoding is damaged")
	case errors.Is(err, syscall.ECONNRESET):
		return passing(Unreachable, "the connection was reset")
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return certificateError(e)
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		shown := *e
		shown.Server = "" // the system's, even where another was asked
		return &Error{Reason: Unreachable, Detail: "look up the name", Err: &shown}
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return &Error{Reason: Unreachable, Detail: "connect", Err: e}
	}
	if e, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return passing(Unreachable, e.Msg)
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return passing(Unreachable, plain(err.Error()))
	}
	return passing(Odd, plain(err.Error()))
}

func certificateError(e *tls.CertificateVerificationError) *Error {
	out := &Error{Reason: Unreachable, Detail: "certificate not accepted", Err: e.Err}
	if errors.As(e, new(x509.UnknownAuthorityError)) {
		out.Setting = "IMAGE_ARCHIVE_CA_FILE"
	}
	return out
}
