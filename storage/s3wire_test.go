package storage

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// The SDK's defaults over TLS send an aws-chunked body with a checksum trailer.
// Vendors answer 400 or 501, or refuse the x-amz-checksum headers (buildkit#6969,
// loki#21791, cyberduck#16107); others forbid ACLs (multer-s3#161); non-ASCII
// metadata breaks signatures. So a put carries exactly these headers, also when
// the endpoint came from the environment, where guards have missed it
// (aws-sdk-go-v2#3469).
func TestPutSendsPlainBytesAndTheSignedHash(t *testing.T) {
	for _, variable := range []string{"", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"} {
		t.Run(variable, func(t *testing.T) {
			server := newStub(t, func(*stub) {})
			s := server.store(t, func(c *S3Config) {
				if variable != "" {
					t.Setenv(variable, c.Endpoint)
					c.Endpoint = ""
				}
			})
			noError(t, s.Check(t.Context())) // as at start: from now on the hash is known to be enforced
			o, data := put(t, s, "a/b.png", "picture")
			if got, _ := server.held("/bucket/a/b.png"); string(got) != data {
				t.Errorf("the server holds %q", got)
			}
			r := server.seen(http.MethodPut)[0]
			if r.Header.Get("X-Amz-Content-Sha256") != hex.EncodeToString(o.SHA256[:]) || r.ContentLength != o.Size {
				t.Errorf("hash or length is wrong: %v", r.Header)
			}
			if r.Header.Get("Content-Type") != "image/png" || r.Header.Get("Cache-Control") != immutable {
				t.Errorf("type or caching is wrong: %v", r.Header)
			}
			for name := range r.Header {
				switch name {
				case "Accept-Encoding", "Amz-Sdk-Invocation-Id", "Amz-Sdk-Request", "Authorization", "Cache-Control",
					"Content-Length", "Content-Type", "User-Agent", "X-Amz-Content-Sha256", "X-Amz-Date":
				default:
					t.Errorf("header %s: %s is sent", name, r.Header.Get(name))
				}
			}
		})
	}
}

// Proxies and GCS rewrite Accept-Encoding; where it is signed the answer is
// SignatureDoesNotMatch (aws-sdk-go-v2#1816, litestream#1386).
func TestAcceptEncodingIsNotSigned(t *testing.T) {
	server := newStub(t, func(*stub) {})
	s := server.store(t)
	put(t, s, "a.png", "picture")
	read(t, s, "a.png", 2, 3)
	for _, r := range append(server.seen(http.MethodPut), server.seen(http.MethodGet)...) {
		if strings.Contains(strings.ToLower(r.Header.Get("Authorization")), "accept-encoding") {
			t.Errorf("%s signs it: %s", r.Method, r.Header.Get("Authorization"))
		}
		if r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("%s asks for %q: a compressed range is useless", r.Method, r.Header.Get("Accept-Encoding"))
		}
	}
}

// A body that could not be rewound turned a passing 503 into a lost upload, and
// the SDK's complaint about rewinding hid the server's code (aws-sdk-go-v2#2038,
// #3097).
func TestAPutIsRepeatedWithTheWholeBody(t *testing.T) {
	var tries atomic.Int32
	server := newStub(t, func(s *stub) {
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			if tries.Add(1) > 1 {
				return false
			}
			_, _ = io.CopyN(io.Discard, r.Body, 100_000)
			xmlError(w, http.StatusServiceUnavailable, "SlowDown")
			return true
		}
	})
	data := strings.Repeat("picture", 50_000)
	body := bytes.NewReader(append([]byte("header"), data...))
	_, _ = body.Seek(6, io.SeekStart)
	o := Object{Key: "a.png", ContentType: "image/png", Size: int64(len(data)), SHA256: sha256.Sum256([]byte(data))}
	_, err := server.store(t).Put(t.Context(), o, body)
	noError(t, err)
	if got, _ := server.held("/bucket/a.png"); string(got) != data {
		t.Errorf("the server holds %d bytes of %d", len(got), len(data))
	}

	_, err = answering(t, http.StatusServiceUnavailable, "SlowDown").store(t).Put(t.Context(), object("a.png", "x"), strings.NewReader("x"))
	if e := wantReason(t, err, ReasonUnreachable); e.Code != "SlowDown" || e.Status != 503 {
		t.Errorf("code %q status %d", e.Code, e.Status)
	}
}

// HEAD answers 404 without a body for a missing object and a missing bucket
// alike. Taken for a missing object, a typo in S3_BUCKET looks as if every image
// was lost.
func TestAMissingBucketIsNotAMissingObject(t *testing.T) {
	s := answering(t, http.StatusNotFound, "NoSuchBucket").store(t)
	_, statErr := s.Stat(t.Context(), "a.png")
	_, _, openErr := s.Open(t.Context(), "a.png", 0, -1)
	_, listErr := s.List(t.Context(), "", "", 1)
	for _, err := range []error{statErr, openErr, listErr, s.Delete(t.Context(), "a.png")} {
		if e := wantReason(t, err, ReasonMissing); e.Setting != "S3_BUCKET" || errors.Is(err, ErrNotFound) {
			t.Errorf("%v, want S3_BUCKET named", err)
		}
	}
}
