package fetch

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// judgeAnswer decides by status and headers whether the body is the image. It gives the size that
// was announced, or -1.
func (f *fetch) judgeAnswer(resp *http.Response, body io.Reader) (whole int64, err error) {
	switch {
	case resp.StatusCode == http.StatusOK, resp.StatusCode == http.StatusNonAuthoritativeInfo: // the latter by way of a proxy
		return resp.ContentLength, nil
	case resp.StatusCode == http.StatusPartialContent:
		if total, ok := wholeRange(resp.Header.Get("Content-Range")); ok {
			return total, nil
		}
	}
	e := f.statusError(resp.StatusCode, textOf(body, f.secrets))
	wait := RetryAfter(resp.Header, time.Now())
	if wait > 0 && slices.Contains(askedToWait, resp.StatusCode) {
		e.Final = false
	}
	if !e.Final {
		e.RetryAfter = wait
	}
	return 0, e
}

// askedToWait are refusals that are not the last word when they say when to come again: a limit of
// requests, or an image that is not there yet.
var askedToWait = []int{400, 403, 404, 409, 423}

// wholeRange accepts a partial answer that is the whole: some servers send one unasked.
func wholeRange(contentRange string) (total int64, ok bool) {
	span, size, ok := strings.Cut(strings.TrimPrefix(contentRange, "bytes "), "/")
	first, last, dash := strings.Cut(span, "-")
	total, err := strconv.ParseInt(size, 10, 64)
	end, endErr := strconv.ParseInt(last, 10, 64)
	return total, ok && dash && first == "0" && err == nil && endErr == nil && end == total-1
}

// statusError sorts an answer that is no image by its status. Stores answer a dead link with 403,
// 404 or 400: what they say and when the link was to die tell which it was.
func (f *fetch) statusError(status int, text string) *Error {
	var e *Error
	gone := slices.Contains([]int{400, 401, 403, 404, 410}, status)
	switch {
	case status >= 500 || status == 408 || status == 425 || status == 429:
		e = passing(Odd, text)
	case status == 204 || status == 205:
		e = passing(NotImage, "no content")
	case status == 206:
		e = passing(Odd, "a part that nobody asked for")
	case status < 300:
		e = passing(Odd, text)
	case gone && (f.expired() || strings.Contains(strings.ToLower(text), "expired")):
		e = final(Expired, text)
	case status == 404 || status == 410:
		e = final(Missing, text)
	case status == 401 || status == 403:
		e = final(Expired, text)
	default:
		e = final(Odd, text)
	}
	e.Status = status
	return e
}

// expired says whether the link's time is over, by its own word or the provider's rule.
func (f *fetch) expired() bool {
	at, ok := Expiry(f.src.URL)
	if !ok {
		at = f.src.Expires
	}
	return !at.IsZero() && !time.Now().Before(at)
}

// RetryAfter reads how long an answer asks to wait, in seconds or as a date; 0 when it does not say
// or the time is over. More than a day counts as a day.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	const day = 24 * time.Hour
	v := strings.TrimSpace(h.Get("Retry-After"))
	if secs, err := strconv.ParseFloat(v, 64); err == nil && secs >= 0 {
		return time.Duration(min(secs, day.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil {
		return min(max(at.Sub(now), 0), day)
	}
	return 0
}

// newPace wraps a body in this client's limits.
func (f *fetch) newPace(body io.Reader) *pace {
	cfg := f.c.cfg
	return &pace{
		r: body, watch: f.watch, max: cfg.MaxBytes, stall: f.c.phases.stall,
		window: cfg.StallTimeout * 3 / 2, minSpeed: cfg.MinSpeed,
	}
}
