package storage

import (
	"encoding/pem"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// TestCompat holds S3 servers of other makers to the same contract, over http
// and https. `make compat` starts them.
func TestCompat(t *testing.T) {
	for _, server := range []struct{ name, variable, proof string }{
		{"Ceph RGW", "TEST_COMPAT_RGW", "the server checks the signed SHA-256"},
		{"rclone", "TEST_COMPAT_RCLONE", "the server checks Content-MD5, and its size is read back"},
		{"gofakes3", "TEST_COMPAT_GOFAKES3", "the server checks Content-MD5, and its size is read back"},
	} {
		t.Run(server.name, func(t *testing.T) {
			endpoint := os.Getenv(server.variable)
			if endpoint == "" {
				t.Skipf("%s is not set: %s is left out; `make compat` starts it", server.variable, server.name)
			}
			tls, caFile := behindTLS(t, endpoint)
			for scheme, s := range map[string]*S3{
				"http":  newBucket(t, endpoint, "", "some/Prefix"),
				"https": newBucket(t, tls, caFile, ""),
			} {
				t.Run(scheme, func(t *testing.T) {
					testContract(t, s)
					noError(t, s.Check(t.Context()))
					if got := s.Proof(); got != server.proof {
						t.Errorf("%s, want: %s", got, server.proof)
					}
				})
			}
		})
	}
}

// behindTLS puts TLS in front of a server, as a proxy would.
func behindTLS(t *testing.T, endpoint string) (secure, caFile string) {
	t.Helper()
	target, err := url.Parse(endpoint)
	noError(t, err)
	proxy := httptest.NewTLSServer(&httputil.ReverseProxy{ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}})
	t.Cleanup(proxy.Close)
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw})
	noError(t, os.WriteFile(caFile, cert, 0o600))
	return proxy.URL, caFile
}
