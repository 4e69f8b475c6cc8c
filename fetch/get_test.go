package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestGetHandsOnTheBytes(t *testing.T) {
	want := pngFile(300, 200)
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; claims=nothing")
		w.Write(want)
	})
	got, f, err := get(t, client(t, Config{}, s), Source{URL: s.URL + "/a.jpg"})
	wantError(t, err, "", false)
	if !bytes.Equal(got, want) || f.Size != int64(len(want)) || f.SHA256 != sha256.Sum256(want) {
		t.Errorf("got %d bytes and %+v", len(got), f)
	}
	if f.Host != hostPort(t, s).String() || f.ContentType != "text/plain; claims=nothing" {
		t.Errorf("got %+v", f)
	}
}

func TestGetSendsTheURLByteForByteAndNothingElse(t *testing.T) {
	const target = "/a%2fb?X-Sig=Fhg%2FdaR4%2BKu%3D&q=a+b%20c&u=%E7%8C%AB&flag&&e=="
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI != target {
			t.Errorf("got %q", r.RequestURI)
		}
		for _, name := range []string{"Referer", "Authorization", "Cookie", "Range"} {
			if v := r.Header.Get(name); v != "" {
				t.Errorf("sent %s: %s", name, v)
			}
		}
		if ua := r.UserAgent(); ua == "" || strings.HasPrefix(ua, "Go-") {
			t.Errorf("User-Agent %q is refused by some sources", ua)
		}
		w.Write(pngFile(8, 6))
	})
	_, _, err := get(t, client(t, Config{}, s), Source{URL: s.URL + target})
	wantError(t, err, "", false)
}

func TestAnswers(t *testing.T) {
	image := pngFile(8, 6)
	status := func(code int, kv ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for i := 0; i+1 < len(kv); i += 2 {
				w.Header().Set(kv[i], kv[i+1])
			}
			w.WriteHeader(code)
			io.WriteString(w, "what  went\nwrong")
		}
	}
	body := func(b []byte, kv ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for i := 0; i+1 < len(kv); i += 2 {
				w.Header().Set(kv[i], kv[i+1])
			}
			w.Write(b)
		}
	}
	partial := func(contentRange string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Range", contentRange)
			w.WriteHeader(206)
			w.Write(image)
		}
	}
	gz := func(b []byte) []byte {
		return encoded(func(out *bytes.Buffer) error { z := gzip.NewWriter(out); z.Write(b); return z.Close() })
	}
	all := strconv.Itoa(len(image))
	last := strconv.Itoa(len(image) - 1)
	past := "?X-Amz-Date=20200101T000000Z&X-Amz-Expires=60"

	for _, tt := range []struct {
		name   string
		serve  http.HandlerFunc
		query  string
		reason string
		final  bool
	}{
		{"an image", body(image), "", "", false},
		{"no length", func(w http.ResponseWriter, r *http.Request) {
			for b := range bytes.Lines(image) {
				w.Write(b)
				w.(http.Flusher).Flush()
			}
		}, "", "", false},
		{"a part that is the whole", partial("bytes 0-" + last + "/" + all), "", "", false},
		{"a part", partial("bytes 0-" + last + "/99999"), "", Odd, false},
		{"gzip that nobody asked for", body(gz(image), "Content-Encoding", "gzip"), "", "", false},
		{"gzip that is none", body(image, "Content-Encoding", "gzip"), "", "", false},
		{"gzip that was cut", body(gz(image)[:60], "Content-Encoding", "gzip"), "", Corrupt, false},
		{"gzip with a flipped bit", body(append(gz(image)[:len(gz(image))-8:len(gz(image))-8], make([]byte, 8)...), "Content-Encoding", "gzip"), "", Corrupt, false},
		{"a label that is no encoding", body(image, "Content-Encoding", "UTF-8"), "", "", false},
		{"gzip in two parts", body(append(gz(image[:40]), gz(image[40:])...), "Content-Encoding", "x-gzip"), "", "", false},
		{"gzip with something behind it", body(append(gz(image), "trailing"...), "Content-Encoding", "gzip"), "", "", false},
		{"gzip with much behind it", body(append(gz(image), make([]byte, 2<<20)...), "Content-Encoding", "gzip"), "", TooLarge, true},
		{"gzip inside gzip", body(gz(gz(image)), "Content-Encoding", "gzip, gzip"), "", Odd, true},
		{"203, by way of a proxy", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(203); w.Write(image) }, "", "", false},
		{"403 that says when to come again", status(403, "Retry-After", "7"), "", Expired, false},
		{"404 that says when to come again", status(404, "Retry-After", "7"), "", Missing, false},
		{"410 is the last word all the same", status(410, "Retry-After", "7"), "", Missing, true},
		{"brotli", body([]byte("\x0b\x02\x80\x89PNG\r\n\x1a\n\x03"), "Content-Encoding", "br"), "", Odd, true},
		{"a gzip bomb", body(gz(append(image, make([]byte, 4<<20)...)), "Content-Encoding", "gzip"), "", TooLarge, true},
		{"more bytes than allowed", body(append(image, make([]byte, 2<<20)...)), "", TooLarge, true},
		{"a length beyond the limit", body(nil, "Content-Length", "99999999"), "", TooLarge, true},
		{"an HTML page as image/png", body(notImages["an HTML page"], "Content-Type", "image/png"), "", NotImage, true},
		{"nothing", body(nil), "", NotImage, false},
		{"204", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) }, "", NotImage, false},
		{"202", status(202), "", Odd, false},
		{"304", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(304) }, "", Odd, true},
		{"400", status(400), "", Odd, true},
		{"401", status(401), "", Expired, true},
		{"403", status(403), "", Expired, true},
		{"404", status(404), "", Missing, true},
		{"410", status(410), "", Missing, true},
		{"404 after the link's end", status(404), past, Expired, true},
		{"400 after the link's end, as Google says it", status(400), past, Expired, true},
		{"451", status(451), past, Odd, true},
		{"408", status(408), "", Odd, false},
		{"425", status(425), "", Odd, false},
		{"429", status(429), "", Odd, false},
		{"500", status(500), "", Odd, false},
		{"503 after the link's end", status(503), past, Odd, false},
		{"520, as some CDNs say", status(520), "", Odd, false},
		{"headers of 1 MiB", status(200, "X-Pad", strings.Repeat("p", 1<<20)), "", Odd, false},
		{"a body that breaks off", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "5000")
			w.Write(image)
		}, "", Corrupt, false},
		{"a connection that breaks off in a chunk", func(w http.ResponseWriter, r *http.Request) {
			w.Write(image)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "", Corrupt, false},
		{"no answer", func(w http.ResponseWriter, r *http.Request) {
			c, _, _ := http.NewResponseController(w).Hijack()
			c.Close()
		}, "", Unreachable, false},
		{"no HTTP", func(w http.ResponseWriter, r *http.Request) {
			c, _, _ := http.NewResponseController(w).Hijack()
			c.Write([]byte("\x89PNG\r\n\x1a\n\x00\r\n\r\n"))
			c.Close()
		}, "", Odd, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := server(t, tt.serve)
			got, _, err := get(t, client(t, Config{MaxBytes: 1 << 20}, s), Source{URL: s.URL + "/a.png" + tt.query})
			wantError(t, err, tt.reason, tt.final)
			if tt.reason == "" && !bytes.Equal(got, image) {
				t.Errorf("got %d other bytes", len(got))
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"":                              0,
		"2":                             2 * time.Second,
		"1.5":                           1500 * time.Millisecond,
		"-3":                            0,
		"NaN":                           0,
		"soon":                          0,
		"99999999999999999999":          24 * time.Hour,
		"Thu, 01 Jan 2026 00:00:07 GMT": 7 * time.Second,
		"Wed, 31 Dec 2025 23:59:00 GMT": 0,
		"Fri, 01 Jan 2027 00:00:00 GMT": 24 * time.Hour,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {v}}, now); got != want {
			t.Errorf("%q: got %v, want %v", v, got, want)
		}
	}
}

