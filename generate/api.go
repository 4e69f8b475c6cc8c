package generate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
)

// ServerConfig says where a provider's server is. Settings are the names that
// its messages give to what an operator can change.
type ServerConfig struct {
	BaseURL string // default: the vendor's own
	Key     string // sent to the origin of BaseURL and to no other; default none

	// Models are what to offer, the default first; default: the provider's
	// own list, or what its server has.
	Models []string

	// Client makes the calls; it should be the guarded one, for this
	// provider's origins. Redirects are never followed, whatever it says, and
	// it needs no timeout: the context has one. Default http.DefaultClient.
	Client *http.Client

	// MaxBytes is the largest image taken out of an answer. Default 64 MiB.
	MaxBytes int64
}

// api is how providers call their servers: once, with the key for this origin
// alone, and with every failure sorted by whether it may have cost something.
type api struct {
	base       string // scheme, host and path, without a slash at its end
	origin     string
	urlSetting string // OPENAI_BASE_URL
	keySetting string // OPENAI_API_KEY
	auth       string // the value of Authorization; empty: none is sent
	secrets    []string
	client     *http.Client
	maxBytes   int64
}

// newAPI checks the address. scheme goes before the key: "Bearer ".
func newAPI(c ServerConfig, urlSetting, keySetting, vendor, scheme string) (*api, error) {
	base, err := url.Parse(cmp.Or(c.BaseURL, vendor))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" || base.User != nil || base.RawQuery != "" {
		return nil, errors.New(urlSetting + ": want http://host/path or https://host/path, without user or query")
	}
	a := &api{base: base.Scheme + "://" + base.Host + strings.TrimRight(base.EscapedPath(), "/"), origin: originOf(base),
		urlSetting: urlSetting, keySetting: keySetting, maxBytes: cmp.Or(c.MaxBytes, 64<<20)}
	if c.Key != "" {
		a.auth, a.secrets = scheme+c.Key, []string{c.Key}
	}
	client := *cmp.Or(c.Client, http.DefaultClient) // a copy: the caller's stays as it is
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	a.client = &client
	return a, nil
}

// originOf is scheme, host and port; the scheme's own port is left out.
func originOf(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	port := map[string]string{"http": ":80", "https": ":443"}[scheme]
	return scheme + "://" + strings.TrimSuffix(host, port)
}

// exchange is one request of a server.
type exchange struct {
	method, path string // path begins with a slash
	header       map[string]string
	body         io.Reader
	length       int64 // of the body, if it is not one that net/http knows
}

// send makes a request once and gives the answer if its status is 2xx; every
// error is an *Error. It sets no Idempotency-Key: with one, net/http would
// send a request that broke off a second time, and no provider promises to
// know it again.
func (a *api) send(ctx context.Context, x exchange) (*http.Response, error) {
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	r, err := http.NewRequestWithContext(traced, x.method, a.base+x.path, x.body)
	if err != nil {
		return nil, &Error{Reason: ReasonProviderError, Detail: a.urlSetting + " cannot be called", Err: err}
	}
	if x.length > 0 {
		r.ContentLength = x.length
	}
	r.Header.Set("Accept", "application/json")
	for name, value := range x.header {
		r.Header.Set(name, value)
	}
	if a.auth != "" {
		r.Header.Set("Authorization", a.auth)
	}
	answer, err := a.client.Do(r)
	if err != nil {
		return nil, a.callError(ctx, err, sent.Load())
	}
	if answer.StatusCode/100 != 2 {
		defer answer.Body.Close()
		return nil, a.clean(a.statusError(answer))
	}
	return answer, nil
}

// json sends in, if it is not nil, and reads the answer into out, if it is not
// nil. An answer that breaks off leaves it open what was done.
func (a *api) json(ctx context.Context, x exchange, in, out any) error {
	answer, err := a.sendJSON(ctx, x, in)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if out == nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, jsonLimit))
	if err != nil {
		return a.clean(&Error{Reason: ReasonUnknownOutcome, Detail: "the answer broke off: " + err.Error(), Err: err})
	}
	if err := json.Unmarshal(text, out); err != nil {
		return &Error{Reason: ReasonUnknownOutcome, Err: err, Status: answer.StatusCode, Setting: a.urlSetting,
			Detail: fmt.Sprintf("status %d, but the answer is not what its API says (check %s)", answer.StatusCode, a.urlSetting)}
	}
	return nil
}

// sendJSON is send with in as the body, if it is not nil.
func (a *api) sendJSON(ctx context.Context, x exchange, in any) (*http.Response, error) {
	if in == nil {
		return a.send(ctx, x)
	}
	text, err := json.Marshal(in)
	if err != nil {
		return nil, &Error{Reason: ReasonInvalidRequest, Detail: "encode the request", Err: err}
	}
	header := map[string]string{"Content-Type": "application/json"}
	maps.Copy(header, x.header)
	x.body, x.header = bytes.NewReader(text), header
	return a.send(ctx, x)
}

// jsonLimit bounds an answer that holds no images.
const jsonLimit = 8 << 20

// ask is json for a question that costs nothing: whatever keeps the answer
// away passes, except that the server does not know what it is asked about.
func (a *api) ask(ctx context.Context, path string, out any) error {
	err := a.json(ctx, exchange{method: http.MethodGet, path: path}, nil, out)
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok:
		return err
	case e.Status == http.StatusNotFound || e.Status == http.StatusGone:
		return &Error{Reason: ReasonUnknownOutcome, Status: e.Status, Detail: "the provider no longer knows the task: " + e.Detail, Message: e.Message}
	}
	e.Retryable = true
	return e
}

// callError sorts an error of the call by the one thing that matters: whether
// the server may have begun to work, and to charge.
func (a *api) callError(ctx context.Context, err error, sent bool) *Error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the address
	}
	if sent {
		return a.clean(&Error{Reason: ReasonUnknownOutcome, Err: err,
			Detail: fmt.Sprintf("%s did not answer after the request was sent: %v", a.origin, err)})
	}
	e := &Error{Reason: ReasonProviderError, Retryable: true, Err: err, Setting: a.urlSetting,
		Detail: fmt.Sprintf("%s cannot be reached (%s): %v", a.origin, a.urlSetting, err)}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Reason = ReasonTimeout
	}
	return a.clean(e)
}

// urlQuery is the part of an address that may hold a signature.
var urlQuery = regexp.MustCompile(`(https?://[^\s"'?]+)\?[^\s"']*`)

// clean takes the key and signatures out of texts that others wrote.
func (a *api) clean(e *Error) *Error {
	clean := func(text string) string {
		for _, secret := range a.secrets {
			text = strings.ReplaceAll(text, secret, "***")
		}
		return shorten(urlQuery.ReplaceAllString(text, "$1?***"), 500)
	}
	e.Message, e.Detail = clean(e.Message), clean(e.Detail)
	return e
}

// shorten cuts a text after n characters.
func shorten(text string, n int) string {
	if runes := []rune(strings.ToValidUTF8(text, "\uFFFD")); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return text
}
