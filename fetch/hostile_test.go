package fetch

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// speaks is a server that answers every connection in its own way.
func speaks(t *testing.T, answer func(net.Conn)) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); answer(c) }()
		}
	}()
	return &httptest.Server{URL: "http://" + l.Addr().String()}
}

// afterRequest waits for the end of a request's head.
func afterRequest(answer func(net.Conn)) func(net.Conn) {
	return func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			answer(c)
		}
	}
}

func TestServersThatHardlySpeakHTTP(t *testing.T) {
	image := string(pngFile(8, 6))
	says := func(parts ...string) func(net.Conn) {
		return afterRequest(func(c net.Conn) { io.WriteString(c, strings.Join(parts, "")) })
	}
	silent := func(c net.Conn) { io.Copy(io.Discard, c) }
	for _, tt := range []struct {
		name   string
		answer func(net.Conn)
		reason string
	}{
		{"HTTP/1.0 without a length", says("HTTP/1.0 200 OK\r\n\r\n", image), ""},
		{"hints before the answer", says("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", image), ""},
		{"the same length twice", says("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ", strconv.Itoa(len(image)), "\r\nContent-Length: ", strconv.Itoa(len(image)), "\r\n\r\n", image), ""},
		{"two lengths", says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nContent-Length: 20\r\n\r\n", image), Odd},
		{"a length below zero", says("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", image), Odd},
		{"chunks without sizes", says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", image), Odd},
		{"an SSH banner", func(c net.Conn) { io.WriteString(c, "SSH-2.0-OpenSSH_9.2\r\n"); silent(c) }, Odd},
		{"silence", silent, Slow},
		{"a header a moment, for ever", afterRequest(func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
				if _, err := io.WriteString(c, "X-A: b\r\n"); err != nil {
					return
				}
			}
		}), Slow},
		{"hints without end", afterRequest(func(c net.Conn) {
			for {
				if _, err := io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"); err != nil {
					return
				}
			}
		}), Odd},
		{"the end at once", func(net.Conn) {}, Unreachable},
		{"a reset", afterRequest(func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) }), Unreachable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := speaks(t, tt.answer)
			_, _, err := get(t, client(t, Config{FirstByte: 300 * time.Millisecond, StallTimeout: 300 * time.Millisecond}, s), Source{URL: s.URL + "/a.png"})
			wantError(t, err, tt.reason, false)
		})
	}
	t.Run("nobody", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		s := &httptest.Server{URL: "http://" + l.Addr().String()}
		_, _, err = get(t, client(t, Config{}, s), Source{URL: s.URL})
		wantError(t, err, Unreachable, false)
	})
}

// authority signs certificates, and writes its own to a file.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	file string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, key: key, file: filepath.Join(t.TempDir(), "ca.pem")}
	a.cert = &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der := a.sign(a.cert)
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *authority) sign(c *x509.Certificate) []byte {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return der
}

func TestCertificates(t *testing.T) {
	ours, strange := newAuthority(t), newAuthority(t)
	here, elsewhere := net.IPv4(127, 0, 0, 1), net.IPv4(192, 0, 2, 1)
	for _, tt := range []struct {
		name    string
		by      *authority
		address net.IP
		ends    time.Duration
		most    uint16 // version of TLS
		reason  string
		setting string
	}{
		{"of an authority that was allowed", ours, here, time.Hour, 0, "", ""},
		{"of an authority that nobody knows", strange, here, time.Hour, 0, Unreachable, "IMAGE_ARCHIVE_CA_FILE"},
		{"of another host", ours, elsewhere, time.Hour, 0, Unreachable, ""},
		{"that has expired", ours, here, -time.Hour, 0, Unreachable, ""},
		{"by a version of TLS that is broken", ours, here, time.Hour, tls.VersionTLS11, Unreachable, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			der := tt.by.sign(&x509.Certificate{SerialNumber: big.NewInt(2), IPAddresses: []net.IP{tt.address},
				NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(tt.ends)})
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(pngFile(8, 6)) }))
			s.Config.ErrorLog = log.New(io.Discard, "", 0) // it would complain of our refusal
			s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: tt.by.key}}, MaxVersion: tt.most, MinVersion: min(tt.most, tls.VersionTLS10)}
			s.StartTLS()
			t.Cleanup(s.Close)
			_, _, err := get(t, client(t, Config{CAFile: ours.file}, s), Source{URL: s.URL})
			if e := wantError(t, err, tt.reason, false); e != nil && e.Setting != tt.setting {
				t.Errorf("names the setting %q, want %q: %v", e.Setting, tt.setting, e)
			}
		})
	}
}

func TestNamesThatLeadNowhere(t *testing.T) {
	for name, rcode := range map[string]byte{"no such name": 3, "a server that fails": 2, "a server that refuses": 5} {
		t.Run(name, func(t *testing.T) {
			pc, err := net.ListenPacket("udp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { pc.Close() })
			go func() {
				b := make([]byte, 1500)
				for {
					n, from, err := pc.ReadFrom(b)
					if err != nil {
						return
					}
					if reply := dnsReply(b[:n], func() netip.Addr { return mustAddr("192.0.2.1") }); reply != nil {
						reply[3] |= rcode
						reply = reply[:len(reply)-16*int(reply[7])] // no answers
						reply[7] = 0
						pc.WriteTo(reply, from)
					}
				}
			}()
			_, _, err = get(t, client(t, Config{Resolver: pc.LocalAddr().String()}), Source{URL: "https://gone.example/a.png?sig=s3cr3t"})
			if e := wantError(t, err, Unreachable, false); strings.Contains(e.Error(), "s3cr3t") {
				t.Errorf("the query is in %v", e)
			}
		})
	}
}

// Whoever neither answers nor refuses costs ten seconds, and no more: in the look-up of a name and in
// the handshake of TLS. It takes those ten seconds.
func TestConnectingIsBounded(t *testing.T) {
	if os.Getenv("TEST_LONG") == "" {
		t.Skip("takes 10 s; set TEST_LONG=1")
	}
	mute, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mute.Close() })
	s := speaks(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	for name, url := range map[string]string{
		"a name server that is silent":     "https://mute.example/a.png",
		"a server that is silent over TLS": strings.Replace(s.URL, "http:", "https:", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			_, _, err := get(t, client(t, Config{Resolver: mute.LocalAddr().String()}, s), Source{URL: url})
			wantError(t, err, Unreachable, false)
			if took := time.Since(begin); took < 9*time.Second || took > 15*time.Second {
				t.Errorf("took %v, want 10 s", took)
			}
		})
	}
}