func TestPassingAnswersCarryTheWait(t *testing.T) {
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(429)
		io.WriteString(w, `{"error": "slow  down"}`)
	})
	_, _, err := get(t, client(t, Config{}, s), Source{URL: s.URL})
	e := wantError(t, err, Odd, false)
	if e.RetryAfter != 7*time.Second || e.Status != 429 || e.Detail != `{"error": "slow down"}` || e.Host == "" {
		t.Errorf("got %+v", e)
	}
}

// Stores repeat the request in their refusals. Operators see the refusal, never the signature.
func TestDetailsHoldNoSecret(t *testing.T) {
	const secret = "Fhg/daR4+Ku="
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(403)
		io.WriteString(w, "<Error><Code>SignatureDoesNotMatch</Code><SignatureProvided>"+secret+"</SignatureProvided><Resource>"+
			r.RequestURI+"</Resource><Url>https://h/x?a=b&Signature="+secret+"</Url></Error>")
	})
	_, _, err := get(t, client(t, Config{}, s), Source{URL: s.URL + "/x?Signature=Fhg%2FdaR4%2BKu%3D&n=1"})
	e := wantError(t, err, Expired, true)
	if text := e.Error(); strings.Contains(text, "Fhg") || !strings.Contains(text, "SignatureDoesNotMatch") {
		t.Errorf("got %s", text)
	}
}

func TestDescribe(t *testing.T) {
	long := strings.Repeat("word ", 300)
	for in, want := range map[string]string{
		"a\r\n\tb":                         "a b",
		"":                                 "",
		"\x89PNG\r\n\x1a\n":                "",
		"a\x00b":                           "",
		"see https://h/x?token=abc&b=c ok": "see https://h/x?… ok",
		"really? yes":                      "really? yes",
		long:                               long[:200],
		strings.Repeat("猫", 100):           strings.Repeat("猫", 66),
		strings.Repeat(" ", 1000) + "AKIA0123456789abcdefghi": "",
	} {
		if got := describe([]byte(in), nil); got != want && got != want+" " {
			t.Errorf("%.40q: got %q, want %q", in, got, want)
		}
	}
}

