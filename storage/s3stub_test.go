package storage

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// stub is an S3 server that misbehaves as told. It keeps bodies exactly as they
// arrive and enforces the signed hash unless careless is set.
type stub struct {
	*httptest.Server
	caFile    string
	careless  bool
	checksMD5 bool // enforces Content-MD5
	etagMD5   bool // answers the MD5 of what it holds as the ETag
	// alters, if set, changes bodies before the server sees them; nil: it keeps nothing.
	alters func([]byte) []byte
	// before, if set, may answer a request itself, by returning true.
	before    func(w http.ResponseWriter, r *http.Request) bool
	connState func(net.Conn, http.ConnState)

	mu       sync.Mutex
	objects  map[string][]byte // by URL path
	requests []*http.Request   // bodies consumed
}

func newStub(t *testing.T, adapt func(*stub)) *stub {
	t.Helper()
	s := &stub{objects: map[string][]byte{}}
	adapt(s)
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // refused handshakes are meant
	s.Config.ConnState = s.connState
	s.StartTLS()
	t.Cleanup(s.Close)
	s.caFile = filepath.Join(t.TempDir(), "ca.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	noError(t, os.WriteFile(s.caFile, cert, 0o600))
	return s
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	if s.before != nil && s.before(w, r) {
		return
	}
	switch r.Method {
	case http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		if s.alters != nil {
			body = s.alters(body)
		}
		if code := s.refusal(r.Header, body); code != "" {
			xmlError(w, http.StatusBadRequest, code)
			return
		}
		if body != nil {
			s.hold(r.URL.Path, body)
		}
		w.Header().Set("ETag", s.etag(body))
	case http.MethodDelete:
		s.mu.Lock()
		delete(s.objects, r.URL.Path)
		s.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	default:
		body, ok := s.held(r.URL.Path)
		if !ok {
			xmlError(w, http.StatusNotFound, "NoSuchKey")
			return
		}
		w.Header().Set("ETag", s.etag(body))
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(body)))
	}
}

func (s *stub) refusal(h http.Header, body []byte) (code string) {
	hash, sum := sha256.Sum256(body), md5.Sum(body)
	sent := h.Get("Content-Md5")
	switch {
	case !s.careless && h.Get("X-Amz-Content-Sha256") != hex.EncodeToString(hash[:]):
		return "XAmzContentSHA256Mismatch"
	case s.checksMD5 && sent != "" && sent != base64.StdEncoding.EncodeToString(sum[:]):
		return "BadDigest"
	}
	return ""
}

func (s *stub) etag(body []byte) string {
	if sum := md5.Sum(body); s.etagMD5 {
		return fmt.Sprintf(`"%x"`, sum)
	}
	return `"etag"`
}

func (s *stub) hold(path string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[path] = body
}

func (s *stub) held(path string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, ok := s.objects[path]
	return body, ok
}

// seen gives the requests with this method, without those of the probe.
func (s *stub) seen(method string) (found []*http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if r.Method == method && !strings.Contains(r.URL.Path, "/check-") {
			found = append(found, r)
		}
	}
	return found
}

func xmlError(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>words of the server</Message></Error>", code)
}

// store is an S3 store on the stub.
func (s *stub) store(t *testing.T, adapt ...func(*S3Config)) *S3 {
	t.Helper()
	c := S3Config{Bucket: "bucket", Endpoint: s.URL, AccessKeyID: "KEYID", SecretAccessKey: "very-secret", CAFile: s.caFile}
	for _, f := range adapt {
		f(&c)
	}
	store, err := NewS3(t.Context(), c)
	noError(t, err)
	return store
}

// answering is a stub that answers every request alike.
func answering(t *testing.T, status int, code string) *stub {
	return newStub(t, func(s *stub) {
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			_, _ = io.Copy(io.Discard, r.Body)
			xmlError(w, status, code)
			return true
		}
	})
}
