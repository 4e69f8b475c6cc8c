package fetch

import (
	"encoding/base64"
	"io"
	"strings"
)

// isData says whether raw is a data: URL.
func isData(raw string) bool {
	return len(raw) >= 5 && strings.EqualFold(raw[:5], "data:")
}

// getData decodes a data: URL. Some providers answer with one; nothing goes over the network.
func (c *Client) getData(raw string, dst io.Writer) (Fetched, error) {
	head, payload, ok := strings.Cut(raw[len("data:"):], ",")
	if !ok {
		return Fetched{}, final(Corrupt, "a data: URL without data")
	}
	var body io.Reader = &unescaper{s: payload}
	media, isBase64 := cutSuffixFold(head, ";base64")
	if isBase64 {
		body = base64.NewDecoder(base64.RawStdEncoding, &base64Cleaner{r: body})
	}
	size, sum, err := c.copy(dst, body, -1, nil)
	if _, bad := err.(base64.CorruptInputError); bad || err == io.ErrUnexpectedEOF {
		return Fetched{}, final(Corrupt, "a data: URL whose base64 is damaged")
	}
	if e, ok := err.(*Error); ok {
		e.Final = true // the same URL holds the same bytes for ever
	}
	if err != nil {
		return Fetched{}, err
	}
	return Fetched{Size: size, SHA256: sum, ContentType: media}, nil
}

func cutSuffixFold(s, suffix string) (string, bool) {
	s = strings.TrimSpace(s)
	if n := len(s) - len(suffix); n >= 0 && strings.EqualFold(s[n:], suffix) {
		return s[:n], true
	}
	return s, false
}

// unescaper undoes percent-encoding while it is read. A percent sign that begins nothing stays.
type unescaper struct{ s string }

func (u *unescaper) Read(b []byte) (n int, err error) {
	for n < len(b) && u.s != "" {
		c, width := u.s[0], 1
		if c == '%' && len(u.s) >= 3 && isHex(u.s[1]) && isHex(u.s[2]) {
			c, width = unhex(u.s[1])<<4|unhex(u.s[2]), 3
		}
		b[n] = c
		u.s = u.s[width:]
		n++
	}
	if n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func unhex(b byte) byte {
	if b <= '9' {
		return b - '0'
	}
	return (b | 0x20) - 'a' + 10
}

// base64Cleaner brings the ways in which base64 is written down to one: without spaces and padding,
// in the standard alphabet.
type base64Cleaner struct {
	r    io.Reader
	done bool // padding has come
}

func (c *base64Cleaner) Read(b []byte) (int, error) {
	for {
		n, err := c.r.Read(b)
		kept := b[:0]
		for _, ch := range b[:n] {
			switch ch {
			case ' ', '\t', '\r', '\n':
				continue
			case '-':
				ch = '+'
			case '_':
				ch = '/'
			case '=':
				c.done = true
				continue
			}
			if c.done {
				return len(kept), base64.CorruptInputError(0) // data after its own end
			}
			kept = append(kept, ch)
		}
		if len(kept) > 0 || err != nil || len(b) == 0 {
			return len(kept), err
		}
	}
}
