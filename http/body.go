package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

// readJSON reads a body of one JSON object into v. What v does not know is
// refused: a misspelt field must not be silently ignored.
func readJSON(r *http.Request, v any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return badRequest(codeNotJSON, "The body has something after its JSON object.")
		}
		return nil
	}
	if p := tooLargeBody(err); p != nil {
		return p
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return invalid(wrong.Field, fmt.Sprintf("%s cannot be a %s.", wrong.Field, wrong.Value))
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		p := badRequest(codeUnknownField, "There is no field "+name+".")
		p.Field = strings.Trim(name, `"`)
		return p
	}
	return badRequest(codeNotJSON, "The body is not a JSON object.")
}

// tooLargeBody is the problem of a body that goes on beyond its limit; nil for
// any other error.
func tooLargeBody(err error) error {
	tooLarge, ok := errors.AsType[*http.MaxBytesError](err)
	if !ok {
		return nil
	}
	return newProblem(http.StatusRequestEntityTooLarge, codeTooLarge, fmt.Sprintf("The body is larger than %d bytes.", tooLarge.Limit))
}

// writeJSON answers with a value.
func writeJSON(w http.ResponseWriter, status int, v any) {
	h := w.Header()
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "application/json")
	}
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

// checkText refuses text that a database cannot keep or that is too long.
func checkText(field, s string, limit int) error {
	switch {
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return invalid(field, field+" is not valid text.")
	case utf8.RuneCountInString(s) > limit:
		return invalid(field, fmt.Sprintf("%s has more than %d characters.", field, limit))
	}
	return nil
}
