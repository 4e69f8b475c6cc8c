package fetch

import (
	"strings"
	"testing"
)

func TestURLsGoOutAsTheyCame(t *testing.T) {
	for raw, want := range map[string]string{
		"https://h/a%2fb%2Fc":                      "/a%2fb%2Fc",
		"https://h/a?X-Sig=%2b%2F+%20==&flag&&e=":  "/a?X-Sig=%2b%2F+%20==&flag&&e=",
		`https://h/a?q="<{|}>`:                     `/a?q="<{|}>`,
		"https://h/a b?c d":                        "/a%20b?c%20d",
		"https://h/猫?q=猫":                          "/%E7%8C%AB?q=%E7%8C%AB",
		"https://h/100%.png":                       "/100%25.png",
		"https://h/a/../b/./c":                     "/a/../b/./c",
		"https://h//a//b":                          "//a//b",
		"https://h/a{b}%2f|":                       "/a%7Bb%7D%2f%7C",
		"https://h?q=1":                            "/?q=1",
		"https://h/a?":                             "/a?",
		"https://h/a#frag?x":                       "/a",
		"HTTPS://h/a;p=1:2@3!$'()*,[]~":            "/a;p=1:2@3!$'()*,[]~",
		"https://h/\xff":                           "/%FF",
		"https://h/a?u=http://x@y/%zz":             "/a?u=http://x@y/%zz",
		"https://h/a?" + strings.Repeat("a", 8000): "/a?" + strings.Repeat("a", 8000),
	} {
		u, err := parseURL(raw)
		if err != nil {
			t.Errorf("%q: %v", raw, err)
			continue
		}
		if got := u.RequestURI(); got != want {
			t.Errorf("%q: got %q, want %q", raw, got, want)
		}
	}
}

func TestCheckRefusesBeforeAnyLookUp(t *testing.T) {
	c := client(t, Config{Allow: []AllowRule{{Prefix: single(mustAddr("172.17.0.1")), Port: 8188}}})
	for raw, ok := range map[string]bool{
		"https://example.com/a.png":             true,
		"http://example.com:80/":                true,
		"http://172.17.0.1:8188/view":           true,
		"http://comfy.lan:8188/view":            true, // may lead there: judged when dialled
		"https://93.184.216.34/a.png":           true,
		"data:image/png;base64,AAAA":            true,
		"https://xn--fiqs8s.example/":           true,
		"https://图像.example/":                   true,
		"http://172.17.0.1:81889/":              false,
		"http://172.17.0.1:8188@evil/":          false,
		"http://evil@172.17.0.1:8188/":          false,
		"http://user:pw@example.com/":           false,
		"http://172.17.0.1/":                    false,
		"http://example.com:22/":                false,
		"http://example.com:080/":               false,
		"http://example.com:0/":                 false,
		"http://example.com:port/":              false,
		"file:///etc/passwd":                    false,
		"ftp://example.com/a.png":               false,
		"gopher://example.com/":                 false,
		"javascript:alert(1)":                   false,
		"//example.com/a.png":                   false,
		"example.com/a.png":                     false,
		"":                                      false,
		"http:":                                 false,
		"http://":                               false,
		"http:///a":                             false,
		"http:example.com":                      false,
		"http://[::1]/":                         false,
		"http://[::1":                           false,
		"http://[fe80::1%25eth0]/":              false,
		"http://[::ffff:169.254.169.254]":       false,
		"http://127.0.0.1/":                     false,
		"http://127.0.0.1./":                    false,
		"http://127.1/":                         false,
		"http://2130706433/":                    false,
		"http://0x7f000001/":                    false,
		"http://0x7f.0.0.1/":                    false,
		"http://0177.0.0.1/":                    false,
		"http://0/":                             false,
		"http://１２７.０.０.１/":                     false,
		"http://127。0。0。1/":                     false,
		"http://①②⑦.⓪.⓪.①/":                     false,
		"http://２１３０７０６４３３/":                    false,
		"http://localhost/":                     false,
		"http://LOCALHOST./":                    false,
		"http://a.localhost/":                   false,
		"http://exa mple.com/":                  false,
		"http://example.com\\@127.0.0.1/":       false,
		"http://example.com%2f@h/":              false,
		"http://example.com／x":                  false,
		"http://h/a\r\nHost: evil":              false,
		"http://h/a\x00":                        false,
		"http://h/a\x7f":                        false,
		"http://h/" + strings.Repeat("a", 9000): false,
	} {
		err := c.Check(Source{URL: raw})
		if ok {
			wantError(t, err, "", false)
			continue
		}
		if err == nil {
			t.Errorf("%q passed", raw)
			continue
		}
		if e := wantError(t, err, Blocked, true); strings.Contains(e.Error(), "pw@") {
			t.Errorf("%q: the password is in %v", raw, e)
		}
	}
}

func TestTrustIsOneOriginExactly(t *testing.T) {
	c := client(t, Config{})
	trusted := []string{"http://172.17.0.1:8188", "http://Comfy.lan:8188/", "no url"}
	for raw, ok := range map[string]bool{
		"http://172.17.0.1:8188/view?x=1": true,
		"http://comfy.LAN:8188/view":      true,
		"http://172.17.0.1:8189/":         false,
		"https://172.17.0.1:8188/":        false,
		"http://172.17.0.2:8188/":         false,
		"http://comfy.lan.evil:8188/":     false,
	} {
		if err := c.Check(Source{URL: raw, Origins: trusted}); (err == nil) != ok {
			t.Errorf("%s: got %v, want allowed %v", raw, err, ok)
		}
		if err := c.Check(Source{URL: raw}); err == nil {
			t.Errorf("%s passed for an import", raw)
		}
	}
	meta := Source{URL: "http://169.254.169.254/latest", Origins: []string{"http://169.254.169.254"}}
	wantError(t, c.Check(meta), Blocked, true)
}

func TestRedact(t *testing.T) {
	for raw, want := range map[string]string{
		"https://user:pw@h.example/a/b.png?sig=x#f": "https://h.example/a/b.png",
		"https://h?sig=x":                 "https://h/",
		"data:image/png;base64,iVBORw0KG": "data:",
		"not a url?sig=x":                 "",
	} {
		if got := Redact(raw); got != want {
			t.Errorf("%q: got %q, want %q", raw, got, want)
		}
	}
}
