package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// studio answers as OpenAI's images API documents it, by the words of the
// prompt, and counts how often it was asked for each.
type studio struct {
	*httptest.Server
	t       *testing.T
	picture []byte

	mu    sync.Mutex
	asked map[string]int
}

func newStudio(t *testing.T, picture []byte) *studio {
	t.Helper()
	s := &studio{t: t, picture: picture, asked: map[string]int{}}
	mux := nethttp.NewServeMux()
	mux.HandleFunc("POST /v1/images/generations", s.generate)
	mux.HandleFunc("POST /v1/images/edits", s.edit)
	mux.HandleFunc("GET /files/a.png", func(w nethttp.ResponseWriter, r *nethttp.Request) { w.Write(picture) })
	s.Server = httptest.NewUnstartedServer(mux)
	s.Start() // not before the handlers can see it
	t.Cleanup(s.Close)
	return s
}

// request is what a studio reads of one.
type studioRequest struct {
	Model, Prompt string
	N             int
	Stream        bool
	Partials      int `json:"partial_images"`
}

func (s *studio) count(prompt string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[prompt]++
}

func (s *studio) generate(w nethttp.ResponseWriter, r *nethttp.Request) {
	var req studioRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		s.t.Errorf("the provider was sent no JSON: %v", err)
	}
	s.count(req.Prompt)
	_, what, _ := strings.Cut(req.Prompt, ": ")
	switch what {
	case "refuse":
		w.WriteHeader(400)
		io.WriteString(w, `{"error":{"message":"Your request was rejected by the safety system.","type":"image_generation_user_error","param":null,"code":"moderation_blocked"}}`)
		return
	case "quota":
		w.WriteHeader(429)
		io.WriteString(w, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`)
		return
	case "cut":
		panic(nethttp.ErrAbortHandler)
	case "slow": // longer than the client waits
		time.Sleep(1200 * time.Millisecond)
	}
	switch {
	case req.Stream:
		s.events(w, req)
	case strings.HasPrefix(req.Model, "dall-e"):
		fmt.Fprintf(w, `{"created":%d,"data":[{"url":%q,"revised_prompt":"A revised prompt"}]}`, time.Now().Unix(), s.URL+"/files/a.png?sig=S3CRET")
	default:
		item := fmt.Sprintf(`{"b64_json":%q}`, base64.StdEncoding.EncodeToString(s.picture))
		fmt.Fprintf(w, `{"created":%d,"data":[%s],"output_format":"png"}`, time.Now().Unix(), strings.Repeat(item+",", req.N-1)+item)
	}
}

func (s *studio) events(w nethttp.ResponseWriter, req studioRequest) {
	w.Header().Set("Content-Type", "text/event-stream")
	b64 := base64.StdEncoding.EncodeToString(s.picture)
	for n := range req.Partials {
		fmt.Fprintf(w, "event: image_generation.partial_image\ndata: {\"type\":\"image_generation.partial_image\",\"b64_json\":%q,\"partial_image_index\":%d}\n\n", b64, n)
		w.(nethttp.Flusher).Flush()
	}
	fmt.Fprintf(w, "event: image_generation.completed\ndata: {\"type\":\"image_generation.completed\",\"b64_json\":%q}\n\n", b64)
}

func (s *studio) edit(w nethttp.ResponseWriter, r *nethttp.Request) {
	if err := r.ParseMultipartForm(1 << 20); err != nil {
		s.t.Errorf("the provider was sent no form: %v", err)
		return
	}
	s.count(r.FormValue("prompt"))
	if images, masks := r.MultipartForm.File["image[]"], r.MultipartForm.File["mask"]; len(images) != 2 || len(masks) != 1 {
		s.t.Errorf("the provider was sent %d images and %d masks", len(images), len(masks))
	}
	fmt.Fprintf(w, `{"created":%d,"data":[{"b64_json":%q}]}`, time.Now().Unix(), base64.StdEncoding.EncodeToString(s.picture))
}

// TestOpenAIClients has OpenAI's own libraries use this program: only the base
// URL and the key are other ones. Whatever they repeat by themselves, the
// provider is asked once.
func TestOpenAIClients(t *testing.T) {
	folder := t.TempDir()
	picture := smallPNG(t)
	for name, content := range map[string][]byte{"image.png": picture, "mask.png": picture} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	provider := newStudio(t, picture)
	site := startProcess(t, testEnviron(t.TempDir(), "OPENAI_BASE_URL="+provider.URL, "OPENAI_API_KEY=sk-test", "OPENAI_MODELS=gpt-image-1,dall-e-3,dall-e-2"))
	key := site.client().key
	reader := site.command("key", "create", "--user", "admin", "--name", "reader", "--scopes", "images:read")

	programs := map[string]*exec.Cmd{
		"go":  exec.CommandContext(t.Context(), service(t, "TEST_OPENAI_GO")),
		"npm": exec.CommandContext(t.Context(), "node", filepath.Join(repository(t), "testclients", "client.cjs")),
	}
	programs["npm"].Env = []string{"NODE_PATH=" + service(t, "TEST_OPENAI_NPM")}
	t.Run("at the same time", func(t *testing.T) {
		for name, cmd := range programs {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				cmd.Dir = folder
				cmd.Env = append(append(os.Environ(), cmd.Env...), "OPENAI_BASE_URL="+site.url+"/v1", "OPENAI_API_KEY="+key, "READER_API_KEY="+reader)
				out, err := cmd.CombinedOutput()
				t.Logf("%s", out)
				if err != nil || bytes.Count(out, []byte("ok ")) != 8 {
					t.Errorf("%s: %v\n%s", name, err, site.out)
				}
			})
		}
	})
	for name := range programs {
		for _, words := range []string{"url", "bytes", "bytes of a link", "three", "stream", "edit", "conflict", "refuse", "quota", "cut", "slow"} {
			if n := provider.asked[name+": "+words]; n != 1 {
				t.Errorf("the provider was asked %d times for %q of %s", n, words, name)
			}
		}
	}
	// Unfinished pictures are kept nowhere: each client has 1+1+1+3+1+1+1+1
	// images, and three rows that say why there is none.
	var list struct{ Items []struct{ Status string } }
	(&client{site, key}).call("GET", "/api/v1/images?limit=200", nil, 200, &list)
	if len(list.Items) != 2*(10+3) {
		t.Errorf("the history has %d images", len(list.Items))
	}
}

// repository is the folder of the source.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
