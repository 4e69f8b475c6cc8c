package fetch

import (
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

func base64Of(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestRedirects(t *testing.T) {
	image := pngFile(8, 6)
	v := victim(t)
	other := server(t, func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Referer", "Cookie", "Authorization"} {
			if got := r.Header.Get(name); got != "" {
				t.Errorf("%s went to another origin: %s", name, got)
			}
		}
		w.Write(image)
	})
	var hops atomic.Int32
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		hops.Add(1)
		to := func(location string) {
			w.Header().Set("Location", location)
			w.Header().Set("Set-Cookie", "session=leakme")
			w.WriteHeader(http.StatusFound)
		}
		switch r.RequestURI {
		case "/relative/x?sig=secret":
			to("../image?q=%2b+%20")
		case "/image?q=%2b+%20", "/image%2fa?b=%2F":
			w.Write(image)
		case "/path":
			to("/image%2fa?b=%2F#frag")
		case "/scheme-relative":
			to("//" + strings.TrimPrefix(other.URL, "http://") + "/x")
		case "/other?sig=t0psecret":
			to(other.URL + "/x")
		case "/1", "/2", "/3", "/4", "/5":
			to("/" + string(r.RequestURI[1]-1))
		case "/0":
			w.Write(image)
		case "/loop":
			to("/loop")
		case "/cookie":
			if c, err := r.Cookie("session"); err == nil && c.Value == "leakme" {
				w.Write(image)
				return
			}
			to("/cookie")
		case "/nowhere":
			w.WriteHeader(http.StatusFound)
		case "/broken":
			to("http://[::1")
		default: // the target is in the query
			to(r.URL.RawQuery)
		}
	})
	c := client(t, Config{}, s, other)
	for _, tt := range []struct {
		name, path, reason string
	}{
		{"a relative path", "/relative/x?sig=secret", ""},
		{"an absolute path, byte for byte", "/path", ""},
		{"without scheme", "/scheme-relative", ""},
		{"another host gets nothing of the first", "/other?sig=t0psecret", ""},
		{"five", "/5", ""},
		{"until its own cookie comes back", "/cookie", ""},
		{"six", "/to?/5", Odd},
		{"a loop", "/loop", Odd},
		{"without target", "/nowhere", Odd},
		{"to what is no URL", "/broken", Blocked},
		{"to a file", "/to?file:///etc/passwd", Blocked},
		{"to the victim", "/to?" + v.URL, Blocked},
		{"to the victim, without scheme", "/to?//" + strings.TrimPrefix(v.URL, "http://"), Blocked},
		{"to the victim, as a number", "/to?" + strings.Replace(v.URL, "127.0.0.1", "2130706433", 1), Blocked},
		{"to the victim, mapped", "/to?" + strings.Replace(v.URL, "127.0.0.1", "[::ffff:7f00:1]", 1), Blocked},
		{"to metadata", "/to?http://169.254.169.254/latest/", Blocked},
		{"with credentials", "/to?http://a:b@" + strings.TrimPrefix(other.URL, "http://"), Blocked},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hops.Store(0)
			_, _, err := get(t, c, Source{URL: s.URL + tt.path})
			wantError(t, err, tt.reason, true && tt.reason != "")
			if n := hops.Load(); n > maxRedirects+1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestRedirectsNeverLeaveTLS(t *testing.T) {
	plain := victim(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/down" {
			http.Redirect(w, r, plain.URL, http.StatusFound)
			return
		}
		w.Write(pngFile(8, 6))
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it would complain of our refusal
	s.StartTLS()
	t.Cleanup(s.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	c := client(t, Config{CAFile: ca}, s, plain)
	_, _, err := get(t, c, Source{URL: s.URL + "/up"})
	wantError(t, err, "", false)
	_, _, err = get(t, c, Source{URL: s.URL + "/down"})
	wantError(t, err, Blocked, true)

	_, _, err = get(t, client(t, Config{}, s), Source{URL: s.URL + "/up"})
	if e := wantError(t, err, Unreachable, false); e.Setting != "IMAGE_ARCHIVE_CA_FILE" {
		t.Errorf("got %v", e)
	}
}

// A name that gives a good address to whoever checks and 127.0.0.1 to whoever dials: the one that
// is dialled is the one that is checked.
func TestNamesAreJudgedWhenDialled(t *testing.T) {
	v := victim(t)
	port := hostPort(t, v).Port()
	resolver := dnsServer(t, func(int) netip.Addr { return mustAddr("127.0.0.1") })
	c := client(t, Config{Resolver: resolver, Ports: []int{int(port)}})
	_, _, err := get(t, c, Source{URL: "http://rebind.example:" + portText(v.URL) + "/x"})
	if e := wantError(t, err, Blocked, true); e.Setting != "IMAGE_ARCHIVE_ALLOW" || !strings.Contains(e.Error(), "127.0.0.1") {
		t.Errorf("got %v", e)
	}
}

func portText(url string) string { return url[strings.LastIndexByte(url, ':')+1:] }

func TestNamesMayLeadToAllowedAddresses(t *testing.T) {
	s := server(t, func(w http.ResponseWriter, r *http.Request) { w.Write(pngFile(8, 6)) })
	resolver := dnsServer(t, func(int) netip.Addr { return mustAddr("127.0.0.1") })
	_, _, err := get(t, client(t, Config{Resolver: resolver}, s), Source{URL: "http://comfy.example:" + portText(s.URL)})
	wantError(t, err, "", false)
}

// A connection that was made for a provider's trusted origin must not serve an import from there.
func TestTrustIsForTheProvidersOwnImages(t *testing.T) {
	s := server(t, func(w http.ResponseWriter, r *http.Request) { w.Write(pngFile(8, 6)) })
	c := client(t, Config{})
	_, _, err := get(t, c, Source{URL: s.URL + "/view?a=1", Origins: []string{s.URL}})
	wantError(t, err, "", false)
	_, _, err = get(t, c, Source{URL: s.URL + "/view?a=1"})
	wantError(t, err, Blocked, true)
}

// A site that a provider's link leads to may not redirect back into the operator's own network.
func TestTrustEndsWithTheFirstHopElsewhere(t *testing.T) {
	v := victim(t)
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, v.URL+"/interrupt", http.StatusFound)
	})
	c := client(t, Config{}, s)
	_, _, err := get(t, c, Source{URL: s.URL, Origins: []string{v.URL}})
	wantError(t, err, Blocked, true)
}

