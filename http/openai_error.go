package http

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"afterimage/generate"
	"afterimage/records"
)

// openAIError is an error as OpenAI's clients read it.
type openAIError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`

	status     int
	retryAfter time.Duration
	// retry is what the client is told of trying again by itself, "true" or
	// "false". Empty leaves it to the client: nothing was begun.
	retry string
}

func (e *openAIError) Error() string {
	return cmp.Or(*cmp.Or(e.Code, &e.Type), e.Type) + ": " + e.Message
}

// The types that clients sort errors by.
const (
	typeInvalid = "invalid_request_error"
	typeRefused = "image_generation_user_error"
	typeLimit   = "rate_limit_error"
	typeServer  = "server_error"
)

func isOpenAI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v1/") }

// failOpenAI answers an error in OpenAI's shape.
func (s *Server) failOpenAI(w http.ResponseWriter, r *http.Request, err error) {
	e := s.asOpenAI(r, err)
	h := w.Header()
	if e.retryAfter > 0 {
		h.Set("Retry-After", seconds(e.retryAfter))
	}
	if e.retry != "" {
		h.Set("X-Should-Retry", e.retry)
	}
	writeJSON(w, e.status, map[string]*openAIError{"error": e})
}

// asOpenAI turns any error into one of OpenAI's, and logs what nobody planned
// for.
func (s *Server) asOpenAI(r *http.Request, err error) *openAIError {
	if e, ok := errors.AsType[*openAIError](err); ok {
		return e
	}
	p := asProblem(err)
	if p.Status >= 500 && p.Code == codeInternal {
		s.Log.Error("a request failed", "request", requestID(r), "method", r.Method, "route", route(r), "err", err)
	}
	e := &openAIError{Message: p.Detail, Type: typeInvalid, Param: optional(p.Field), Code: optional(p.Code),
		status: p.Status, retryAfter: p.retryAfter, retry: "false"}
	switch {
	case p.Status >= 500:
		e.Type, e.retry = typeServer, ""
	case p.Status == http.StatusTooManyRequests:
		e.Type, e.retry = typeLimit, ""
	case p.Status == http.StatusUnauthorized:
		e.Code = optional("invalid_api_key")
	case p.Field == "model" || p.Field == "provider":
		e.status, e.Param, e.Code = http.StatusNotFound, optional("model"), optional("model_not_found")
	case p.Status == http.StatusUnprocessableEntity:
		e.status, e.Code = http.StatusBadRequest, optional("invalid_value")
	}
	return e
}

// badParam blames a parameter of a request.
func badParam(param, message string) error { return invalid(param, message) }

// notMade says why a generation has no image, in terms that keep a client from
// buying it twice: it was begun, so nothing but the provider's clear "not now"
// may be tried again by a program alone.
func notMade(reason, message string) *openAIError {
	e := &openAIError{Message: message, Type: typeServer, Code: optional(reason), status: http.StatusBadGateway, retry: "false"}
	switch reason {
	case generate.ReasonRefused:
		e.status, e.Type, e.Code = http.StatusBadRequest, typeRefused, optional("moderation_blocked")
	case generate.ReasonInvalidRequest:
		e.status, e.Type = http.StatusBadRequest, typeInvalid
	case generate.ReasonModelMissing:
		e.status, e.Type, e.Param, e.Code = http.StatusNotFound, typeInvalid, optional("model"), optional("model_not_found")
	case generate.ReasonQuota:
		e.status, e.Type, e.Code = http.StatusTooManyRequests, "insufficient_quota", optional("insufficient_quota")
	case generate.ReasonThrottled:
		e.status, e.Type, e.Code = http.StatusTooManyRequests, typeLimit, optional("rate_limit_exceeded")
		e.retry, e.retryAfter = "true", throttledAgain
	case generate.ReasonTimeout:
		e.status = http.StatusGatewayTimeout
	}
	return e
}

// throttledAgain is when a client may come back whose request a provider threw
// back several times: the job has waited as the provider asked already.
const throttledAgain = 30 * time.Second

// whyNot is the error of a generation of which nothing can be given.
func (s *Server) whyNot(r *http.Request, g *records.Generation, images []records.Image) *openAIError {
	words := s.Site.Words(s.language(r))
	if len(images) == 0 {
		return &openAIError{Message: "The image was deleted.", Type: typeInvalid, Code: optional(codeNotFound), status: http.StatusNotFound, retry: "false"}
	}
	i := images[0]
	for _, other := range images {
		if other.Status == records.Unknown || other.Reason != "" && i.Reason == "" {
			i = other // what may have been paid for matters most
		}
	}
	if i.Status == records.Canceled {
		return &openAIError{Message: "The request was canceled.", Type: typeInvalid, Code: optional("canceled"), status: http.StatusConflict, retry: "false"}
	}
	message := cmp.Or(i.ProviderMessage, g.ProviderMessage, words.Reason(s.reason(&i)), words.Status(string(i.Status)))
	return notMade(cmp.Or(i.Reason, g.Reason, string(i.Status)), message)
}

// stillAtIt is for who waited longer than we hold an answer.
func stillAtIt() *openAIError {
	return &openAIError{Message: "The image is still being made. It will be in the history: GET /api/v1/generations with the id of X-Afterimage-Generation.",
		Type: typeServer, Code: optional("not_ready"), status: http.StatusServiceUnavailable, retry: "false"}
}

// errorEvent is an error in the middle of a stream.
func errorEvent(e *openAIError) []byte {
	text, _ := json.Marshal(map[string]*openAIError{"error": e}) // plain values: cannot fail
	return append(append([]byte("event: error\ndata: "), text...), "\n\n"...)
}