// A writer that fails is our trouble: the store's, or the disk's. It must not count against the
// source.
func TestGetKeepsTheWritersError(t *testing.T) {
	s := server(t, func(w http.ResponseWriter, r *http.Request) { w.Write(pngFile(8, 6)) })
	full := errors.New("disk full")
	_, err := client(t, Config{}, s).Get(t.Context(), Source{URL: s.URL}, writer(func([]byte) (int, error) { return 0, full }))
	if _, ours := errors.AsType[*Error](err); ours || !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// A shutdown in the middle of a fetch is no failure of the source either.
func TestGetKeepsTheCallersCause(t *testing.T) {
	asked := make(chan struct{})
	s := server(t, func(w http.ResponseWriter, r *http.Request) { close(asked); <-r.Context().Done() })
	ctx, cancel := context.WithCancelCause(t.Context())
	shutdown := errors.New("shutting down")
	go func() { <-asked; cancel(shutdown) }()
	_, err := client(t, Config{}, s).Get(ctx, Source{URL: s.URL}, io.Discard)
	if _, ours := errors.AsType[*Error](err); ours || !errors.Is(err, shutdown) {
		t.Errorf("got %v", err)
	}
}

func TestOneHostServesSoManyAtOnce(t *testing.T) {
	var running, most atomic.Int32
	full := make(chan struct{}, 100)
	release := make(chan struct{})
	answer := func(w http.ResponseWriter, r *http.Request) {
		n := running.Add(1)
		defer running.Add(-1)
		most.Store(max(most.Load(), n))
		full <- struct{}{}
		<-release
		w.Write(pngFile(8, 6))
	}
	ports := []*httptest.Server{server(t, answer), server(t, answer)} // of one host
	c := client(t, Config{PerHost: 3}, ports...)
	var wg sync.WaitGroup
	for n := range 12 {
		wg.Go(func() {
			if _, err := c.Get(t.Context(), Source{URL: ports[n%2].URL}, io.Discard); err != nil {
				t.Error(err)
			}
		})
	}
	for range 3 {
		<-full
	}
	close(release)
	wg.Wait()
	if n := most.Load(); n != 3 {
		t.Errorf("%d at once, want 3", n)
	}
	if n := len(c.hosts.slots); n != 0 {
		t.Errorf("%d hosts are remembered", n)
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	conns := map[string]bool{}
	var mu sync.Mutex
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		conns[r.RemoteAddr] = true
		mu.Unlock()
		if r.URL.Path == "/first" {
			http.Redirect(w, r, "/second", http.StatusFound)
			return
		}
		w.Write(pngFile(8, 6))
	})
	c := client(t, Config{}, s)
	for range 10 {
		_, _, err := get(t, c, Source{URL: s.URL + "/first"})
		wantError(t, err, "", false)
	}
	if len(conns) != 1 {
		t.Errorf("%d connections for 20 requests", len(conns))
	}
}

func TestGetDecodesDataURLs(t *testing.T) {
	image := string(pngFile(8, 6))
	b64 := base64Of(image)
	for _, tt := range []struct {
		name, url, reason string
		final             bool
	}{
		{"base64", "data:image/png;base64," + b64, "", false},
		{"base64 without padding", "data:image/png;base64," + strings.TrimRight(b64, "="), "", false},
		{"base64 of the URL alphabet", "data:;BASE64," + strings.NewReplacer("+", "-", "/", "_").Replace(b64), "", false},
		{"base64 with line ends", "DATA:image/png;charset=x;base64," + b64[:60] + "\r\n" + b64[60:], "", false},
		{"base64, escaped", "data:image/png;base64," + strings.NewReplacer("+", "%2B", "/", "%2f", "=", "%3D").Replace(b64), "", false},
		{"escaped bytes", "data:image/png," + escapeBytes(image, func(int) bool { return true }), "", false},
		{"broken base64", "data:image/png;base64,iVBORw0KGgo@@@@", Corrupt, true},
		{"data behind padding", "data:image/png;base64," + b64[:20] + "==" + b64[20:], Corrupt, true},
		{"no data", "data:image/png;base64", Corrupt, true},
		{"empty data", "data:image/png;base64,", NotImage, true},
		{"a page", "data:text/html,<html><script>alert(1)</script>", NotImage, true},
		{"too much", "data:image/png;base64," + base64Of(image+strings.Repeat("x", 2<<20)), TooLarge, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := get(t, client(t, Config{MaxBytes: 1 << 20}), Source{URL: tt.url})
			wantError(t, err, tt.reason, tt.final)
			if tt.reason == "" && string(got) != image {
				t.Errorf("got %q", got)
			}
		})
	}
}