func TestTheEnvironmentsProxyIsIgnored(t *testing.T) {
	v := victim(t)
	t.Setenv("HTTP_PROXY", v.URL)
	t.Setenv("http_proxy", v.URL)
	s := server(t, func(w http.ResponseWriter, r *http.Request) { w.Write(pngFile(8, 6)) })
	resolver := dnsServer(t, func(int) netip.Addr { return mustAddr("127.0.0.1") })
	_, _, err := get(t, client(t, Config{Resolver: resolver}, s), Source{URL: "http://name.example:" + portText(s.URL)})
	wantError(t, err, "", false)
}

func TestTheExplicitProxy(t *testing.T) {
	var asked []string
	proxy := server(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.RequestURI)
		w.Write(pngFile(8, 6))
	})
	resolver := dnsServer(t, func(nth int) netip.Addr {
		if nth == 1 {
			return mustAddr("93.184.216.34")
		}
		return mustAddr("10.0.0.1")
	})
	c := client(t, Config{Proxy: proxy.URL, Resolver: resolver})
	_, _, err := get(t, c, Source{URL: "http://public.example/a%2fb?q=%2b"})
	wantError(t, err, "", false)
	if len(asked) != 1 || asked[0] != "http://public.example/a%2fb?q=%2b" {
		t.Errorf("the proxy was asked for %q", asked)
	}

	for _, url := range []string{"http://private.example/x", "http://10.0.0.1/x", "http://169.254.169.254/x"} {
		_, _, err = get(t, c, Source{URL: url})
		wantError(t, err, Blocked, true)
	}
	if len(asked) != 1 {
		t.Errorf("the proxy was asked for %q", asked)
	}

	// A provider next door is asked without the proxy.
	s := server(t, func(w http.ResponseWriter, r *http.Request) { w.Write(pngFile(8, 6)) })
	_, _, err = get(t, c, Source{URL: s.URL, Origins: []string{s.URL}})
	wantError(t, err, "", false)
	if len(asked) != 1 {
		t.Errorf("the proxy was asked for %q", asked)
	}
}

func TestHTTPClient(t *testing.T) {
	v := victim(t)
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, v.URL, http.StatusFound)
		}
	})
	api := client(t, Config{}).HTTPClient(s.URL)
	resp, err := api.Get(s.URL + "/away")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusFound {
		t.Errorf("got %d: redirects of an API are not followed", resp.StatusCode)
	}
	_, err = api.Post(v.URL, "text/plain", io.LimitReader(strings.NewReader("x"), 1))
	if e, ok := errors.AsType[*Error](err); !ok || e.Reason != Blocked {
		t.Errorf("got %v", err)
	}
}

func TestNewSaysWhatIsWrong(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]Config{
		"a port that is none":                  {Ports: []int{80, 70000}},
		"a resolver that is a name":            {Resolver: "dns.example"},
		"a proxy without scheme":               {Proxy: "proxy.example:3128"},
		"a certificate file that is not there": {CAFile: "/nowhere"},
		"a certificate file without any":       {CAFile: empty},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%s passed", name)
		}
	}
	_, err := New(Config{Proxy: "ftp://user:s3cr3t@proxy.example"})
	if err == nil || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("got %v", err)
	}
}
