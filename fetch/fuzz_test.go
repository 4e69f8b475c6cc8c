package fetch

import (
	"bytes"
	"errors"
	"image"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	_ "golang.org/x/image/bmp"
	_ "golang.org/x/image/webp"
)

// FuzzIdentify: no input makes a walker panic, hang or promise more than the limits, and what it says
// of the size is what a decoder says.
func FuzzIdentify(f *testing.F) {
	for _, b := range [][]byte{
		pngFile(8, 6), apngFile(3), pngWith(pngChunk("zTXt", append([]byte("k\x00\x00"), deflated(make([]byte, 99))...)...)),
		jpegFile(16, 8), jpegFile(40, 24)[:len(jpegFile(40, 24))-2], jpegWith(0xe1, exifOf(6)), gifFile(1), gifFile(3),
		webpFile(vp8(64, 48)), webpFile(vp8l(64, 48)), webpFile(vp8x(2, 64, 48), anmf(0, 0, 64, 48, vp8(64, 48))),
		avifFile(), heif{major: "avis", item: "av01", w: 8, h: 8, moov: avisMoov(5)}.file(), heif{major: "heic", item: "hvc1", w: 8, h: 8}.file(),
		bmpFile(9, 5), bmpFile(9, -5),
	} {
		f.Add(b)
	}
	for _, b := range notImages {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		img, err := Identify(bytes.NewReader(b), int64(len(b)), Limits{})
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		l := defaultLimits
		switch {
		case img.Width < 1 || img.Height < 1 || img.Width > l.Side || img.Height > l.Side:
			t.Fatalf("size of %+v", img)
		case int64(img.Width)*int64(img.Height) > l.Pixels || img.Frames < 1 || img.Frames > l.Frames:
			t.Fatalf("amount of %+v", img)
		case !strings.HasPrefix(img.MIME, "image/") || img.Ext == "" || img.Orientation < 1 || img.Orientation > 8:
			t.Fatalf("kind of %+v", img)
		}
		c, _, err := image.DecodeConfig(bytes.NewReader(b))
		if img.Orientation >= 5 {
			c.Width, c.Height = c.Height, c.Width
		}
		if err == nil && (c.Width != img.Width || c.Height != img.Height) {
			t.Fatalf("a decoder says %d x %d of %+v", c.Width, c.Height, img)
		}
	})
}

// FuzzSniff: the start of an answer is an image's, or it is refused in words that can be shown and
// that do not hold the secret which the answer repeats.
func FuzzSniff(f *testing.F) {
	for _, b := range notImages {
		f.Add(b, uint(20), false)
	}
	f.Add(pngFile(8, 6), uint(9), true)
	f.Add([]byte("BM\x00\x00"), uint(4), true)
	f.Add([]byte("<Error>see https://h/x?sig= for more</Error>"), uint(28), true)
	f.Add(bytes.Repeat([]byte("words "), 200), uint(1010), false)
	const secret, escaped = "S3CR3T/SIGN+4TURE=", "S3CR3T%2FSIGN%2B4TURE%3D"
	f.Fuzz(func(t *testing.T, b []byte, at uint, plain bool) {
		repeated := escaped
		if plain {
			repeated = secret
		}
		at = min(at, uint(len(b)))
		b = slices.Concat(b[:at], []byte(repeated), b[at:])
		err := judgeStart(b, secretsOf("sig="+escaped))
		if err == nil {
			if sniff(b).walk == nil {
				t.Fatalf("%q passed, and nobody can walk it", b)
			}
			return
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Reason != NotImage && e.Reason != Corrupt {
			t.Fatalf("got %v", err)
		}
		if strings.Contains(e.Detail, "S3CR3T") {
			t.Fatalf("the secret is in %q", e.Detail)
		}
		if !isText([]byte(e.Detail)) || len(e.Detail) > 300 {
			t.Fatalf("cannot be shown: %q", e.Detail)
		}
	})
}

// FuzzExpiry: a moment that is read makes sense.
func FuzzExpiry(f *testing.F) {
	for _, q := range []string{
		"X-Amz-Date=20251231T230000Z&X-Amz-Expires=3600", "Expires=1767225600&Signature=x", "se=2026-01-01T00%3A00Z&sig=a",
		"ex=6955b900&is=1&hm=a", "q-sign-time=1;1767225600", "Policy=eyJTdGF0ZW1lbnQiOltdfQ__", "token=e30.eyJleHAiOjE3NjcyMjU2MDB9.x", "%zz&&==",
	} {
		f.Add("https://h/a?" + q)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		at, ok := Expiry(raw)
		if ok != !at.IsZero() || ok && (at.Before(time.Unix(0, 0)) || at.Year() > 2200) {
			t.Fatalf("%v %v", at, ok)
		}
	})
}

// FuzzCheckURL: what passes goes where every parser thinks it goes, and can be sent.
func FuzzCheckURL(f *testing.F) {
	for _, raw := range []string{
		"https://example.com/a%2fb?x=%2b#f", "http://user:pw@h/", "http://127.0.0.1/", "http://[::1]:80/", "http://0x7f.1/", "http://１２７.0.0.1/",
		"http://h\\@g/", "http://h/\x00", "http://例え.jp/猫 ?猫", "http://h:80:80/", "file:///x", "http://h/%", "https://h//x", "http://169.254.169.254./",
	} {
		f.Add(raw)
	}
	c, err := New(Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if isData(raw) || c.Check(Source{URL: raw}) != nil {
			return
		}
		u, err := parseURL(raw)
		if err != nil {
			t.Fatal(err)
		}
		if port := u.Port(); port != "" && port != "80" && port != "443" || u.User != nil {
			t.Fatalf("%q passed as %q", raw, u.Host)
		}
		target := u.RequestURI()
		if strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r >= 0x7f }) || !strings.HasPrefix(target, "/") {
			t.Fatalf("%q would send %q", raw, target)
		}
		again, err := url.Parse(u.String())
		if err != nil || again.Host != u.Host || again.RequestURI() != target {
			t.Fatalf("%q is read in two ways: %q and %q", raw, u, again)
		}
	})
}
