package generate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// jsonStream reads JSON a value at a time, and one string of any length as a
// stream: encoding/json holds every string as a whole, and here a string is an
// image. It checks no more than it needs to find its way.
type jsonStream struct {
	r *bufio.Reader
}

// errNotJSON is an answer that is not what an images API sends.
var errNotJSON = errors.New("the answer is not JSON of an images API")

func newJSONStream(r io.Reader) *jsonStream {
	return &jsonStream{r: bufio.NewReaderSize(r, 32<<10)}
}

// next skips white space and gives the byte after it without taking it.
func (s *jsonStream) next() (byte, error) {
	for {
		b, err := s.r.Peek(1)
		if err != nil {
			return 0, cutOff(err)
		}
		switch b[0] {
		case ' ', '\t', '\r', '\n':
			_, _ = s.r.Discard(1) // it was there a moment ago
		default:
			return b[0], nil
		}
	}
}

// cutOff: inside a value, the end of the body is never a good end.
func cutOff(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// startsWith says whether the next value begins with text.
func (s *jsonStream) startsWith(text string) bool {
	if _, err := s.next(); err != nil {
		return false
	}
	b, _ := s.r.Peek(len(text)) // a short answer does not start with it
	return string(b) == text
}

// take takes one of the wanted bytes, after white space.
func (s *jsonStream) take(wanted string) (byte, error) {
	c, err := s.next()
	if err != nil {
		return 0, err
	}
	if bytes.IndexByte([]byte(wanted), c) < 0 {
		return 0, fmt.Errorf("%w: %q where one of %q should be", errNotJSON, c, wanted)
	}
	_, _ = s.r.Discard(1)
	return c, nil
}

// object calls f for each field, which reads the field's value.
func (s *jsonStream) object(f func(key string) error) error {
	return s.list('{', '}', func(int) error {
		raw, err := s.raw(1 << 10)
		if err != nil {
			return err
		}
		var key string
		if json.Unmarshal(raw, &key) != nil {
			return fmt.Errorf("%w: a field without a name", errNotJSON)
		}
		if _, err := s.take(":"); err != nil {
			return err
		}
		return f(key)
	})
}

// array calls f for each element, which reads it. Null is an empty array.
func (s *jsonStream) array(f func(index int) error) error {
	if s.startsWith("null") {
		return s.skip()
	}
	return s.list('[', ']', f)
}

func (s *jsonStream) list(opening, closing byte, f func(int) error) error {
	if _, err := s.take(string(opening)); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if c, err := s.next(); err != nil {
			return err
		} else if c == closing && i == 0 {
			_, err := s.take(string(closing))
			return err
		}
		if err := f(i); err != nil {
			return err
		}
		c, err := s.take("," + string(closing))
		if err != nil || c == closing {
			return err
		}
	}
}

// skip passes over a value of any size.
func (s *jsonStream) skip() error { return s.walk(func(byte) error { return nil }) }

// raw is a value as it stands, of limit bytes at most.
func (s *jsonStream) raw(limit int) ([]byte, error) {
	var out []byte
	err := s.walk(func(c byte) error {
		if len(out) == limit {
			return errTooLarge
		}
		out = append(out, c)
		return nil
	})
	return out, err
}

// walk passes over a value, showing each byte. It counts brackets instead of
// calling itself, so that no nesting is too deep.
func (s *jsonStream) walk(show func(byte) error) error {
	first, err := s.next()
	if err != nil {
		return err
	}
	if bytes.IndexByte([]byte(",:]}"), first) >= 0 {
		return fmt.Errorf("%w: a value is missing", errNotJSON)
	}
	depth, inString := 0, false
	for {
		b, err := s.r.Peek(1)
		if err != nil {
			return cutOff(err)
		}
		c := b[0]
		if depth == 0 && !inString && bytes.IndexByte([]byte(",]} \t\r\n"), c) >= 0 {
			return nil // the end of a number or a word
		}
		_, _ = s.r.Discard(1)
		if err := show(c); err != nil {
			return err
		}
		switch {
		case c == '\\' && inString:
			if c, err = s.r.ReadByte(); err != nil {
				return cutOff(err)
			}
			if err := show(c); err != nil {
				return err
			}
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth == 0 && !inString && (c == '"' || c == '}' || c == ']') {
			return nil
		}
	}
}

// text is the next value, a string, as a stream of its contents.
func (s *jsonStream) text() io.Reader {
	_, _ = s.take(`"`) // the caller has looked
	return &jsonText{s: s}
}

// jsonText gives the contents of a string up to its closing quote.
type jsonText struct {
	s    *jsonStream
	done bool
}

// Read gives what has arrived, and waits only if that is nothing.
func (t *jsonText) Read(p []byte) (int, error) {
	if t.done || len(p) == 0 {
		return 0, t.end()
	}
	if _, err := t.s.r.Peek(1); err != nil {
		return 0, cutOff(err)
	}
	arrived, _ := t.s.r.Peek(min(t.s.r.Buffered(), len(p)))
	n := len(arrived)
	for _, special := range []byte{'"', '\\'} {
		if at := bytes.IndexByte(arrived[:n], special); at >= 0 {
			n = at
		}
	}
	if n > 0 {
		copy(p, arrived[:n])
		_, _ = t.s.r.Discard(n)
		return n, nil
	}
	c, _ := t.s.r.ReadByte() // the special one
	if c == '"' {
		t.done = true
		return 0, io.EOF
	}
	c, err := t.escape()
	if err != nil {
		return 0, err
	}
	p[0] = c
	return 1, nil
}

func (t *jsonText) end() error {
	if t.done {
		return io.EOF
	}
	return nil
}

// escape reads what follows a backslash. Some servers write "/", "+" and "="
// this way; a character beyond ASCII has no business in base64.
func (t *jsonText) escape() (byte, error) {
	c, err := t.s.r.ReadByte()
	if err != nil {
		return 0, cutOff(err)
	}
	switch c {
	case 'n', 'r', 't':
		return '\n', nil
	case 'u':
		var hex [4]byte
		if _, err := io.ReadFull(t.s.r, hex[:]); err != nil {
			return 0, cutOff(err)
		}
		v, err := strconv.ParseUint(string(hex[:]), 16, 7)
		if err != nil {
			return 0, fmt.Errorf("%w: the escape \\u%q in an image", errNotJSON, hex)
		}
		return byte(v), nil
	}
	return c, nil
}
