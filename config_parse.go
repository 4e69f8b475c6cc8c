package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"afterimage/records"
)

// Each parser returns the value, or an error that completes "NAME=value: …". No error repeats the value: it may be a
// secret, and who reports it knows how to show it.

func parseText(s string) (string, error) { return s, nil }

// parseWord is for keys and names: anything but visible ASCII in one is a slip of copying, and could not be sent.
func parseWord(s string) (string, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", errors.New("contains a space or a character outside ASCII")
	}
	return s, nil
}

// oneOf takes the options in upper and lower case.
func oneOf(options ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		i := slices.IndexFunc(options, func(o string) bool { return strings.EqualFold(o, s) })
		if i < 0 {
			return "", errors.New("is not one of the choices")
		}
		return options[i], nil
	}
}

func parseLogLevel(s string) (level slog.Level, err error) {
	name, err := oneOf("debug", "info", "warn", "error")(s)
	if err == nil {
		err = level.UnmarshalText([]byte(name))
	}
	return level, err
}

var usernameForm = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,40}$`)

func parseUsername(s string) (string, error) {
	if !usernameForm.MatchString(s) {
		return "", errors.New("is not a username")
	}
	return strings.ToLower(s), nil
}

func parsePassword(s string) (string, error) {
	if n := utf8.RuneCountInString(s); n < records.MinPassword || n > records.MaxPassword {
		return "", fmt.Errorf("has %d characters", n)
	}
	return s, nil
}

// listOf takes 1 to limit items, comma-separated, with or without spaces around them.
func listOf[T any](limit int, parse func(string) (T, error)) func(string) ([]T, error) {
	return func(s string) ([]T, error) {
		var items []T
		for i, text := range strings.Split(s, ",") {
			item, err := parse(strings.TrimSpace(text))
			if strings.TrimSpace(text) == "" {
				err = errors.New("is empty")
			}
			if err != nil {
				return nil, fmt.Errorf("item %d %w", i+1, err)
			}
			items = append(items, item)
		}
		if len(items) > limit {
			return nil, fmt.Errorf("has %d items", len(items))
		}
		return items, nil
	}
}

func wholeNumber(least, most int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return 0, errors.New("is out of range")
		case err != nil:
			return 0, errors.New("is not a whole number")
		case n < least || n > most:
			return 0, errors.New("is out of range")
		}
		return n, nil
	}
}

func duration(least, most time.Duration) func(string) (time.Duration, error) {
	return func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if err != nil {
			if _, err := strconv.ParseFloat(s, 64); err == nil {
				return 0, errors.New("has no unit (ms, s, m, h)")
			}
			return 0, errors.New("is not a duration")
		}
		if d < least || d > most {
			return 0, errors.New("is out of range")
		}
		return d, nil
	}
}

// days is duration where people think in days: 30d.
func days(least, most time.Duration) func(string) (time.Duration, error) {
	return func(s string) (time.Duration, error) {
		number, isDays := strings.CutSuffix(s, "d")
		if !isDays {
			return duration(least, most)(s)
		}
		n, err := strconv.ParseFloat(number, 64)
		switch d := n * float64(24*time.Hour); {
		case err != nil:
			return 0, errors.New("is not a duration")
		case !(d >= float64(least) && d <= float64(most)): // also what is no number
			return 0, errors.New("is out of range")
		default:
			return time.Duration(d), nil
		}
	}
}

// Units of sizes: with an i they are powers of 1024.
var byteUnits = map[string]int64{
	"": 1, "b": 1,
	"kb": 1e3, "mb": 1e6, "gb": 1e9,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30,
}

func size(least, most int64) func(string) (int64, error) { return quantity(byteUnits, least, most) }

func pixels(least, most int64) func(string) (int64, error) {
	return quantity(map[string]int64{"": 1, "mp": 1e6}, least, most)
}

func speed(least, most int64) func(string) (int64, error) {
	parse := size(least, most)
	return func(s string) (int64, error) {
		perSecond, found := strings.CutSuffix(s, "/s")
		if !found {
			return 0, errors.New("does not end in /s")
		}
		return parse(perSecond)
	}
}

// quantity is a whole number and a unit in upper or lower case, with or without a space between.
func quantity(units map[string]int64, least, most int64) func(string) (int64, error) {
	return func(s string) (int64, error) {
		digits := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
		if digits < 0 {
			digits = len(s)
		}
		factor, known := units[strings.ToLower(strings.TrimSpace(s[digits:]))]
		if digits == 0 || !known {
			return 0, errors.New("is not a whole number with a known unit")
		}
		n, err := strconv.ParseInt(s[:digits], 10, 64)
		if err != nil || n > math.MaxInt64/factor || n*factor < least || n*factor > most {
			return 0, errors.New("is out of range")
		}
		return n * factor, nil
	}
}

func parseListen(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return "", errors.New("is not an address with a port")
	}
	if _, err := wholeNumber(0, 65535)(port); err != nil {
		return "", fmt.Errorf("has a port that %w", err)
	}
	if strings.ContainsAny(host, "/@ ") {
		return "", errors.New("has a host that is neither a name nor an IP address")
	}
	return s, nil
}

func parseResolver(s string) (string, error) {
	if _, err := netip.ParseAddr(s); err == nil {
		return s, nil
	}
	if _, err := netip.ParseAddrPort(s); err == nil {
		return s, nil
	}
	return "", errors.New("is not an IP address")
}

// parseURL reads a URL that has one of the schemes and a host. It never repeats what url.Parse says: that quotes the
// URL, with the password in it.
func parseURL(s string, schemes ...string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case !slices.ContainsFunc(schemes, func(scheme string) bool { return strings.HasPrefix(strings.ToLower(s), scheme+"://") }):
		return nil, fmt.Errorf("does not start with %s://", strings.Join(schemes, ":// or "))
	case err != nil, strings.Contains(s, "@") && u.User == nil, u.Fragment != "":
		return nil, errors.New("is not a URL; special characters in a name or password are written as %40 and the like")
	case strings.Contains(s, " "):
		return nil, errors.New("contains a space")
	}
	return u, nil
}

// parseWebURL takes a URL to which paths are added, and returns it without a slash at its end.
func parseWebURL(s string) (string, error) {
	u, err := parseURL(s, "http", "https")
	switch {
	case err != nil:
		return "", err
	case u.Hostname() == "":
		return "", errors.New("has no host")
	case u.User != nil:
		return "", errors.New("holds a user name or password")
	case u.RawQuery != "" || u.ForceQuery:
		return "", errors.New("holds a ?")
	}
	return strings.TrimRight(s, "/"), nil
}

// parsePublicURL is stricter, since the host gets into a Content-Security-Policy.
func parsePublicURL(s string) (string, error) {
	s, err := parseWebURL(s)
	if err != nil {
		return "", err
	}
	if u, err := url.Parse(s); err != nil || strings.ContainsAny(u.Host, ";,'*") || u.Fragment != "" {
		return "", errors.New("is not the address of a bucket")
	}
	return s, nil
}

func parseOrigin(s string) (string, error) {
	s, err := parseWebURL(s)
	if err == nil && strings.Count(s, "/") > 2 {
		return "", errors.New("has a path: the app has to be at the root of its host")
	}
	return s, err
}

// parseCORSOrigin takes an origin as browsers send it, or the star for all.
func parseCORSOrigin(s string) (string, error) {
	if s == "*" {
		return s, nil
	}
	s, err := parseOrigin(s)
	return strings.ToLower(s), err
}

func parseProxy(s string) (string, error) {
	u, err := parseURL(s, "http", "https", "socks5")
	if err == nil && u.Hostname() == "" {
		err = errors.New("has no host")
	}
	return s, err
}

// parseDatabaseURL leaves the host to the driver: it may stand in the query, as a socket's folder.
func parseDatabaseURL(s string) (string, error) {
	u, err := parseURL(s, "postgres", "postgresql")
	if err == nil && u.Host == "" && u.Query().Get("host") == "" {
		err = errors.New("has no host")
	}
	return s, err
}

var bucketForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$`)

func parseBucket(s string) (string, error) {
	if !bucketForm.MatchString(s) {
		return "", errors.New("is not a bucket name")
	}
	return s, nil
}

var prefixForm = regexp.MustCompile(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*/?$`)

func parsePrefix(s string) (string, error) {
	dots := slices.ContainsFunc(strings.Split(s, "/"), func(name string) bool { return name == "." || name == ".." })
	if !prefixForm.MatchString(s) || dots || len(s) > 100 {
		return "", errors.New("is not a path of folder names")
	}
	return s, nil
}

func parseToken(s string) (string, error) {
	if len(s) < 16 || len(s) > 256 {
		return "", errors.New("is too short or too long")
	}
	return parseWord(s)
}
