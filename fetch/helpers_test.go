package fetch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync/atomic"
	"testing"
)

// server starts a source that answers with h.
func server(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// victim starts a server that must never be asked.
func victim(t testing.TB) *httptest.Server {
	t.Helper()
	return server(t, func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the victim was asked for %s", r.URL.Path)
	})
}

// client makes a client that may reach the given servers.
func client(t testing.TB, cfg Config, allowed ...*httptest.Server) *Client {
	t.Helper()
	for _, s := range allowed {
		cfg.Allow = append(cfg.Allow, AllowRule{Prefix: single(hostPort(t, s).Addr()), Port: hostPort(t, s).Port()})
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func hostPort(t testing.TB, s *httptest.Server) netip.AddrPort {
	t.Helper()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return netip.MustParseAddrPort(u.Host)
}

// get fetches and gives the bytes.
func get(t *testing.T, c *Client, src Source) ([]byte, Fetched, error) {
	t.Helper()
	var b bytes.Buffer
	f, err := c.Get(t.Context(), src, &b)
	return b.Bytes(), f, err
}

// wantError checks reason and finality; reason "" wants no error.
func wantError(t *testing.T, err error, reason string, final bool) *Error {
	t.Helper()
	if reason == "" {
		if err != nil {
			t.Fatalf("got %v, want no error", err)
		}
		return nil
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("got %v (%T), want an *Error with %s", err, err, reason)
	}
	if e.Reason != reason || e.Final != final {
		t.Fatalf("got %v (final %v), want %s (final %v)", e, e.Final, reason, final)
	}
	return e
}

// dnsServer answers A queries for any name; nth counts them from 1.
func dnsServer(t *testing.T, answer func(nth int) netip.Addr) string {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pc.Close() })
	var count atomic.Int32
	go func() {
		b := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(b)
			if err != nil {
				return
			}
			if reply := dnsReply(b[:n], func() netip.Addr { return answer(int(count.Add(1))) }); reply != nil {
				pc.WriteTo(reply, from)
			}
		}
	}()
	return pc.LocalAddr().String()
}

// dnsReply answers an A query with one address and any other with none.
func dnsReply(q []byte, addr func() netip.Addr) []byte {
	end := bytes.IndexByte(q[min(12, len(q)):], 0) + 12 + 5
	if len(q) < 17 || end > len(q) {
		return nil
	}
	out := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:end]...)
	if binary.BigEndian.Uint16(q[end-4:]) == 1 {
		out[7] = 1
		out = append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		out = append(out, addr().AsSlice()...)
	}
	return out
}

func mustAddr(s string) netip.Addr { return netip.MustParseAddr(s) }
