package fetch

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Expiry reads from a link when it dies; false when the link does not say. It understands what
// object stores and CDNs sign into their URLs:
//
//   - X-Amz-Date + X-Amz-Expires, and the same of Google, TOS, OSS and whoever else copied it
//   - Azure SAS: se with sig
//   - OSS, S3 V2, Google V2, CloudFront: Expires as an epoch; CloudFront: Policy
//   - Tencent COS: q-sign-time
//   - Discord: ex with hm, hexadecimal; Meta: oe with oh, the same
//   - exp, expires_at and their like as an epoch; a JSON Web Token in token (Supabase)
//
// When a link says more than one thing, the earliest counts.
func Expiry(rawURL string) (time.Time, bool) {
	if isData(rawURL) {
		return time.Time{}, false
	}
	rawURL, _, _ = strings.Cut(rawURL, "#")
	_, query, _ := strings.Cut(rawURL, "?")
	var first time.Time
	for _, read := range expiryReaders {
		if at, ok := read(parseQuery(query)); ok && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first, !first.IsZero()
}

var expiryReaders = []func(params) (time.Time, bool){
	signedDate, azure, epochs, cosSignTime, policy, hexEpochs, webToken,
}

// params are a query's first values by lower-case name: stores do not agree on case.
type params map[string]string

// parseQuery reads leniently: a link that cannot be understood wholly may still say when it dies.
func parseQuery(query string) params {
	p := params{}
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name = strings.ToLower(name)
		if decoded, err := url.QueryUnescape(value); err == nil {
			value = decoded
		}
		if _, again := p[name]; !again && name != "" {
			p[name] = value
		}
	}
	return p
}

// signedDate reads the V4 form: a moment of signing and seconds to live, under a vendor's prefix.
func signedDate(p params) (time.Time, bool) {
	for _, vendor := range []string{"x-amz-", "x-goog-", "x-tos-", "x-oss-", "x-cos-", "x-obs-", "x-bce-"} {
		signed, err := time.Parse("20060102T150405Z", p[vendor+"date"])
		if err != nil {
			continue
		}
		secs, err := strconv.ParseInt(p[vendor+"expires"], 10, 64)
		if err == nil && secs >= 0 && secs <= 10*365*24*3600 {
			return sane(signed.Add(time.Duration(secs) * time.Second))
		}
	}
	return time.Time{}, false
}

// azure reads the signed expiry of a shared access signature, which may be a mere date.
func azure(p params) (time.Time, bool) {
	if p["sig"] == "" {
		return time.Time{}, false
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02"} {
		if at, err := time.Parse(layout, p["se"]); err == nil {
			return sane(at.UTC())
		}
	}
	return time.Time{}, false
}

// epochs reads moments that are written as seconds since 1970.
func epochs(p params) (first time.Time, ok bool) {
	for _, name := range []string{"expires", "exp", "expires_at", "expiry", "expire", "x-expires", "expiretime", "expiration"} {
		secs, err := strconv.ParseInt(p[name], 10, 64)
		if err != nil {
			continue
		}
		if at, fine := epoch(secs); fine && (!ok || at.Before(first)) {
			first, ok = at, true
		}
	}
	return first, ok
}

func cosSignTime(p params) (time.Time, bool) {
	_, end, _ := strings.Cut(p["q-sign-time"], ";")
	secs, err := strconv.ParseInt(end, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	return epoch(secs)
}

// policy reads CloudFront's custom policy: JSON in a base64 of its own alphabet.
func policy(p params) (time.Time, bool) {
	raw := strings.NewReplacer("-", "+", "_", "=", "~", "/").Replace(p["policy"])
	text, err := base64.StdEncoding.DecodeString(raw)
	if err != nil {
		return time.Time{}, false
	}
	var doc struct {
		Statement []struct {
			Condition struct {
				DateLessThan struct {
					Epoch int64 `json:"AWS:EpochTime"`
				}
			}
		}
	}
	if json.Unmarshal(text, &doc) != nil || len(doc.Statement) == 0 {
		return time.Time{}, false
	}
	return epoch(doc.Statement[0].Condition.DateLessThan.Epoch)
}

// hexEpochs reads Discord's and Meta's moments. The second name is the signature that comes along:
// without it the short name may mean anything.
func hexEpochs(p params) (time.Time, bool) {
	for _, names := range [][2]string{{"ex", "hm"}, {"oe", "oh"}} {
		secs, err := strconv.ParseInt(p[names[0]], 16, 64)
		if err == nil && p[names[1]] != "" {
			return epoch(secs)
		}
	}
	return time.Time{}, false
}

// webToken reads the exp claim of a token. The signature is not ours to check: a link that lies
// about its end harms only itself.
func webToken(p params) (time.Time, bool) {
	part := strings.Split(p["token"], ".")
	if len(part) != 3 {
		return time.Time{}, false
	}
	text, err := base64.RawURLEncoding.DecodeString(part[1])
	var claims struct {
		Exp float64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(text, &claims) != nil || claims.Exp < 0 || claims.Exp > 1e13 {
		return time.Time{}, false
	}
	return epoch(int64(claims.Exp))
}

// epoch takes seconds, or milliseconds where seconds would be far off.
func epoch(n int64) (time.Time, bool) {
	if n > 1e11 {
		n /= 1000
	}
	if n <= 0 || n > 1e11 {
		return time.Time{}, false
	}
	return sane(time.Unix(n, 0).UTC())
}

// sane drops what is no moment of a link's life: small numbers that mean something else.
func sane(at time.Time) (time.Time, bool) {
	if at.Year() < 2001 || at.Year() > 2200 {
		return time.Time{}, false
	}
	return at, true
}
