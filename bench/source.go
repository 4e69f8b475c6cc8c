package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// hosts is on how many loopback addresses the source is: the client takes
// four images at once from one host, and images come from many.
const hosts = 16

// source plays the hosts where images are made. It is a process of its own, so
// that its memory and time are not counted as the worker's.
type source struct {
	mu      sync.Mutex
	images  map[int][]byte // by size
	seen    map[string]bool
	hanging atomic.Int64
}

// serveSource prints its port and serves until the context ends or in closes,
// as it does when the process that started it dies.
func serveSource(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		io.Copy(io.Discard, in)
		stop()
	}()
	listeners, port, err := listenEverywhere()
	if err != nil {
		return err
	}
	s := &source{images: map[int][]byte{}, seen: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /img/{name}", s.image)
	mux.HandleFunc("GET /hanging", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, s.hanging.Load()) })
	server := &http.Server{Handler: mux}
	var serving sync.WaitGroup
	for _, l := range listeners {
		serving.Go(func() { server.Serve(l) })
	}
	fmt.Fprintln(out, port)
	<-ctx.Done()
	server.Close()
	serving.Wait()
	return nil
}

// listenEverywhere takes one port on all the addresses.
func listenEverywhere() ([]net.Listener, int, error) {
	var err error
	for range 20 {
		var list []net.Listener
		port := 0
		for n := range hosts {
			var l net.Listener
			if l, err = net.Listen("tcp", net.JoinHostPort(host(n), strconv.Itoa(port))); err != nil {
				break
			}
			list, port = append(list, l), l.Addr().(*net.TCPAddr).Port
		}
		if err == nil {
			return list, port, nil
		}
		for _, l := range list {
			l.Close()
		}
	}
	return nil, 0, fmt.Errorf("listen on %s to %s: %w", host(0), host(hosts-1), err)
}

func host(n int) string { return fmt.Sprintf("127.0.0.%d", n%hosts+1) }

// image serves an image of ?size bytes. With ?hang the first request for a
// name is not answered until its client goes away, so that a job can be caught
// in the middle of its work.
func (s *source) image(w http.ResponseWriter, r *http.Request) {
	size, err := strconv.Atoi(r.FormValue("size"))
	if err != nil || size < 1 {
		http.Error(w, "size is a number of bytes", http.StatusBadRequest)
		return
	}
	if r.FormValue("hang") != "" && s.first(r.PathValue("name")) {
		s.hanging.Add(1)
		defer s.hanging.Add(-1)
		<-r.Context().Done()
		return
	}
	picture, err := s.picture(size)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Content-Length", strconv.Itoa(len(picture)))
	w.Write(picture)
}

func (s *source) first(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.seen[name]
	s.seen[name] = true
	return first
}

func (s *source) picture(size int) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.images[size] == nil {
		var err error
		if s.images[size], err = noise(size); err != nil {
			return nil, err
		}
	}
	return s.images[size], nil
}

// sourceProcess is the source from the outside.
type sourceProcess struct {
	port int
	stop func()
}

func startSource(ctx context.Context) (*sourceProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-child", "source")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the image source: %w", err)
	}
	s := &sourceProcess{stop: func() { in.Close(); cmd.Wait() }}
	text, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		s.port, err = strconv.Atoi(strings.TrimSpace(text))
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("start the image source: %w", err)
	}
	return s, nil
}

// url is the address of the nth image.
func (s *sourceProcess) url(n, size int) string {
	return fmt.Sprintf("http://%s:%d/img/%d?size=%d", host(n), s.port, n, size)
}

// allowed are the rules that let the client reach the source.
func (s *sourceProcess) allowed() string {
	var rules []string
	for n := range hosts {
		rules = append(rules, net.JoinHostPort(host(n), strconv.Itoa(s.port)))
	}
	return strings.Join(rules, ",")
}

// hanging is how many requests are left unanswered now.
func (s *sourceProcess) hanging(ctx context.Context) (int, error) {
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host(0), strconv.Itoa(s.port)), Path: "/hanging"}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 20))
	if err != nil {
		return 0, err
	}
	if answer.StatusCode != http.StatusOK {
		return 0, errors.New("the source does not say how many requests hang")
	}
	return strconv.Atoi(string(text))
}
