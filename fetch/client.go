package fetch

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// The limits that have no setting. They protect this process, not a taste.
const (
	maxURL       = 8 << 10  // bytes of a URL
	maxHeader    = 64 << 10 // bytes of all answer headers
	maxRedirects = 5
	dialTimeout  = 10 * time.Second // name resolution and connect
	tlsTimeout   = 10 * time.Second
	idlePerHost  = 64
)

// Config is what a Client may reach and how long it may take. The zero value reaches public
// addresses on ports 80 and 443.
type Config struct {
	Allow []AllowRule // private addresses that are fine; default none
	Ports []int       // ports a source may use, beside those of rules; default 80 and 443

	CAFile   string // PEM file of root certificates, beside the system's; default none
	Resolver string // DNS server as address or address:port; default the system's
	Proxy    string // http, https or socks5 URL; default none: the environment's is ignored

	MaxBytes  int64 // bytes of one image, on the wire and decoded; default 64 MiB
	MaxPixels int64 // width times height; default 100 million

	Timeout      time.Duration // a whole fetch; default 5 min
	StallTimeout time.Duration // silence in the middle of a body; default 20 s
	FirstByte    time.Duration // from the request to the answer; default 1.5 × StallTimeout
	MinSpeed     int64         // bytes a second, measured over 1.5 × StallTimeout; default 4 KiB
	PerHost      int           // fetches at once from one host; default 4

	UserAgent string // default names Afterimage

	// AllowSetting is the name of the setting behind Allow, for refusals; default
	// IMAGE_ARCHIVE_ALLOW.
	AllowSetting string

	// Transport is the network; default the guarded dialer. One given here is trusted to reach only
	// what it should: URLs are still checked, but addresses cannot be, since it dials for itself.
	Transport http.RoundTripper
}

func (cfg Config) withDefaults() Config {
	if len(cfg.Ports) == 0 {
		cfg.Ports = []int{80, 443}
	}
	cfg.MaxBytes = cmp.Or(cfg.MaxBytes, 64<<20)
	cfg.MaxPixels = cmp.Or(cfg.MaxPixels, defaultLimits.Pixels)
	cfg.Timeout = cmp.Or(cfg.Timeout, 5*time.Minute)
	cfg.StallTimeout = cmp.Or(cfg.StallTimeout, 20*time.Second)
	cfg.FirstByte = cmp.Or(cfg.FirstByte, cfg.StallTimeout*3/2)
	cfg.MinSpeed = cmp.Or(cfg.MinSpeed, 4<<10)
	cfg.PerHost = cmp.Or(cfg.PerHost, 4)
	cfg.UserAgent = cmp.Or(cfg.UserAgent, "Mozilla/5.0 (compatible; Afterimage)")
	cfg.AllowSetting = cmp.Or(cfg.AllowSetting, "IMAGE_ARCHIVE_ALLOW")
	return cfg
}

// Client is the one guarded client for outside addresses. It is safe for concurrent use, and one
// is enough for a process: connections are kept and used again.
type Client struct {
	cfg      Config
	guard    *guard
	resolver *net.Resolver
	proxy    *url.URL // nil without one
	hosts    *hosts
	phases   phases

	// Two pools, so that a connection made for a trusted origin never serves an import.
	open    http.RoundTripper // judged by address
	trusted http.RoundTripper // origins that the operator configured
}

// New builds a client. Errors are about cfg and say what it accepts.
func New(cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	for _, p := range cfg.Ports {
		if p < 1 || p > 65535 {
			return nil, fmt.Errorf("port %d: want 1 to 65535", p)
		}
	}
	resolver, err := newResolver(cfg.Resolver)
	if err != nil {
		return nil, err
	}
	proxy, err := parseProxy(cfg.Proxy)
	if err != nil {
		return nil, err
	}
	roots, err := loadRoots(cfg.CAFile)
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, guard: newGuard(cfg), resolver: resolver, proxy: proxy, hosts: newHosts(cfg.PerHost), phases: newPhases(cfg)}
	c.open = c.newTransport(roots, c.guard.control, c.proxyAll)
	c.trusted = c.newTransport(roots, c.guard.controlTrusted, c.proxyPublic)
	if cfg.Transport != nil {
		c.open, c.trusted = cfg.Transport, cfg.Transport
	}
	return c, nil
}

// Close lets idle connections go. Fetches that run are not touched.
func (c *Client) Close() {
	for _, t := range []http.RoundTripper{c.open, c.trusted} {
		if t, ok := t.(*http.Transport); ok {
			t.CloseIdleConnections()
		}
	}
}

// Source is where an image is.
type Source struct {
	// URL goes out byte for byte. A data: URL is decoded.
	URL string
	// Origins are the exact origins ("http://172.17.0.1:8188") of the provider that named this URL.
	// They are allowed beside the rules. Leave them out for URLs that people gave.
	Origins []string
	// Expires is when the link dies by the provider's rule; zero: unknown, the URL may say. It only
	// decides whether a refusal is called source_expired.
	Expires time.Time
}

// Fetched is what came.
type Fetched struct {
	Size        int64
	SHA256      [32]byte
	Host        string // that sent the bytes, after redirects
	ContentType string // as the source declared it: a claim, not a fact
}

// Get fetches one image. dst gets the bytes, decoded from any content encoding, while they are
// hashed; when it can grow (as bytes.Buffer) it is told the size first. After an error dst may hold
// a part. The first bytes are looked at before dst gets any, so that a page or a film is refused
// early; whether the image is whole is for Identify.
//
// Get asks once; retries are for the caller. The error is an *Error unless ctx ended or dst failed.
func (c *Client) Get(ctx context.Context, src Source, dst io.Writer) (Fetched, error) {
	if isData(src.URL) {
		return c.getData(src.URL, dst)
	}
	return c.get(ctx, src, dst)
}

// Check says whether src may be fetched as far as its URL tells: form, scheme, port, address. The
// address behind a name is judged only when it is dialled. The error is an *Error.
func (c *Client) Check(src Source) error {
	if isData(src.URL) {
		return nil
	}
	u, err := parseURL(src.URL)
	if err != nil {
		return err
	}
	return c.admit(u, slices.Contains(origins(src.Origins), originOf(u)))
}

// Identify is the function Identify with this client's limits.
func (c *Client) Identify(r io.ReaderAt, size int64) (Image, error) {
	return Identify(r, size, Limits{Pixels: c.cfg.MaxPixels})
}

// HTTPClient gives a client for the APIs of providers and for webhooks, under the same rules of
// address, port and header size. Requests to the given origins are trusted. It follows no redirect,
// keeps no cookie and has no timeout of its own: use the request's context. As with every
// http.Client, its errors are *url.Error and hold the URL: unwrap them before they are shown.
func (c *Client) HTTPClient(allowed ...string) *http.Client {
	return &http.Client{
		Transport:     &apiTransport{c: c, origins: origins(allowed)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
