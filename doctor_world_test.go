//go:build unix

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// ownNames is a DNS server that has one address for every name.
func ownNames(t *testing.T, address string) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		for b := make([]byte, 1500); ; {
			n, from, err := conn.ReadFrom(b)
			if err != nil {
				return
			}
			if reply := nameReply(b[:n], netip.MustParseAddr(address)); reply != nil {
				conn.WriteTo(reply, from)
			}
		}
	}()
	return conn.LocalAddr().String()
}

// nameReply gives a question back with the address, if it asks for one of IPv4.
func nameReply(question []byte, address netip.Addr) []byte {
	if len(question) < 17 {
		return nil
	}
	name := bytes.IndexByte(question[12:], 0)
	if name < 0 || len(question) < 12+name+5 {
		return nil
	}
	asked := question[12 : 12+name+5]
	reply := append([]byte{question[0], question[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, asked...)
	if binary.BigEndian.Uint16(asked[name+1:]) == 1 {
		reply[7] = 1
		reply = append(append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4), address.AsSlice()...)
	}
	return reply
}

// answers is a server that says one thing.
func answers(t *testing.T, status int, body string) string {
	t.Helper()
	s := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func ownPage(t *testing.T) string { return answers(t, 200, "<!doctype html><p>It works!") }

// ownDisk is a small disk of memory.
func ownDisk(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "none", dir).CombinedOutput(); err != nil {
		t.Skipf("only root can mount a small disk: %s", out)
	}
	t.Cleanup(func() {
		// A store that was opened there is closed when its memory is collected.
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("unmount: %s", out)
		}
	})
	return dir
}

// ownPublic shows a bucket to strangers: the keys that are open, and at the
// empty key the list.
func ownPublic(t *testing.T, store *gateway, open func(key string) bool) string {
	t.Helper()
	s := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		key := strings.TrimPrefix(r.URL.Path, "/")
		if !open(key) {
			nethttp.Error(w, "no", nethttp.StatusForbidden)
			return
		}
		if key == "" {
			io.WriteString(w, `<?xml version="1.0"?><ListBucketResult></ListBucketResult>`)
			return
		}
		o, err := store.client.GetObject(r.Context(), &s3.GetObjectInput{Bucket: &store.bucket, Key: &key})
		if err != nil {
			nethttp.Error(w, "no", nethttp.StatusNotFound)
			return
		}
		defer o.Body.Close()
		io.Copy(w, o.Body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// changed stands before a store and answers some requests itself, or changes answers.
func changed(t *testing.T, store *gateway, instead func(nethttp.ResponseWriter, *nethttp.Request) bool, change func(*nethttp.Response)) string {
	t.Helper()
	target, err := url.Parse(service(t, "TEST_S3_ENDPOINT"))
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { // Host stays: it is signed
			r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
		},
		ModifyResponse: func(r *nethttp.Response) error {
			if change != nil {
				change(r)
			}
			return nil
		},
	}
	s := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if instead == nil || !instead(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// refuse answers a method with 403.
func refuse(method, code string) func(nethttp.ResponseWriter, *nethttp.Request) bool {
	return func(w nethttp.ResponseWriter, r *nethttp.Request) bool {
		if r.Method != method {
			return false
		}
		w.WriteHeader(nethttp.StatusForbidden)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
		return true
	}
}

// lifecycle answers with a rule for all objects.
func lifecycle(does string) func(nethttp.ResponseWriter, *nethttp.Request) bool {
	return func(w nethttp.ResponseWriter, r *nethttp.Request) bool {
		if !r.URL.Query().Has("lifecycle") {
			return false
		}
		fmt.Fprintf(w, `<LifecycleConfiguration><Rule><ID>tidy</ID><Status>Enabled</Status><Filter><Prefix></Prefix></Filter>%s</Rule></LifecycleConfiguration>`, does)
		return true
	}
}
