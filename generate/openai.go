package generate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
)

// OpenAIConfig says which OpenAI-compatible server makes the images.
type OpenAIConfig struct {
	// BaseURL is the server's API, with or without "/v1" at its end.
	// Default "https://api.openai.com/v1".
	BaseURL string

	// APIKey is sent to the origin of BaseURL and to no other. Default empty:
	// none is sent (servers at home often want none).
	APIKey string

	// Models are what to offer, the default first.
	// Default: the image models of OpenAI.
	Models []string

	// Client makes the calls; it should be the guarded one, for this
	// provider's origins. Redirects are never followed, whatever it says, and
	// it needs no timeout: the context has one. Default http.DefaultClient.
	Client *http.Client

	// MaxBytes is the largest image taken out of an answer. Default 64 MiB.
	MaxBytes int64
}

// openAILinkTTL is how long OpenAI's links live.
const openAILinkTTL = 60 * time.Minute

// OpenAI is any server that speaks OpenAI's images API.
type OpenAI struct {
	endpoint string
	origin   string
	key      string
	models   []Model
	client   *http.Client
	maxBytes int64
}

var _ Provider = (*OpenAI)(nil)

// NewOpenAI makes the provider "openai". The error is about BaseURL and says
// what it accepts.
func NewOpenAI(c OpenAIConfig) (*OpenAI, error) {
	base, err := url.Parse(cmp.Or(c.BaseURL, "https://api.openai.com/v1"))
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" || base.User != nil || base.RawQuery != "" {
		return nil, errors.New("OPENAI_BASE_URL: want http://host/path or https://host/path, without user or query")
	}
	p := &OpenAI{
		endpoint: imagesEndpoint(base),
		origin:   originOf(base),
		key:      c.APIKey,
		models:   openAIModels(c.Models),
		maxBytes: cmp.Or(c.MaxBytes, 64<<20),
	}
	client := *cmp.Or(c.Client, http.DefaultClient) // a copy: the caller's stays as it is
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p.client = &client
	return p, nil
}

// versionSegment is the part of a path that names the API's version: v1, v3,
// v1beta.
var versionSegment = regexp.MustCompile(`/v\d+[a-z0-9]*(/|$)`)

// imagesEndpoint is where images are asked for. Where the path names no
// version, OpenAI's "/v1" is meant.
func imagesEndpoint(base *url.URL) string {
	path := strings.TrimSuffix(strings.TrimRight(base.EscapedPath(), "/"), "/images/generations")
	if !versionSegment.MatchString(path) {
		path += "/v1"
	}
	return base.Scheme + "://" + base.Host + path + "/images/generations"
}

// originOf is scheme, host and port; the scheme's own port is left out.
func originOf(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	port := map[string]string{"http": ":80", "https": ":443"}[scheme]
	return scheme + "://" + strings.TrimSuffix(host, port)
}

// Info describes the provider "openai".
func (p *OpenAI) Info() Info {
	return Info{Name: "openai", Models: p.models, Origins: []string{p.origin}, TTL: openAILinkTTL}
}

// Generate makes one call for all images. The bytes of a b64_json answer go
// to emit while the answer is still arriving; it is never held as a whole.
// A revised prompt is known only where the server sends it before the bytes.
func (p *OpenAI) Generate(ctx context.Context, req Request, emit func(Output) error) (Task, error) {
	req.N = max(req.N, 1)
	body, err := json.Marshal(p.fields(req))
	if err != nil {
		return "", &Error{Reason: ReasonInvalidRequest, Detail: "encode the request", Err: err}
	}
	answer, err := p.post(ctx, body)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "", p.hideSecrets(statusError(answer))
	}
	err = readAnswer(answer.Body, req.N, p.maxBytes, func(o Output) error {
		if strings.HasPrefix(o.URL, "/") { // some servers name their own files without the host
			o.URL = p.origin + o.URL
		}
		if o.Err != nil {
			o.Err = p.hideSecrets(o.Err)
		}
		return emit(o)
	})
	if e, ok := errors.AsType[*Error](err); ok && e == err { // ours, not emit's
		return "", p.hideSecrets(e)
	}
	return "", err
}

// post sends the request once. It sets no Idempotency-Key: with one, net/http
// would send a request that broke off a second time, and OpenAI does not
// promise to know it again.
func (p *OpenAI) post(ctx context.Context, body []byte) (*http.Response, error) {
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	r, err := http.NewRequestWithContext(traced, http.MethodPost, p.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Reason: ReasonProviderError, Detail: "OPENAI_BASE_URL cannot be called", Err: err}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if p.key != "" {
		r.Header.Set("Authorization", "Bearer "+p.key)
	}
	answer, err := p.client.Do(r)
	if err != nil {
		return nil, p.callError(ctx, err, sent.Load())
	}
	return answer, nil
}

// callError sorts an error of the call by the one thing that matters: whether
// the server may have begun to work, and to charge.
func (p *OpenAI) callError(ctx context.Context, err error, sent bool) *Error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the address
	}
	if sent {
		return p.hideSecrets(&Error{Reason: ReasonUnknownOutcome, Err: err,
			Detail: fmt.Sprintf("%s did not answer after the request was sent: %v", p.origin, err)})
	}
	e := &Error{Reason: ReasonProviderError, Retryable: true, Err: err,
		Detail: fmt.Sprintf("%s cannot be reached (OPENAI_BASE_URL): %v", p.origin, err)}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Reason = ReasonTimeout
	}
	return p.hideSecrets(e)
}

// urlQuery is the part of an address that may hold a signature.
var urlQuery = regexp.MustCompile(`(https?://[^\s"'?]+)\?[^\s"']*`)

// hideSecrets takes the key and signatures out of texts that others wrote.
func (p *OpenAI) hideSecrets(e *Error) *Error {
	clean := func(text string) string {
		if p.key != "" {
			text = strings.ReplaceAll(text, p.key, "***")
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
