package fetch

import (
	"io"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxText  = 200  // bytes of a text answer that operators see
	readText = 1024 // bytes that are read for it: secrets must be seen whole to be cut out
)

// textOf reads the start of an answer for people; "" when it is no text.
func textOf(body io.Reader, secrets []string) string {
	buf := make([]byte, readText)
	n, _ := fill(body, buf, len(buf)) // what came is worth showing, whatever ended it
	return describe(buf[:n], secrets)
}

// describe gives the first 200 bytes of a text answer in one line, without secrets; "" when b is no
// text.
func describe(b []byte, secrets []string) string {
	b = b[:min(len(b), readText)]
	if len(b) == readText {
		b = wholeRunes(b)
	}
	if !isText(b) {
		return ""
	}
	s := string(b)
	for _, secret := range secrets {
		s = strings.ReplaceAll(s, secret, "…")
	}
	s = urlQuery.ReplaceAllString(s, "?…")
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxText {
		return string(wholeRunes([]byte(s[:maxText])))
	}
	if len(b) >= readText-utf8.UTFMax { // the last word may be the first half of a secret
		s = s[:strings.LastIndexAny(s, " <>\"")+1]
	}
	return s
}

// urlQuery finds queries of URLs and of paths.
var urlQuery = regexp.MustCompile(`\?[^\s"'<>?]*=[^\s"'<>]*`)

// plain makes an error's text safe to show: one printable line, no quoted bytes of an answer.
func plain(s string) string {
	if strings.Contains(s, `\x`) || !isText([]byte(s)) {
		return "the answer makes no sense"
	}
	return describe([]byte(s), nil)
}

func isText(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	for _, r := range string(b) {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return false
		}
	}
	return len(b) > 0
}

// wholeRunes drops a rune that was cut at the end.
func wholeRunes(b []byte) []byte {
	for i := 0; i < utf8.UTFMax && len(b) > 0; i++ {
		if r, n := utf8.DecodeLastRune(b); r != utf8.RuneError || n != 1 {
			break
		}
		b = b[:len(b)-1]
	}
	return b
}

// secretsOf lists the values of a query in every spelling in which an answer may repeat them.
func secretsOf(rawQuery string) []string {
	var out []string
	for pair := range strings.SplitSeq(rawQuery, "&") {
		_, value, _ := strings.Cut(pair, "=")
		for _, v := range spellings(value) {
			if len(v) >= 6 { // shorter ones are flags and sizes
				out = append(out, v)
			}
		}
	}
	return out
}

func spellings(value string) []string {
	plain, err := url.QueryUnescape(value)
	if err != nil || plain == value {
		return []string{value}
	}
	spaced, _ := url.PathUnescape(value) // + stays +
	return []string{value, plain, spaced}
}
