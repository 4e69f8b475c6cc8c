package archive_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"afterimage/storage"
)

// source is the network: what it answers, and when it was asked for what.
type source struct {
	mu     sync.Mutex
	asked  map[string][]time.Time // by path
	answer func(nth int, r *http.Request) (*http.Response, error)
}

// RoundTrip implements http.RoundTripper; nth counts from 1 for each path.
func (s *source) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(time.Millisecond) // time goes on in a bubble too
	s.mu.Lock()
	s.asked[r.URL.Path] = append(s.asked[r.URL.Path], time.Now())
	nth, answer := len(s.asked[r.URL.Path]), s.answer
	s.mu.Unlock()
	if answer == nil {
		return ok(picture(r.URL.Path)), nil
	}
	return answer(nth, r)
}

func (s *source) answers(answer func(nth int, r *http.Request) (*http.Response, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// times are when a path was asked for, counted from the first time.
func (s *source) times(path string) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []time.Duration
	for _, at := range s.asked[path] {
		list = append(list, at.Sub(s.asked[path][0]))
	}
	return list
}

func ok(body []byte) *http.Response { return answer(http.StatusOK, body) }

func answer(status int, body []byte, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body))}
}

// untilDone waits for the end of a request, as a source that hangs does.
func untilDone(ctx context.Context) (*http.Response, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// faultyStore is a disk that does what the test says first.
type faultyStore struct {
	*storage.Disk
	mu    sync.Mutex
	fault func(ctx context.Context, op, key string) error
	puts  map[string]int // by key; not those of a check
	tried int            // puts begun
	check int            // checks begun
	now   int            // puts that run
	most  int            // the most that ran together
}

func (s *faultyStore) Put(ctx context.Context, o storage.Object, body io.ReadSeeker) (storage.Info, error) {
	time.Sleep(time.Millisecond)
	s.mu.Lock()
	s.tried++
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.now--; s.mu.Unlock() }()
	if err := s.trouble(ctx, "put", o.Key); err != nil {
		return storage.Info{}, err
	}
	info, err := s.Disk.Put(ctx, o, body)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.puts == nil {
			s.puts = map[string]int{}
		}
		s.puts[o.Key]++
	}
	return info, err
}

func (s *faultyStore) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, storage.Info, error) {
	if err := s.trouble(ctx, "open", key); err != nil {
		return nil, storage.Info{}, err
	}
	return s.Disk.Open(ctx, key, offset, length)
}

func (s *faultyStore) Delete(ctx context.Context, key string) error {
	if err := s.trouble(ctx, "delete", key); err != nil {
		return err
	}
	return s.Disk.Delete(ctx, key)
}

func (s *faultyStore) Check(ctx context.Context) error {
	s.mu.Lock()
	s.check++
	s.mu.Unlock()
	if err := s.trouble(ctx, "check", ""); err != nil {
		return err
	}
	return s.Disk.Check(ctx)
}

func (s *faultyStore) trouble(ctx context.Context, op, key string) error {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(ctx, op, key)
}

// fails makes every call fail, or none.
func (s *faultyStore) fails(err error) {
	s.does(func(context.Context, string, string) error { return err })
}

func (s *faultyStore) does(fault func(ctx context.Context, op, key string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// counts are the puts and the checks that were begun.
func (s *faultyStore) counts() (puts, checks int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tried, s.check
}

// down is what a store says that cannot be reached.
func down() error {
	return &storage.Error{Reason: storage.ReasonUnreachable, Op: "put object", Err: io.ErrClosedPipe}
}

// picture is a PNG that only its name has. A name with "large" in it does not
// fit into memory on its way.
func picture(name string) []byte {
	pictures.Lock()
	defer pictures.Unlock()
	if file := pictures.made[name]; file != nil {
		return file
	}
	side := 16
	if strings.Contains(name, "large") {
		side = 500 // noise does not shrink: 750 KB
	}
	var seed [32]byte
	copy(seed[:], name)
	noise := rand.NewChaCha8(seed)
	img := image.NewNRGBA(image.Rect(0, 0, side, side))
	noise.Read(img.Pix)
	for i := 3; i < len(img.Pix); i += 4 {
		img.Pix[i] = 255
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	pictures.made[name] = b.Bytes()
	return b.Bytes()
}

var pictures = struct {
	sync.Mutex
	made map[string][]byte
}{made: map[string][]byte{}}
