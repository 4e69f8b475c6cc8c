package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"syscall"
	"time"
)

type control func(ctx context.Context, network, address string, conn syscall.RawConn) error

// newTransport builds one pool of connections whose every dial passes judge. With a proxy the
// dialled address is the proxy's, which needs no judging: sources were judged before (see pick).
func (c *Client) newTransport(roots *x509.CertPool, judge control, proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	guarded := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second, Resolver: c.resolver, ControlContext: judge}
	plain := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: proxy,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if c.proxy != nil && address == proxyAddress(c.proxy) {
				return plain.DialContext(ctx, network, address)
			}
			return guarded.DialContext(ctx, network, address)
		},
		TLSClientConfig:        &tls.Config{RootCAs: roots},
		TLSHandshakeTimeout:    tlsTimeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // we count both sides of gzip ourselves
		MaxIdleConns:           4 * idlePerHost,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
		// A peer that vanished would otherwise hold every later request on its connection.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
	}
}

// pick chooses the pool for a request and makes the checks that come before any connection.
func (c *Client) pick(ctx context.Context, u *url.URL, trusted bool) (http.RoundTripper, error) {
	if err := c.admit(u, trusted); err != nil {
		return nil, err
	}
	if trusted {
		return c.trusted, nil
	}
	if c.proxy != nil && c.cfg.Transport == nil {
		return c.open, c.judgeName(ctx, u)
	}
	return c.open, nil
}

// judgeName resolves a name and judges all its addresses, for sources that a proxy will dial. The
// proxy looks the name up again, so it should refuse private addresses itself.
func (c *Client) judgeName(ctx context.Context, u *url.URL) error {
	addrs, err := c.lookup(ctx, u.Hostname())
	if err != nil {
		return err
	}
	port, err := portOf(u)
	if err != nil {
		return err
	}
	for _, a := range addrs {
		if err := c.guard.judge(netip.AddrPortFrom(a, port)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return c.resolver.LookupNetIP(ctx, "ip", host)
}

// Lookup asks for all addresses of a host, as a fetch does.
func (c *Client) Lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	addrs, err := c.lookup(ctx, host)
	if err != nil {
		return nil, networkError(err, false)
	}
	return addrs, nil
}

func (c *Client) proxyAll(*http.Request) (*url.URL, error) { return c.proxy, nil }

// proxyPublic keeps a provider on the operator's own network off the proxy, which leads outside.
func (c *Client) proxyPublic(r *http.Request) (*url.URL, error) {
	if c.proxy == nil {
		return nil, nil
	}
	addrs, err := c.lookup(r.Context(), r.URL.Hostname())
	if err == nil && !slices.ContainsFunc(addrs, c.guard.isPublic) {
		return nil, nil
	}
	return c.proxy, nil
}

func proxyAddress(u *url.URL) string {
	ports := map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}
	port := u.Port()
	if port == "" {
		port = ports[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

func parseProxy(raw string) (*url.URL, error) {
	if raw == "" {
		return nil, nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return nil, errors.New("proxy: want an http, https or socks5 URL") // the value may hold a password
	}
	return u, nil
}

// newResolver asks server, or the system's resolver when server is empty.
func newResolver(server string) (*net.Resolver, error) {
	if server == "" {
		return net.DefaultResolver, nil
	}
	ap, err := netip.ParseAddrPort(server)
	if err != nil {
		a, err := netip.ParseAddr(server)
		if err != nil {
			return nil, fmt.Errorf("resolver %q: want an address (192.0.2.53) or an address with a port (192.0.2.53:5353)", server)
		}
		ap = netip.AddrPortFrom(a, 53)
	}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, ap.String())
	}}, nil
}

// loadRoots is the system's root certificates and those of file; nil (the system's) without a file.
func loadRoots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read root certificates: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // none on this machine: the file's must do
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("root certificates: %s holds no PEM certificate", file)
	}
	return roots, nil
}

// apiTransport is the guarded network as a RoundTripper, for HTTPClient.
type apiTransport struct {
	c       *Client
	origins []string
}

func (t *apiTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	rt, err := t.c.pick(r.Context(), r.URL, slices.Contains(t.origins, originOf(r.URL)))
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	if r.Header.Get("User-Agent") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("User-Agent", t.c.cfg.UserAgent)
	}
	return rt.RoundTrip(r)
}
