package fetch

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// decode undoes the content encoding. A label that is wrong does no harm: stores serve objects as
// "gzip" or "utf-8" that are neither, and if the bytes are an image as they stand, they decide.
func decode(h http.Header, body io.Reader) (io.Reader, error) {
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(h.Values("Content-Encoding"), ",")))
	switch encoding {
	case "", "identity", "none", "binary", "aws-chunked":
		return body, nil
	}
	r := bufio.NewReader(body)
	start, _ := r.Peek(sniffLen) // its error comes again with the first read
	switch {
	case sniff(start).walk != nil:
		return r, nil
	case encoding != "gzip" && encoding != "x-gzip":
		return nil, final(Odd, fmt.Sprintf("content encoding %.40q", encoding))
	case !isGzip(start):
		return r, nil
	}
	return newGunzip(r)
}

func isGzip(b []byte) bool { return len(b) >= 2 && b[0] == 0x1f && b[1] == 0x8b }

// gunzip reads gzip members up to the first bytes that are none. Those are skipped, as every other
// client does.
type gunzip struct {
	src *bufio.Reader
	z   *gzip.Reader
}

func newGunzip(src *bufio.Reader) (*gunzip, error) {
	z, err := gzip.NewReader(src)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &gunzip{src, z}, nil
}

func (g *gunzip) Read(b []byte) (int, error) {
	n, err := g.z.Read(b)
	if err != io.EOF {
		return n, err
	}
	if start, _ := g.src.Peek(2); !isGzip(start) {
		if _, err := io.Copy(io.Discard, g.src); err != nil {
			return n, err
		}
		return n, io.EOF
	}
	if err := g.z.Reset(g.src); err != nil {
		return n, err
	}
	g.z.Multistream(false)
	return n, nil
}
