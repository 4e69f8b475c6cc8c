package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"afterimage/records"
)

// apiWait measures from the commit of a change to the answer of a request that
// is held for it, over a socket.
func apiWait(ctx context.Context, b *bench) error {
	w, err := b.newAPI(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	site := httptest.NewServer(w.server)
	defer site.Close()
	page, err := w.db.Images(ctx, w.persons[0], records.ImageFilter{Limit: 1})
	if err != nil {
		return err
	}
	var took latencies
	for n := range 300 {
		r, err := nethttp.NewRequestWithContext(ctx, "GET", site.URL+"/api/v1/images/"+page[0].ID, nil)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+w.key)
		first, err := site.Client().Do(r)
		if err != nil {
			return err
		}
		first.Body.Close()
		held := r.Clone(ctx)
		held.URL.RawQuery = "wait=25s"
		held.Header.Set("If-None-Match", first.Header.Get("ETag"))
		answered := make(chan time.Time, 1)
		go func() {
			if res, err := site.Client().Do(held); err == nil {
				res.Body.Close()
				answered <- time.Now()
			}
			close(answered)
		}()
		wait(ctx, 10*time.Millisecond)
		favorite := n%2 == 0
		if err := w.db.MarkImage(ctx, w.persons[0], page[0].ID, records.Marks{Favorite: &favorite}); err != nil {
			return err
		}
		committed := time.Now()
		at, ok := <-answered
		if !ok {
			return fmt.Errorf("a held request broke off")
		}
		took = append(took, max(0, at.Sub(committed)))
	}
	slices.Sort(took)
	b.table.add(line{what: "change committed → held answer, p50 / p99 ms", base: "–", ours: fmt.Sprintf("%.1f / %.1f ms", took.p(50), took.p(99)),
		figures: []figure{{took.p(50), 5, false}, {took.p(99), 50, false}}})
	return nil
}

// apiEvents has 1,000 listeners, 100 for each of ten people, whose images
// change 100 times a second each. Each listener has to learn the last change of
// every image. The memory is that of this process, listeners' side included.
func apiEvents(ctx context.Context, b *bench) error {
	w, err := b.newAPI(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	site := httptest.NewServer(w.server)
	defer site.Close()
	defer w.server.Drain()
	before := resident()
	e := &listeners{apiWorld: w, url: site.URL}
	if err := e.open(ctx); err != nil {
		return err
	}
	if err := e.change(ctx, 5*time.Second); err != nil {
		return err
	}
	lost := e.missing(ctx)
	over := resident() - before
	b.table.add(line{what: "1,000 event streams, 1,000 changes/s: lost, MB", base: "–", ours: fmt.Sprintf("%d lost, %d changes, %.0f MB", lost, e.changes.Load(), over),
		figures: []figure{{float64(lost), 0, false}, {over, 100, false}}})
	return nil
}

type listeners struct {
	*apiWorld
	url     string
	people  [][]string // ids of images
	users   []string
	changes atomic.Int64
	mu      sync.Mutex
	seen    []map[string]int // by listener: how often an image was a favorite last, by id
}

func (e *listeners) open(ctx context.Context) error {
	for p := range 10 {
		u, err := e.db.CreateUser(ctx, "listener"+strconv.Itoa(p), records.NewID(), records.Member)
		if err != nil {
			return err
		}
		_, key, err := e.db.CreateKey(ctx, u.ID, "bench", []string{records.ScopeImagesRead}, 0)
		if err != nil {
			return err
		}
		items := slices.Repeat([]records.ImportItem{{URL: "http://127.0.0.1/gone", Reason: "source_expired", Prompt: "a lighthouse"}}, 10)
		_, images, err := e.db.CreateImport(ctx, u.ID, items, records.Idempotency{})
		if err != nil {
			return err
		}
		var ids []string
		for _, i := range images {
			ids = append(ids, i.ID)
		}
		e.users, e.people = append(e.users, u.ID), append(e.people, ids)
		for range 100 {
			if err := e.listen(ctx, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// listen opens one stream and notes the latest event of each image. It speaks
// HTTP/1.0, which has no chunks, with a buffer of its own, so that little of
// what is measured is the listeners'.
func (e *listeners) listen(ctx context.Context, key string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", strings.TrimPrefix(e.url, "http://"))
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, "GET /api/v1/events HTTP/1.0\r\nAuthorization: Bearer %s\r\n\r\n", key); err != nil {
		return err
	}
	seen := map[string]int{}
	e.seen = append(e.seen, seen)
	go func() {
		defer conn.Close()
		lines := bufio.NewReaderSize(conn, 2048)
		for {
			text, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if data, ok := strings.CutPrefix(text, `data: {"id":"`); ok {
				mark := 0
				if strings.Contains(data, `"favorite":true`) {
					mark = 1
				}
				e.mu.Lock()
				seen[data[:32]] = mark
				e.mu.Unlock()
			}
		}
	}()
	return nil
}

// change marks each person's images in turn, 100 times a second.
func (e *listeners) change(ctx context.Context, long time.Duration) error {
	var g errgroup.Group
	for p := range e.people {
		g.Go(func() error {
			return paced(ctx, 10*time.Millisecond, int(long/(10*time.Millisecond)), func(n int) {
				favorite := n/10%2 == 0
				if err := e.db.MarkImage(ctx, e.users[p], e.people[p][n%10], records.Marks{Favorite: &favorite}); err == nil {
					e.changes.Add(1)
				}
			})
		})
	}
	return g.Wait()
}

// missing counts what listeners do not know two seconds after the last change.
func (e *listeners) missing(ctx context.Context) (lost int) {
	wait(ctx, 2*time.Second)
	e.mu.Lock()
	defer e.mu.Unlock()
	for n, seen := range e.seen {
		p := n / 100
		images, err := e.db.Images(ctx, e.users[p], records.ImageFilter{Limit: 10})
		if err != nil {
			return -1
		}
		for _, i := range images {
			if mark, ok := seen[i.ID]; !ok || (mark == 1) != i.Favorite {
				lost++
			}
		}
	}
	return lost
}

// resident is the memory of this process in MB; only Linux says it.
func resident() float64 {
	text, _ := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.Atoi(fields[1])
	return float64(pages*os.Getpagesize()) / 1e6
}
