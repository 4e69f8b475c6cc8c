package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// vendor is a server that answers as OpenAI's images API documents it: a link
// for dall-e models, bytes for gpt-image ones.
type vendor struct {
	*httptest.Server
	calls atomic.Int32
	dead  atomic.Bool   // its links have died
	busy  chan struct{} // not nil: a call is announced here, and never answered
}

func newVendor(t *testing.T) *vendor {
	t.Helper()
	v := &vendor{}
	picture := smallPNG(t)
	mux := nethttp.NewServeMux()
	mux.HandleFunc("POST /v1/images/generations", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		v.calls.Add(1)
		if r.Header.Get("Authorization") != "Bearer sk-test" {
			w.WriteHeader(nethttp.StatusUnauthorized)
			return
		}
		var req struct{ Model string }
		json.NewDecoder(r.Body).Decode(&req)
		if v.busy != nil {
			v.busy <- struct{}{}
			<-r.Context().Done()
			return
		}
		item := fmt.Sprintf(`{"b64_json":%q}`, base64.StdEncoding.EncodeToString(picture))
		if strings.HasPrefix(req.Model, "dall-e") {
			item = fmt.Sprintf(`{"url":%q,"revised_prompt":"A lighthouse, revised"}`, v.URL+"/private/img.png?sig=S3CRET%2Fa%2Bb")
		}
		fmt.Fprintf(w, `{"created":%d,"data":[%s]}`, time.Now().Unix(), item)
	})
	mux.HandleFunc("GET /private/img.png", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.RawQuery != "sig=S3CRET%2Fa%2Bb" || r.Header.Get("Authorization") != "" || v.dead.Load() {
			w.WriteHeader(nethttp.StatusForbidden)
			return
		}
		w.Write(picture)
	})
	v.Server = httptest.NewServer(mux)
	t.Cleanup(v.Close)
	return v
}

func (v *vendor) environ(dir string) []string {
	return testEnviron(dir, "OPENAI_BASE_URL="+v.URL, "OPENAI_API_KEY=sk-test", "OPENAI_MODELS=dall-e-3,gpt-image-1")
}

// TestOpenAICompatibleProvider keeps a link that is about to die, and bytes
// that exist only in the answer. The provider's server is on a private address
// and its own images are fetched from there without any further setting.
func TestOpenAICompatibleProvider(t *testing.T) {
	v := newVendor(t)
	dir := t.TempDir()
	c := start(t, v.environ(dir)).client()
	for n, model := range []string{"dall-e-3", "openai/gpt-image-1"} {
		var made struct{ Images []image }
		c.call("POST", "/api/v1/generations", map[string]any{"prompt": "A lighthouse", "model": model}, 202, &made)
		for _, i := range c.follow(ids(made.Images)) {
			v.dead.Store(true) // ours does not need it any more
			c.checkKept(i)
			v.dead.Store(false)
		}
		if calls := int(v.calls.Load()); calls != n+1 {
			t.Errorf("%d calls for %d generations", calls, n+1)
		}
	}
	var refused struct{ Code, Field string }
	c.call("POST", "/api/v1/generations", map[string]any{"prompt": "x", "provider": "openai", "model": "dall-e-9"}, 422, &refused)
	if refused.Field != "model" {
		t.Errorf("an unknown model is answered with %+v", refused)
	}
	// What a provider gave is not a free pass for imports.
	var imported struct{ Items []image }
	c.call("POST", "/api/v1/images/import", map[string]any{"items": []any{map[string]any{"url": v.URL + "/private/img.png?sig=S3CRET%2Fa%2Bb"}}}, 202, &imported)
	for _, i := range c.follow(ids(imported.Items)) {
		if i.Archive.Reason != "source_blocked" {
			t.Errorf("an import from the provider's private address is %s %s", i.Status, i.Archive.Reason)
		}
	}
	c.stop()
	if log := c.out.String(); strings.Contains(log, "S3CRET") || strings.Contains(log, "sk-test") {
		t.Errorf("the log has a secret:\n%s", log)
	}
}

// TestKilledDuringAPaidCall never buys twice: after a crash in the middle of
// the call its outcome is unknown, and a person decides.
func TestKilledDuringAPaidCall(t *testing.T) {
	v := newVendor(t)
	v.busy = make(chan struct{})
	dir := t.TempDir()
	first := startProcess(t, v.environ(dir))
	c := first.client()
	var made struct {
		ID     string
		Images []image
	}
	c.call("POST", "/api/v1/generations", map[string]any{"prompt": "A lighthouse", "model": "dall-e-3"}, 202, &made)
	<-v.busy
	first.kill()

	second := startProcess(t, v.environ(dir))
	again := &client{second, c.key}
	again.await(made.ID, "unknown")
	if calls := v.calls.Load(); calls != 1 {
		t.Errorf("the provider was called %d times", calls)
	}
}
