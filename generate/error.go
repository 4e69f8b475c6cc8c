package generate

import (
	"cmp"
	"time"
)

// Reasons of an Error. They are stable: pages and programs know them.
const (
	ReasonRefused        = "refused"         // the provider's rules forbid this picture
	ReasonInvalidRequest = "invalid_request" // the provider cannot make what was asked for
	ReasonAuth           = "auth"            // the key is missing, wrong or not allowed
	ReasonQuota          = "quota"           // the account has run out
	ReasonModelMissing   = "model_missing"   // the provider has no such model
	ReasonThrottled      = "throttled"       // too many requests; nothing was made
	ReasonTimeout        = "timeout"         // the provider took too long; nothing was made
	ReasonProviderError  = "provider_error"  // the provider failed; nothing was made
	ReasonUnknownOutcome = "unknown_outcome" // it may have been made, and paid for
)

// Error says why images were not made, in terms that decide what happens next.
type Error struct {
	// Reason is one of the Reason constants.
	Reason string

	// Retryable says that asking again may help and cannot cost twice.
	Retryable bool

	// RetryAfter is how long the provider asked to wait; 0: it did not say.
	RetryAfter time.Duration

	// Message is in the provider's own words, for the person who asked.
	// Empty if it gave none. No keys, no links.
	Message string

	// Detail is for operators: the status, the code, the setting to change.
	Detail string

	// Setting is the variable to look at. Empty: none.
	Setting string

	// Status is the HTTP status; 0: there was no answer.
	Status int

	// Err is what lies beneath, if anything.
	Err error
}

// Error gives the reason and the operator's detail.
func (e *Error) Error() string {
	text := cmp.Or(e.Detail, e.Message)
	if text == "" && e.Err != nil {
		text = e.Err.Error()
	}
	if text == "" {
		return "generate: " + e.Reason
	}
	return "generate: " + e.Reason + ": " + text
}

// Unwrap returns the error beneath.
func (e *Error) Unwrap() error { return e.Err }
