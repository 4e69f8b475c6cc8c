package http_test

import (
	"context"
	"crypto/sha256"
	nethttp "net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"afterimage/records"
	"afterimage/records/recordstest"
	"afterimage/storage"
)

// gaveUp sends a request whose client goes away once the provider is at it.
func (v *visitor) gaveUp(m *maker, body string, headers ...string) {
	v.w.t.Helper()
	ctx, cancel := context.WithCancel(v.w.t.Context())
	req, err := nethttp.NewRequestWithContext(ctx, "POST", v.w.url+"/v1/images/generations", strings.NewReader(body))
	if err != nil {
		v.w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+v.key)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	go func() { <-m.begun; cancel() }()
	if res, err := v.client.Do(req); err == nil {
		res.Body.Close()
		v.w.t.Error("it was answered")
	}
}

// A client that gives up and asks again gets what its first attempt bought;
// with several such clients each finds its own.
func TestARepeatByTheClientItselfJoinsItsFirstAttempt(t *testing.T) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		m := newMaker(t)
		m.begun, m.let = make(chan struct{}), make(chan struct{})
		w := newWorld(t, c, withMaker(t, m))
		w.works(append(w.generating(), w.archiving()...)...)
		ann := w.person("ann")
		p := w.program(w.key(ann, records.ScopeImagesWrite))
		const body = `{"prompt":"a fox","model":"gpt-image-1"}`
		p.gaveUp(m, body, "X-Stainless-Retry-Count: 0")
		p.gaveUp(m, body, "X-Stainless-Retry-Count: 0")

		ids := make(chan string, 2)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				var got imagesAnswer
				p.call("POST", "/v1/images/generations", body, "X-Stainless-Retry-Count: 1").wants(200).into(&got)
				ids <- got.Data[0].Afterimage.ID
			})
		}
		close(m.let)
		both.Wait()
		if first, second := <-ids, <-ids; first == second {
			t.Error("both got the same image")
		}
		if m.count() != 2 || w.images() != 2 {
			t.Errorf("the provider was called %d times for %d images", m.count(), w.images())
		}

		m.begun = nil
		w.run("unless it is another request", func(t *testing.T) {
			p.call("POST", "/v1/images/generations", `{"prompt":"a hen","model":"gpt-image-1"}`, "X-Stainless-Retry-Count: 1").wants(200)
			other := w.program(w.key(ann, records.ScopeImagesWrite))
			other.call("POST", "/v1/images/generations", body, "X-Stainless-Retry-Count: 1").wants(200)
			p.call("POST", "/v1/images/generations", body, "X-Stainless-Retry-Count: 0").wants(200)
			p.call("POST", "/v1/images/generations", body).wants(200)
			if m.count() != 6 {
				t.Errorf("the provider was called %d times, want 6", m.count())
			}
		})
	})
}

// Ten images of 20 MB are 267 MB of base64. None of it is in memory but what is
// on its way.
func TestALargeAnswerIsNotHeldInMemory(t *testing.T) {
	const size, n = 20 << 20, 10
	w := newWorld(t, recordstest.SQLite(t), nil)
	p := w.program(w.key(w.person("ann"), records.ScopeImagesWrite))
	const body = `{"prompt":"a fox","n":10,"response_format":"b64_json"}`
	first := w.program(p.key)
	ctx, cancel := context.WithCancel(t.Context())
	req, _ := nethttp.NewRequestWithContext(ctx, "POST", w.url+"/v1/images/generations", strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+p.key)
	req.Header.Set("Idempotency-Key", "large")
	go func() {
		for w.images() == 0 {
			runtime.Gosched()
		}
		cancel()
	}()
	first.client.Do(req) // it has asked, and nobody has made anything

	object := storage.Object{Key: "large", ContentType: "image/png", Size: size}
	content := make([]byte, size)
	object.SHA256 = sha256.Sum256(content)
	if _, err := w.store.Put(t.Context(), object, strings.NewReader(string(content))); err != nil {
		t.Fatal(err)
	}
	w.Exec(t, `UPDATE images SET status = 'archived', object_key = 'large', mime = 'image/png', bytes = ?`, size)
	content = nil

	req, _ = nethttp.NewRequestWithContext(t.Context(), "POST", w.url+"/v1/images/generations", strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+p.key)
	req.Header.Set("Idempotency-Key", "large")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res, err := p.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	read, buffer := 0, make([]byte, 64<<10)
	for err == nil {
		var got int
		got, err = res.Body.Read(buffer)
		read += got
	}
	runtime.ReadMemStats(&after)
	if res.StatusCode != 200 || read < n*size/3*4 {
		t.Fatalf("the answer is %d with %d bytes", res.StatusCode, read)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("%d bytes were allocated for an answer of %d", used, read)
	}
}
