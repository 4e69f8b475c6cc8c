package generate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// apiError is an error in OpenAI's shape, and in the shapes of servers that
// come near to it.
type apiError struct {
	Message string
	Type    string
	Code    string
	Param   string
}

// parseAPIError reads {"error":{…}}, {"error":"text"}, {"message":…},
// {"detail":…}; known is false where the text is none of these.
func parseAPIError(data []byte) (e apiError, known bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return apiError{}, false
	}
	if inner, ok := fields["error"]; ok && string(inner) != "null" {
		if text := plain(inner); text != "" {
			if more := plain(fields["errors"]); more != "" { // as A1111 tells why
				text += ": " + more
			}
			return apiError{Message: text, Code: plain(fields["code"])}, true
		}
		if json.Unmarshal(inner, &fields) != nil {
			return apiError{}, false
		}
	}
	e = apiError{
		Message: cmp.Or(plain(fields["message"]), plain(fields["detail"]), complaints(fields["detail"]), plain(fields["title"])),
		Type:    plain(fields["type"]), Code: plain(fields["code"]), Param: plain(fields["param"]),
	}
	return e, e != apiError{}
}

// complaints are what FastAPI says of a request, field by field.
func complaints(raw json.RawMessage) string {
	var list []struct {
		Loc []any  `json:"loc"`
		Msg string `json:"msg"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var texts []string
	for _, c := range list {
		field := ""
		if len(c.Loc) > 0 {
			field = fmt.Sprint(c.Loc[len(c.Loc)-1], ": ")
		}
		texts = append(texts, field+c.Msg)
	}
	return strings.Join(texts, "; ")
}

// plain is a JSON string or number as text; anything else is empty.
func plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var number json.Number
	if json.Unmarshal(raw, &number) == nil {
		return number.String()
	}
	return ""
}

// Codes and types that decide, whatever the status. Compared in small letters.
var (
	refusals = []string{"moderation_blocked", "content_policy_violation", "image_generation_user_error",
		"content_filter", "content_moderation", "safety", "sensitivecontent", "datainspectionfailed", "ipinfringementsuspect"}
	quotas  = []string{"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "quota_exceeded", "arrearage", "insufficient_balance"}
	noKey   = []string{"invalid_api_key", "invalidapikey", "accessdenied"}
	tooMany = []string{"throttling"}
	noSense = []string{"invalidparameter", "invalid_parameter"}
	noModel = []string{"model_not_found", "invalid_model", "model_not_exist", "modelnotfound"}
)

// reason sorts an error by its code and type; empty if they do not tell.
func (e apiError) reason() string {
	text := strings.ToLower(e.Code + " " + e.Type)
	has := func(list []string) bool {
		for _, word := range list {
			if strings.Contains(text, word) {
				return true
			}
		}
		return false
	}
	switch {
	case has(refusals):
		return ReasonRefused
	case has(quotas):
		return ReasonQuota
	case has(noModel), e.Param == "model":
		return ReasonModelMissing
	case has(noKey):
		return ReasonAuth
	case has(tooMany):
		return ReasonThrottled
	case has(noSense):
		return ReasonInvalidRequest
	}
	return ""
}

// statusError sorts an answer that is not 200.
func (a *api) statusError(r *http.Response) *Error {
	data, _ := io.ReadAll(io.LimitReader(r.Body, 64<<10)) // what came is what we show
	api, known := parseAPIError(data)
	e := &Error{Reason: api.reason(), Message: api.Message, RetryAfter: retryAfter(r.Header, api.Message, time.Now())}
	if e.Reason == "" {
		e.Reason = statusReason(r.StatusCode, known, api.Message)
	}
	e.Retryable = e.Reason == ReasonThrottled || e.Reason == ReasonTimeout
	switch r.Header.Get("X-Should-Retry") { // the server's own word on it
	case "true":
		e.Retryable = e.Retryable || e.Reason == ReasonProviderError
	case "false":
		e.Retryable = false
	}
	e.Status, e.Detail = r.StatusCode, a.statusDetail(r, api)
	switch {
	case r.StatusCode == http.StatusUnauthorized, r.StatusCode == http.StatusForbidden:
		e.Setting = a.keySetting
	case r.StatusCode < 400, r.StatusCode == http.StatusNotFound && e.Reason != ReasonModelMissing:
		e.Setting = a.urlSetting
		e.Detail += " (check " + a.urlSetting + ": its API is not there)"
	}
	return e
}

// statusReason sorts by the status alone. A 5xx in the API's own shape is the
// server saying that it failed; any other comes from something in between,
// and nobody knows what happened behind it. 502 and 504 always do.
func statusReason(status int, known bool, message string) string {
	switch {
	case status == http.StatusNotFound && strings.Contains(strings.ToLower(message), "model"):
		return ReasonModelMissing
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return ReasonAuth
	case status == http.StatusPaymentRequired:
		return ReasonQuota
	case status == http.StatusTooManyRequests:
		return ReasonThrottled
	case status == http.StatusRequestTimeout:
		return ReasonTimeout
	case status == http.StatusBadGateway, status == http.StatusGatewayTimeout, status >= 500 && !known:
		return ReasonUnknownOutcome
	case status == http.StatusNotFound, status == http.StatusConflict, status >= 500, status < 400:
		return ReasonProviderError
	}
	return ReasonInvalidRequest
}

func (a *api) statusDetail(r *http.Response, api apiError) string {
	detail := fmt.Sprintf("status %d", r.StatusCode)
	for _, part := range [][2]string{{"code", api.Code}, {"type", api.Type}, {"param", api.Param}, {"request id", r.Header.Get("X-Request-Id")}} {
		if part[1] != "" {
			detail += fmt.Sprintf(", %s %s", part[0], part[1])
		}
	}
	if r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusForbidden {
		detail += " (check " + a.keySetting + ")"
	}
	return detail
}

// resetText is how some servers say when to come back.
var resetText = regexp.MustCompile(`(?i)\b(?:try again|retry|resets?|available) (?:in|after) ~?((?:\d+(?:\.\d+)?(?:ms|s|m|h))+|\d+(?:\.\d+)? (?:second|minute|hour)s?)`)

// maxRetryAfter keeps a wait from becoming for ever by a server's mistake.
const maxRetryAfter = 24 * time.Hour

// retryAfter is how long the server asks to wait: by retry-after-ms, by
// Retry-After (seconds or a date), or in the words of its message.
func retryAfter(h http.Header, message string, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return wait(ms / 1000)
	}
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return wait(seconds)
	}
	if at, err := http.ParseTime(value); err == nil {
		return wait(at.Sub(now).Seconds())
	}
	if m := resetText.FindStringSubmatch(message); m != nil {
		words := strings.NewReplacer(" seconds", "s", " second", "s", " minutes", "m", " minute", "m", " hours", "h", " hour", "h")
		if d, err := time.ParseDuration(words.Replace(strings.ToLower(m[1]))); err == nil {
			return wait(d.Seconds())
		}
	}
	return 0
}

// wait makes a duration of seconds, from 0 to maxRetryAfter; NaN is 0.
func wait(seconds float64) time.Duration {
	if !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
}
