package fetch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"sync"
)

// buffers serve the copying of bodies. One is taken for the length of one fetch.
var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

const (
	sniffLen = 512     // bytes that are looked at before any is handed on
	maxGrow  = 4 << 20 // bytes that a mere header may make a writer reserve
)

// fetch is one Get on its way.
type fetch struct {
	c       *Client
	parent  context.Context // the caller's
	ctx     context.Context // ended by watch too
	watch   *watch
	src     Source
	origins []string
	secrets []string // never in a detail
	jars    jars

	host     string // being asked
	slot     string // the name whose slot we have
	release  func() // of that slot
	answered bool   // headers have come
	got      int64  // bytes of the body so far
}

func (c *Client) get(ctx context.Context, src Source, dst io.Writer) (Fetched, error) {
	u, err := parseURL(src.URL)
	if err != nil {
		return Fetched{}, err
	}
	f := &fetch{c: c, parent: ctx, src: src, origins: origins(src.Origins), secrets: secretsOf(u.RawQuery)}
	var stop func()
	f.ctx, f.watch, stop = newWatch(ctx)
	defer stop()
	defer f.leave()

	resp, err := f.follow(u)
	if err != nil {
		return Fetched{}, f.explain(err)
	}
	defer resp.Body.Close()
	got, err := f.take(resp, dst)
	if err != nil {
		return Fetched{}, f.explain(err)
	}
	return got, nil
}

// take checks the answer and hands its body on.
func (f *fetch) take(resp *http.Response, dst io.Writer) (Fetched, error) {
	body := f.newPace(resp.Body)
	defer func() { f.got = body.total }()
	whole, err := f.judgeAnswer(resp, body)
	if err != nil {
		return Fetched{}, err
	}
	if whole > f.c.cfg.MaxBytes {
		return Fetched{}, f.c.tooManyBytes()
	}
	decoded, err := decode(resp.Header, body)
	if err != nil {
		return Fetched{}, err
	}
	size, sum, err := f.c.copy(dst, decoded, whole, f.secrets)
	if e, ok := errors.AsType[*Error](err); ok {
		e.Status = resp.StatusCode
	}
	if err != nil {
		return Fetched{}, err
	}
	if whole >= 0 && body.total != whole {
		return Fetched{}, passing(Corrupt, fmt.Sprintf("the body ended after %d of %d bytes", body.total, whole))
	}
	return Fetched{Size: size, SHA256: sum, Host: f.host, ContentType: resp.Header.Get("Content-Type")}, nil
}

// copy streams a body into dst and the hash, after a look at its first bytes. whole is the size
// that was announced, -1 when none was.
func (c *Client) copy(dst io.Writer, body io.Reader, whole int64, secrets []string) (int64, [32]byte, error) {
	buf := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buf)
	n, err := fill(body, buf[:], sniffLen)
	if n == 0 && err == io.EOF {
		return 0, [32]byte{}, passing(NotImage, "the answer is empty")
	}
	if err == nil || err == io.EOF {
		if err := judgeStart(buf[:n], secrets); err != nil {
			return 0, [32]byte{}, err
		}
	}
	if g, ok := dst.(interface{ Grow(int) }); ok && whole > 0 {
		g.Grow(int(min(whole, maxGrow)))
	}
	return c.stream(dst, body, buf[:], n, err)
}

// stream hands on the n bytes that buf holds, read with err, and then the rest.
func (c *Client) stream(dst io.Writer, body io.Reader, buf []byte, n int, err error) (size int64, sum [32]byte, _ error) {
	h := sha256.New()
	for {
		if size += int64(n); size > c.cfg.MaxBytes {
			return 0, sum, c.tooManyBytes()
		}
		if err := hand(dst, h, buf[:n]); err != nil {
			return 0, sum, err
		}
		if err == io.EOF {
			h.Sum(sum[:0])
			return size, sum, nil
		}
		if err != nil {
			return 0, sum, err
		}
		n, err = body.Read(buf)
	}
}

// writeError tells the caller's failure from the source's.
type writeError struct{ err error }

func (e *writeError) Error() string { return "hand on the bytes: " + e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

func hand(dst io.Writer, h hash.Hash, b []byte) error {
	h.Write(b)
	n, err := dst.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return &writeError{err}
	}
	return nil
}

// fill reads until buf holds atLeast bytes. Unlike io.ReadAtLeast it keeps the reader's own error:
// a body that was cut is not a body that ended.
func fill(r io.Reader, buf []byte, atLeast int) (n int, err error) {
	for n < atLeast && err == nil {
		var m int
		m, err = r.Read(buf[n:])
		n += m
	}
	return n, err
}

func (c *Client) tooManyBytes() *Error {
	e := final(TooLarge, fmt.Sprintf("more than %d bytes", c.cfg.MaxBytes))
	e.Setting = "IMAGE_ARCHIVE_MAX_BYTES"
	return e
}

// explain turns whatever ended the fetch into what Get promises.
func (f *fetch) explain(err error) error {
	if w, ok := errors.AsType[*writeError](err); ok {
		return w
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.at(f.host)
	}
	if cause := context.Cause(f.parent); cause != nil {
		return fmt.Errorf("fetch %s: %w", f.host, cause)
	}
	if cause := context.Cause(f.ctx); errors.Is(cause, errTimeout) {
		return passing(Slow, fmt.Sprintf("%v, %d bytes so far", cause, f.got)).at(f.host)
	}
	switch {
	case errors.Is(err, errTooManyBytes):
		return f.c.tooManyBytes().at(f.host)
	case errors.Is(err, errTooSlow):
		return passing(Slow, fmt.Sprintf("less than %d bytes a second, %d bytes so far", f.c.cfg.MinSpeed, f.got)).at(f.host)
	}
	return networkError(err, f.answered).at(f.host)
}
