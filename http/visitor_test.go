package http_test

import (
	"bytes"
	"encoding/json"
	"io"
	nethttp "net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// visitor is a browser or a program that uses the site. It follows no
// redirects by itself.
type visitor struct {
	w      *world
	client *nethttp.Client
	key    string // sent as an API key if set
}

// browser is one without a session.
func (w *world) browser() *visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return &visitor{w: w, client: &nethttp.Client{Transport: w.transport, Jar: jar,
		CheckRedirect: func(*nethttp.Request, []*nethttp.Request) error { return nethttp.ErrUseLastResponse }}}
}

// browserOf is one in which a person is signed in.
func (w *world) browserOf(user string) *visitor {
	w.t.Helper()
	token, _, err := w.CreateSession(w.t.Context(), user, "test")
	if err != nil {
		w.t.Fatal(err)
	}
	v := w.browser()
	site, _ := url.Parse(w.url)
	v.client.Jar.SetCookies(site, []*nethttp.Cookie{{Name: "afterimage", Value: token, Path: "/"}})
	return v
}

// program is one with an API key; empty is none.
func (w *world) program(key string) *visitor {
	v := w.browser()
	v.key = key
	return v
}

// answer is what the site said.
type answer struct {
	*nethttp.Response
	t    *testing.T
	body string
}

// send makes a request. A header is "Name: value"; a header that the request
// has already is replaced.
func (v *visitor) send(method, path string, body io.Reader, headers ...string) answer {
	v.w.t.Helper()
	req, err := nethttp.NewRequestWithContext(v.w.t.Context(), method, v.w.url+path, body)
	if err != nil {
		v.w.t.Fatal(err)
	}
	if v.key != "" {
		req.Header.Set("Authorization", "Bearer "+v.key)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := v.client.Do(req)
	if err != nil {
		v.w.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		v.w.t.Fatal(err)
	}
	return answer{res, v.w.t, string(text)}
}

func (v *visitor) get(path string, headers ...string) answer {
	v.w.t.Helper()
	return v.send("GET", path, nil, headers...)
}

// submit sends a form of names and values.
func (v *visitor) submit(path string, pairs ...string) answer {
	v.w.t.Helper()
	form := url.Values{}
	for n := 0; n+1 < len(pairs); n += 2 {
		form.Add(pairs[n], pairs[n+1])
	}
	return v.send("POST", path, strings.NewReader(form.Encode()), "Content-Type: application/x-www-form-urlencoded")
}

// call sends JSON.
func (v *visitor) call(method, path, body string, headers ...string) answer {
	v.w.t.Helper()
	return v.send(method, path, strings.NewReader(body), append(headers, "Content-Type: application/json")...)
}

// wants fails the test unless the status is the one.
func (a answer) wants(status int) answer {
	a.t.Helper()
	if a.StatusCode != status {
		a.t.Fatalf("%s %s answered %d, want %d: %s", a.Request.Method, a.Request.URL.Path, a.StatusCode, status, firstBytes(a.body))
	}
	return a
}

// leadsTo fails the test unless the answer sends the browser to a path.
func (a answer) leadsTo(path string) answer {
	a.t.Helper()
	a.wants(nethttp.StatusSeeOther)
	if got := a.Header.Get("Location"); got != path {
		a.t.Fatalf("%s %s leads to %q, want %q", a.Request.Method, a.Request.URL.Path, got, path)
	}
	return a
}

// has fails the test unless the body has each text.
func (a answer) has(texts ...string) answer {
	a.t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			a.t.Fatalf("%s %s does not have %q: %s", a.Request.Method, a.Request.URL.Path, text, firstBytes(a.body))
		}
	}
	return a
}

// hasNot fails the test if the body has any of the texts.
func (a answer) hasNot(texts ...string) answer {
	a.t.Helper()
	for _, text := range texts {
		if strings.Contains(a.body, text) {
			a.t.Fatalf("%s %s has %q", a.Request.Method, a.Request.URL.Path, text)
		}
	}
	return a
}

// problem reads the code of a problem, after checking its form.
func (a answer) problem() string {
	a.t.Helper()
	var p struct {
		Type, Title, Code, Detail string
		Status                    int
		RequestID                 string `json:"request_id"`
	}
	a.into(&p)
	if a.Header.Get("Content-Type") != "application/problem+json" || p.Status != a.StatusCode || p.Detail == "" || p.RequestID == "" {
		a.t.Fatalf("%s %s is no problem: %s %s", a.Request.Method, a.Request.URL.Path, a.Header.Get("Content-Type"), firstBytes(a.body))
	}
	return p.Code
}

// into reads the JSON.
func (a answer) into(v any) {
	a.t.Helper()
	if err := json.Unmarshal([]byte(a.body), v); err != nil {
		a.t.Fatalf("%s %s: %v: %s", a.Request.Method, a.Request.URL.Path, err, firstBytes(a.body))
	}
}

// firstBytes is what a failure shows of a body.
func firstBytes(s string) string {
	if n := strings.Index(s, "<main"); n > 0 {
		s = s[n:]
	}
	return s[:min(len(s), 800)]
}

// inProcess calls a handler without a network.
type inProcess struct{ handler nethttp.Handler }

func (p inProcess) RoundTrip(r *nethttp.Request) (*nethttp.Response, error) {
	recorder := httptest.NewRecorder()
	request := r.Clone(r.Context())
	request.RequestURI = r.URL.RequestURI()
	request.RemoteAddr = "192.0.2.1:1234"
	request.Host = r.URL.Host
	if request.Body == nil {
		request.Body = nethttp.NoBody
	}
	p.handler.ServeHTTP(recorder, request)
	return recorder.Result(), nil
}

// logBook is what the site logged.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
