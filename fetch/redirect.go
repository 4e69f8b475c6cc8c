package fetch

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// follow asks u, and then wherever the answers lead, each hop judged like the first. The answer it
// returns is no redirect; its body is open.
func (f *fetch) follow(u *url.URL) (*http.Response, error) {
	trusted := true
	for hop := 0; ; hop++ {
		// Trust ends with the first hop elsewhere: else any site could redirect into the operator's
		// own network, to a path of its choice.
		trusted = trusted && slices.Contains(f.origins, originOf(u))
		resp, err := f.ask(u, trusted)
		if err != nil || !isRedirect(resp.StatusCode) {
			return resp, err
		}
		next, err := f.next(u, resp)
		f.drop(resp)
		if err != nil {
			return nil, err
		}
		if hop == maxRedirects {
			return nil, final(Odd, fmt.Sprintf("more than %d redirects", maxRedirects))
		}
		u = next
	}
}

// ask sends one GET. Nothing of an earlier hop goes along: no Referer, no cookie of another origin.
func (f *fetch) ask(u *url.URL, trusted bool) (*http.Response, error) {
	if err := f.enter(u); err != nil {
		return nil, err
	}
	rt, err := f.c.pick(f.ctx, u, trusted)
	if err != nil {
		return nil, err
	}
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { f.watch.start(f.c.phases.firstByte) }}
	req := (&http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: http.Header{
		"Accept":          {"*/*"}, // negotiation would make some servers convert the image
		"Accept-Encoding": {"identity"},
		"User-Agent":      {f.c.cfg.UserAgent},
	}}).WithContext(httptrace.WithClientTrace(f.ctx, trace))
	f.jars.send(req)

	f.watch.start(f.c.phases.connect)
	defer f.watch.pause()
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	f.answered = true
	f.jars.keep(resp, u)
	return resp, nil
}

// enter waits for a slot of the URL's host, whatever its port, giving back the slot of the hop
// before. The clock of the whole fetch starts with the first slot: waiting for our own turn is not
// the source's fault.
func (f *fetch) enter(u *url.URL) error {
	f.host, f.answered = u.Host, false
	name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if f.slot == name && f.release != nil {
		return nil
	}
	f.leave()
	release, err := f.c.hosts.acquire(f.ctx, name)
	if err != nil {
		return err
	}
	f.slot, f.release = name, release
	f.watch.begin(f.c.phases.whole)
	return nil
}

func (f *fetch) leave() {
	if f.release != nil {
		f.release()
		f.release = nil
	}
}

// drop empties a short answer, so that its connection can be used again.
func (f *fetch) drop(resp *http.Response) {
	if n := resp.ContentLength; n >= 0 && n <= 4<<10 {
		io.Copy(io.Discard, f.newPace(resp.Body))
	}
	resp.Body.Close()
}

func isRedirect(status int) bool {
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308
}

// next is where a redirect leads.
func (f *fetch) next(u *url.URL, resp *http.Response) (*url.URL, error) {
	location := resp.Header.Get("Location")
	if location == "" {
		e := final(Odd, "a redirect without a target")
		e.Status = resp.StatusCode
		return nil, e
	}
	next, err := resolve(u, location)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "https" && next.Scheme == "http" {
		return nil, final(Blocked, "redirects from https to http")
	}
	f.secrets = append(f.secrets, secretsOf(next.RawQuery)...)
	return next, nil
}

var schemeStart = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// resolve reads a Location against the URL that sent it. Whatever is written in full stays byte for
// byte; only a path relative to another is put together.
func resolve(base *url.URL, location string) (*url.URL, error) {
	switch {
	case schemeStart.MatchString(location):
		return parseURL(location)
	case strings.HasPrefix(location, "//"):
		return parseURL(base.Scheme + ":" + location)
	case strings.HasPrefix(location, "/"):
		return parseURL(base.Scheme + "://" + base.Host + location)
	}
	location, _, _ = strings.Cut(location, "#")
	path, query, _ := strings.Cut(location, "?")
	ref, err := url.Parse(escapePath(path))
	if err != nil {
		return nil, final(Odd, "a redirect whose target cannot be understood")
	}
	ref.RawQuery = escapeQuery(query)
	return parseURL(base.ResolveReference(ref).String())
}

// jars keep cookies for the length of one fetch and for the very origin that set them: some sources
// redirect to themselves until their cookie comes back.
type jars map[string]*cookiejar.Jar

func (j *jars) keep(resp *http.Response, u *url.URL) {
	cookies := resp.Cookies()
	if len(cookies) == 0 {
		return
	}
	if *j == nil {
		*j = jars{}
	}
	origin := originOf(u)
	if (*j)[origin] == nil {
		(*j)[origin], _ = cookiejar.New(nil) // documented never to fail
	}
	(*j)[origin].SetCookies(u, cookies)
}

func (j *jars) send(req *http.Request) {
	if jar := (*j)[originOf(req.URL)]; jar != nil {
		for _, cookie := range jar.Cookies(req.URL) {
			req.AddCookie(cookie)
		}
	}
}
