package fetch

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// parseURL turns a URL that somebody gave into one that goes out as it was given: path and query
// keep their exact spelling, signatures depend on it. Only bytes that HTTP cannot carry are
// percent-encoded. Anything that parsers read in different ways is refused.
func parseURL(raw string) (*url.URL, error) {
	if len(raw) > maxURL {
		return nil, final(Blocked, fmt.Sprintf("the URL has %d bytes, more than %d", len(raw), maxURL))
	}
	if i := strings.IndexFunc(raw, func(r rune) bool { return r < 0x20 || r == 0x7f }); i >= 0 {
		return nil, final(Blocked, "the URL holds a control character")
	}
	raw, _, _ = strings.Cut(raw, "#")
	scheme, rest, ok := strings.Cut(raw, ":")
	scheme = strings.ToLower(scheme)
	if !ok || scheme != "http" && scheme != "https" {
		return nil, final(Blocked, "the URL is neither http nor https")
	}
	if !strings.HasPrefix(rest, "//") {
		return nil, final(Blocked, "the URL has no host")
	}
	rest = rest[2:]
	authority := rest
	if i := strings.IndexAny(rest, `/?`); i >= 0 {
		authority = rest[:i]
	}
	if strings.Contains(authority, "@") {
		return nil, final(Blocked, "the URL holds credentials")
	}
	host, err := cleanHost(authority)
	if err != nil {
		return nil, err
	}
	path, query, hasQuery := strings.Cut(rest[len(authority):], "?")
	target := escapePath(path)
	if hasQuery {
		target += "?" + escapeQuery(query)
	}
	u, perr := url.Parse(scheme + "://" + host + target)
	if perr != nil || u.User != nil || u.Host == "" {
		return nil, final(Blocked, "the URL cannot be understood")
	}
	return u, nil
}

// cleanHost folds the host's look-alikes (full-width digits, ideographic stops) into what they
// resolve to, so that the checks see what the network sees. Names of other scripts stay as they
// are: net/http writes them in punycode.
func cleanHost(host string) (string, error) {
	for i := range len(host) {
		if host[i] >= 0x80 {
			folded := strings.NewReplacer("。", ".", "．", ".", "｡", ".").Replace(host)
			host = strings.ToLower(norm.NFKC.String(folded))
			break
		}
	}
	if host == "" || strings.ContainsAny(host, "%/\\@?# \"<>^`{|}") {
		return "", final(Blocked, "the URL's host is not a plain name or address")
	}
	return host, nil
}

// admit judges what a URL alone shows, before a name is looked up.
func (c *Client) admit(u *url.URL, trusted bool) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return final(Blocked, "the URL is neither http nor https")
	}
	if u.User != nil {
		return final(Blocked, "the URL holds credentials")
	}
	host := strings.TrimSuffix(u.Hostname(), ".")
	port, err := portOf(u)
	if err != nil {
		return err
	}
	addr, isAddr := hostAddr(host)
	switch {
	case host == "":
		return final(Blocked, "the URL has no host")
	case !isAddr && (strings.Contains(host, ":") || looksNumeric(host)):
		return final(Blocked, "the URL spells an address in an unusual way").at(u.Host)
	case isAddr && strings.HasSuffix(u.Hostname(), "."):
		return final(Blocked, "the URL spells an address in an unusual way").at(u.Host)
	case trusted && isAddr:
		return named(c.guard.judgeMetadata(addr.Unmap()), u)
	case trusted:
		return nil
	case isAddr:
		return named(c.guard.judge(netip.AddrPortFrom(addr, port)), u)
	case !c.guard.knownPort(port):
		return refusePort(port).at(u.Host)
	}
	return nil
}

// named adds the URL's host to a refusal.
func named(err error, u *url.URL) error {
	if e, ok := err.(*Error); ok && e != nil {
		return e.at(u.Host)
	}
	return err
}

// hostAddr gives the address that a host stands for without a look-up: a literal, or localhost.
func hostAddr(host string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(host); err == nil {
		return a, true
	}
	if l := strings.ToLower(host); l == "localhost" || strings.HasSuffix(l, ".localhost") {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	return netip.Addr{}, false
}

// looksNumeric finds the spellings of an IPv4 address that some resolvers take and others do not
// (2130706433, 0x7f000001, 0177.0.0.1, 127.1): a last label that is a number makes it one.
func looksNumeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" {
		return true
	}
	if _, err := strconv.ParseUint(last, 0, 64); err == nil {
		return true
	}
	return !strings.ContainsFunc(last, func(r rune) bool { return r < '0' || r > '9' })
}

func portOf(u *url.URL) (uint16, error) {
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || p[0] == '0' { // also 080, which not everybody reads as 80
			return 0, final(Blocked, "the URL's port is not a port").at(u.Hostname())
		}
		return uint16(n), nil
	}
	if u.Scheme == "https" {
		return 443, nil
	}
	return 80, nil
}

// originOf writes the origin in one way: scheme, host and port, lower case.
func originOf(u *url.URL) string {
	port, _ := portOf(u)
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + strconv.Itoa(int(port)))
}

// origins reads the origins that a caller trusts. What is no URL trusts nothing.
func origins(list []string) []string {
	var out []string
	for _, s := range list {
		if u, err := url.Parse(s); err == nil && u.Host != "" {
			out = append(out, originOf(u))
		}
	}
	return slices.Clip(out)
}

// escapePath encodes what a path cannot hold on the wire, and a percent sign that begins nothing.
func escapePath(s string) string {
	return escapeBytes(s, func(i int) bool {
		if s[i] == '%' {
			return i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])
		}
		return s[i] <= ' ' || s[i] >= 0x7f || strings.IndexByte("\"<>\\^`{|}", s[i]) >= 0
	})
}

// escapeQuery leaves a query as it stands, but for what would break the request line.
func escapeQuery(s string) string {
	return escapeBytes(s, func(i int) bool { return s[i] <= ' ' || s[i] >= 0x7f })
}

func escapeBytes(s string, needs func(i int) bool) string {
	var out []byte
	done := 0
	for i := range len(s) {
		if needs(i) {
			out = fmt.Appendf(append(out, s[done:i]...), "%%%02X", s[i])
			done = i + 1
		}
	}
	if out == nil {
		return s
	}
	return string(append(out, s[done:]...))
}

func isHex(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'f'
}

// Redact gives a URL as it may be shown: without query, fragment and credentials.
func Redact(raw string) string {
	if isData(raw) {
		return "data:"
	}
	raw, _, _ = strings.Cut(raw, "#")
	raw, _, _ = strings.Cut(raw, "?")
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return ""
	}
	authority, path, _ := strings.Cut(rest, "/")
	return scheme + "://" + authority[strings.LastIndexByte(authority, '@')+1:] + "/" + path
}
