package http

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"afterimage/records"
)

// problem is an error that a program can act on: RFC 9457 with a stable code.
type problem struct {
	Type       string        `json:"type"` // about:blank: the status and the code say it all
	Title      string        `json:"title"`
	Status     int           `json:"status"`
	Code       string        `json:"code"`
	Detail     string        `json:"detail"`
	Field      string        `json:"field,omitempty"` // of the request, if one is to blame
	RequestID  string        `json:"request_id,omitempty"`
	retryAfter time.Duration // also as a header
}

// The codes. They are part of the API: docs list them, and none changes its
// meaning.
const (
	codeBadRequest   = "bad_request"
	codeNotJSON      = "not_json"
	codeUnknownField = "unknown_field"
	codeInvalid      = "invalid_field"
	codeTooLarge     = "body_too_large"
	codeUnauthorized = "unauthorized"
	codeScope        = "scope_missing"
	codeForbidden    = "forbidden"
	codeCrossOrigin  = "cross_origin"
	codeNotFound     = "not_found"
	codeMethod       = "method_not_allowed"
	codeKeyReused    = "idempotency_key_reused"
	codeNotPossible  = "not_possible"
	codeCursor       = "bad_cursor"
	codeCursorOld    = "cursor_expired"
	codeLimit        = "limit_reached"
	codeThrottled    = "too_many_requests"
	codeQuota        = "quota_used_up"
	codeTaken        = "username_taken"
	codeLastAdmin    = "last_admin"
	codeBusy         = "busy"
	codeNotReady     = "not_ready"
	codeLost         = "lost"
	codeElsewhere    = "on_another_machine"
	codeStore        = "store_unavailable"
	codeInternal     = "internal"
)

func (p *problem) Error() string { return p.Code + ": " + p.Detail }

func newProblem(status int, code, detail string) *problem {
	return &problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

func badRequest(code, detail string) *problem { return newProblem(http.StatusBadRequest, code, detail) }

// invalid names the field that is to blame.
func invalid(field, detail string) *problem {
	p := newProblem(http.StatusUnprocessableEntity, codeInvalid, detail)
	p.Field = field
	return p
}

func (p *problem) after(d time.Duration) *problem {
	p.retryAfter = d
	return p
}

// asProblem turns what the other packages return into what a program sees. An
// error that nobody planned for is logged by its request and says nothing.
func asProblem(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if q, ok := errors.AsType[*records.QuotaError](err); ok {
		p := newProblem(http.StatusTooManyRequests, codeQuota, sentence(q))
		if !q.ResetsAt.IsZero() {
			p = p.after(time.Until(q.ResetsAt.Time))
		}
		return p
	}
	if p := accountProblem(err); p != nil {
		return p
	}
	switch {
	case errors.Is(err, records.ErrNotFound):
		return newProblem(http.StatusNotFound, codeNotFound, "There is no such thing, or it is not yours.")
	case errors.Is(err, records.ErrNotPossible):
		return newProblem(http.StatusConflict, codeNotPossible, "The image's state does not allow this.")
	case errors.Is(err, records.ErrKeyReused):
		return newProblem(http.StatusConflict, codeKeyReused, "This Idempotency-Key was used for another request. Use a new key.")
	case errors.Is(err, records.ErrCursorExpired):
		return newProblem(http.StatusGone, codeCursorOld, "What was deleted since this cursor is forgotten. Start again without one.")
	case errors.Is(err, records.ErrTooManyWebhooks):
		return newProblem(http.StatusConflict, codeLimit, sentence(records.ErrTooManyWebhooks))
	case errors.Is(err, records.ErrBadHookEvent):
		return invalid("events", sentence(records.ErrBadHookEvent)+" There are: "+strings.Join(records.HookEvents, ", ")+".")
	case errors.Is(err, context.Canceled):
		return newProblem(499, codeInternal, "The client went away.")
	}
	return newProblem(http.StatusInternalServerError, codeInternal, "Something went wrong on our side. The log has the request id.")
}

// sentence writes an error that is one for people as they read it.
func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// accountProblem is what is wrong with an account or a key; nil: something
// else.
func accountProblem(err error) *problem {
	for fault, field := range map[error]string{records.ErrBadUsername: "username", records.ErrBadPassword: "password",
		records.ErrBadScope: "scopes", records.ErrBadKeyName: "name", records.ErrBadKeyTTL: "expires_at"} {
		if errors.Is(err, fault) {
			return invalid(field, sentence(fault))
		}
	}
	switch {
	case errors.Is(err, records.ErrUsernameTaken):
		p := newProblem(http.StatusConflict, codeTaken, sentence(records.ErrUsernameTaken))
		p.Field = "username"
		return p
	case errors.Is(err, records.ErrLastAdmin):
		return newProblem(http.StatusConflict, codeLastAdmin, sentence(records.ErrLastAdmin))
	}
	return nil
}

// fail answers with a problem, or with what clients of other APIs expect.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if isOpenAI(r) {
		s.failOpenAI(w, r, err)
		return
	}
	p := *asProblem(err)
	p.RequestID = requestID(r)
	if p.Status >= 500 && p.Code == codeInternal {
		s.Log.Error("a request failed", "request", p.RequestID, "method", r.Method, "route", route(r), "err", err)
	}
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", seconds(p.retryAfter))
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	json.NewEncoder(w).Encode(&p)
}

// seconds writes a duration for Retry-After: whole, rounded up, at least one.
func seconds(d time.Duration) string {
	return strconv.Itoa(max(1, int((d+time.Second-1)/time.Second)))
}
