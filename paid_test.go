package main

import (
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// predictions is a server that answers as Replicate's API does, with one
// prediction whose first link is dead.
type predictions struct {
	*httptest.Server
	bought, asked atomic.Int32
	done          atomic.Bool
	heard         chan string // what is asked, until somebody has heard it
	mute          bool        // it accepts, and its answer never comes
}

func newPredictions(t *testing.T) *predictions {
	t.Helper()
	p := &predictions{heard: make(chan string, 1)}
	picture := smallPNG(t)
	mux := nethttp.NewServeMux()
	mux.HandleFunc("POST /v1/models/{owner}/{name}/predictions", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		io.Copy(io.Discard, r.Body) // else the server does not notice that its client has died
		p.bought.Add(1)
		if p.mute {
			p.heard <- "accepted"
			<-r.Context().Done()
			return
		}
		w.WriteHeader(nethttp.StatusCreated)
		fmt.Fprint(w, `{"id":"p1","status":"starting","output":null,"urls":{}}`)
	})
	mux.HandleFunc("GET /v1/predictions/p1", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		select {
		case p.heard <- "asked":
		default:
		}
		if !p.done.Load() {
			fmt.Fprint(w, `{"id":"p1","status":"processing","output":null}`)
			return
		}
		fmt.Fprintf(w, `{"id":"p1","status":"succeeded","output":["%s/out.png?n=%d"]}`, p.URL, p.asked.Add(1))
	})
	mux.HandleFunc("GET /out.png", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Query().Get("n") == "1" || r.Header.Get("Authorization") != "" {
			w.WriteHeader(nethttp.StatusNotFound)
			return
		}
		w.Write(picture)
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *predictions) environ(dir string) []string {
	return testEnviron(dir, "REPLICATE_BASE_URL="+p.URL, "REPLICATE_API_TOKEN=r8_test")
}

// TestKilledAfterTheProviderAccepted: a process that is killed with kill -9
// when its provider has accepted leaves a call that is resumed by its name, or
// one of unknown outcome; never a second one.
func TestKilledAfterTheProviderAccepted(t *testing.T) {
	for name, mute := range map[string]bool{"with its name: resumed, and its dead link resolved": false, "before the name came: unknown": true} {
		t.Run(name, func(t *testing.T) {
			p := newPredictions(t)
			p.mute = mute
			dir := t.TempDir()
			first := startProcess(t, p.environ(dir))
			c := first.client()
			var made struct {
				ID     string
				Images []image
			}
			c.call("POST", "/api/v1/generations", map[string]any{"prompt": "A lighthouse", "provider": "replicate"}, 202, &made)
			<-p.heard
			first.kill()
			p.done.Store(true)

			second := startProcess(t, p.environ(dir))
			again := &client{second, c.key}
			if mute {
				again.await(made.ID, "unknown")
			} else {
				for _, i := range again.follow(ids(made.Images)) {
					again.checkKept(i)
				}
			}
			if n := p.bought.Load(); n != 1 {
				t.Errorf("it was bought %d times", n)
			}
		})
	}
}

// await waits until a generation has a status.
func (c *client) await(id, status string) {
	c.t.Helper()
	var now struct{ Status string }
	for deadline := time.Now().Add(time.Minute); now.Status != status; {
		if time.Now().After(deadline) {
			c.t.Fatalf("the generation is %s:\n%s", now.Status, c.out)
		}
		c.call("GET", "/api/v1/history?wait=2s", nil, 200, nil)
		c.call("GET", "/api/v1/generations/"+id, nil, 200, &now)
	}
}
