package storage

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// What stands between us and a real server: it checks signatures and hashes, so
// it shows whether what a proxy does matters.

// Proxies and GCS rewrite Accept-Encoding and add headers of their own; where
// the former is signed the answer is SignatureDoesNotMatch (rclone#6670).
func TestAProxyThatRewritesHeadersIsNoTrouble(t *testing.T) {
	s := behind(t, newBucket(t, serviceEnv(t, "TEST_S3_ENDPOINT"), "", ""), func(r *httputil.ProxyRequest) {
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Accept-Encoding", "gzip, br")
		r.Out.Header.Set("Via", "1.1 proxy")
		r.SetXForwarded()
	})
	put(t, s, "a/b.png", "picture")
	if got, _ := read(t, s, "a/b.png", 1, 3); got != "ict" {
		t.Errorf("read %q", got)
	}
	noError(t, s.Check(t.Context()))
}

// A proxy that changes what is signed, such as the host, breaks every signature
// (minio#15506, #7736). It must not look like a wrong key alone.
func TestAProxyThatChangesTheHostIsSuspected(t *testing.T) {
	s := behind(t, newBucket(t, serviceEnv(t, "TEST_S3_ENDPOINT"), "", ""), func(r *httputil.ProxyRequest) { r.Out.Host = "inside.example" })
	_, err := s.Put(t.Context(), object("a.png", "picture"), strings.NewReader("picture"))
	e := wantReason(t, err, ReasonDenied)
	if e.Code != "SignatureDoesNotMatch" || e.Setting != "S3_SECRET_ACCESS_KEY" || !strings.Contains(err.Error(), "a proxy that changes requests") {
		t.Errorf("%v", err)
	}
}

func TestAProxyThatChangesBytesIsRefused(t *testing.T) {
	direct := newBucket(t, serviceEnv(t, "TEST_S3_ENDPOINT"), "", "")
	put(t, direct, "a.png", "older")
	s := behind(t, direct, func(r *httputil.ProxyRequest) {
		r.Out.Host = r.In.Host
		body, _ := io.ReadAll(r.In.Body)
		r.Out.Body = io.NopCloser(bytes.NewReader(bytes.ToUpper(body)))
	})
	_, err := s.Put(t.Context(), object("a.png", "picture"), strings.NewReader("picture"))
	if e := wantReason(t, err, ReasonError); e.Setting != "S3_ENDPOINT" {
		t.Errorf("names %q: %v", e.Setting, err)
	}
	if got, _ := read(t, direct, "a.png", 0, -1); got != "older" {
		t.Errorf("the older object became %q", got)
	}
}

// versitygw#2414: an upload whose connection breaks in the middle was published,
// half of it. With the signed hash the old object stays.
func TestHalfAnUploadIsNoObject(t *testing.T) {
	direct := newBucket(t, serviceEnv(t, "TEST_S3_ENDPOINT"), "", "")
	older, newer := strings.Repeat("a", 300_000), strings.Repeat("b", 300_000)
	put(t, direct, "kept.bin", older)
	target, err := url.Parse(serviceEnv(t, "TEST_S3_ENDPOINT"))
	noError(t, err)
	s := sameBucket(t, direct, "http://"+cutAfter(t, target.Host, 150_000))
	for _, key := range []string{"kept.bin", "new.bin"} {
		_, err := s.Put(t.Context(), object(key, newer), strings.NewReader(newer))
		wantReason(t, err, ReasonUnreachable)
	}
	if got, _ := read(t, direct, "kept.bin", 0, -1); got != older {
		t.Errorf("the older object became %d bytes of %q", len(got), got[0])
	}
	_, err = direct.Stat(t.Context(), "new.bin")
	wantNotFound(t, err)
}

// behind is the same bucket through a proxy.
func behind(t *testing.T, direct *S3, rewrite func(*httputil.ProxyRequest)) *S3 {
	t.Helper()
	target, err := url.Parse(serviceEnv(t, "TEST_S3_ENDPOINT"))
	noError(t, err)
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		rewrite(r)
	}})
	t.Cleanup(proxy.Close)
	return sameBucket(t, direct, proxy.URL)
}

func sameBucket(t *testing.T, s *S3, endpoint string) *S3 {
	t.Helper()
	again, err := NewS3(t.Context(), S3Config{
		Bucket: s.bucket, Endpoint: endpoint,
		AccessKeyID: serviceEnv(t, "TEST_S3_ACCESS_KEY_ID"), SecretAccessKey: serviceEnv(t, "TEST_S3_SECRET_ACCESS_KEY"),
	})
	noError(t, err)
	return again
}

// cutAfter is a way to a server on which each connection breaks after n bytes.
func cutAfter(t *testing.T, server string, n int64) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer in.Close()
				out, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", server)
				if err != nil {
					return
				}
				defer out.Close()
				go func() { _, _ = io.Copy(in, out) }()
				_, _ = io.CopyN(out, in, n)
			}()
		}
	}()
	return l.Addr().String()
}
