package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"afterimage/fetch"
	"afterimage/records"
)

// answerError is an answer that does not take the message.
type answerError struct {
	status int
	after  time.Duration // as the receiver asked; 0: it did not
}

func (e *answerError) Error() string {
	if e.status >= 300 && e.status < 400 {
		return fmt.Sprintf("the receiver answered with a redirect (%d), which is not followed", e.status)
	}
	return fmt.Sprintf("the receiver answered %d", e.status)
}

const (
	// maxAnswer is how much of an answer is read, to use the connection again.
	maxAnswer = 64 << 10
	// maxAfter bounds what a receiver may ask for.
	maxAfter = time.Hour
)

// post sends the message once. Its error holds nothing of what was answered.
func (n *Notifier) post(ctx context.Context, h *records.Webhook, d *records.Delivery) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, strings.NewReader(d.Body))
	if err != nil {
		return 0, errors.New("the address is not a URL") // err would show it
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Afterimage-Webhooks")
	if err := sign(req.Header, h, d.ID, n.DB.Now().Time, d.Body); err != nil {
		return 0, err
	}
	resp, err := n.Client.Do(req)
	if err != nil {
		return 0, plain(ctx, err)
	}
	defer resp.Body.Close()
	io.CopyN(io.Discard, resp.Body, maxAnswer)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return resp.StatusCode, &answerError{resp.StatusCode, retryAfter(resp)}
	}
	return resp.StatusCode, nil
}

func retryAfter(resp *http.Response) time.Duration {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxAfter)
}

// plain says what went wrong without the address, whose path may be a secret,
// and without what the other side sent.
func plain(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*fetch.Error](err); ok {
		return fmt.Errorf("the address is not allowed: %s", e.Detail)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("no answer within %v", Timeout)
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Errorf("the name could not be looked up: %s", e.Err)
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("the certificate is not accepted: %w", e.Err)
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return fmt.Errorf("the receiver could not be reached: %w", e)
	}
	return errors.New("the receiver gave no proper answer")
}
