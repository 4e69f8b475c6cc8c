// Package generate owns the ways an image comes into being: the Provider
// contract, the providers (one a file, "demo" draws locally and needs no
// key), and the job that turns a request into images.
//
// It does not know HTTP routes, pages or SQL, and it never keeps an image: it
// hands over a link or bytes, and the archive makes them permanent.
package generate

import (
	"cmp"
	"context"
	"io"
	"time"
)

// Provider makes images from words.
//
// Implementations are safe for use by several goroutines and keep no state
// between calls. They do not retry: whether a call may be made again is for
// the job to decide, from the Reason of the Error and Info.Repeatable.
type Provider interface {
	// Info says what the provider offers. It is cheap, makes no call over the
	// network and gives the same answer each time.
	Info() Info

	// Generate makes req.N images and hands over each with emit as soon as it
	// has it, in any order (Output.Index says which one it is). Every index
	// from 0 to req.N-1 is emitted at most once. emit is never called by two
	// goroutines at once, and an Output's Body is consumed before emit returns.
	//
	// An error that emit returns ends the call and is returned as it is.
	// A returned error concerns all images not emitted yet; it is an *Error
	// unless it came from emit or is the cause of the context's end before
	// anything was sent. One image that failed alone is emitted with
	// Output.Err and is no error of the call.
	Generate(ctx context.Context, req Request, emit func(Output) error) error
}

// Info is what a provider says about itself.
type Info struct {
	// Name is the provider's stable name, part of the API: "demo", "openai".
	Name string

	// Models are what it offers; the first is its default. Never empty.
	Models []Model

	// Repeatable says that asking twice costs nothing: a call that crashed is
	// simply made again. Default false: a call whose outcome is not known is
	// left alone, since it may have been paid for.
	Repeatable bool

	// Origins are the exact origins ("https://host:port", the port left out
	// where it is the scheme's own) from which its own images may be fetched,
	// even where the address rules forbid them: the administrator chose this
	// server. They never count for other sources.
	Origins []string

	// TTL is how long its links live when the link itself does not say.
	// Default 0: not known.
	TTL time.Duration
}

// Model returns the named model; the empty name means the default one.
func (i Info) Model(name string) (Model, bool) {
	for _, m := range i.Models {
		if name == "" || m.Name == name {
			return m, true
		}
	}
	return Model{}, false
}

// Model is one model of a provider and its limits. A limit of 0 is not known;
// the provider itself is then the judge.
type Model struct {
	// Name is what the provider calls it: "demo", "gpt-image-1".
	Name string

	// Sizes are the sizes it makes, as "1024x1024", the default first.
	// Default empty: any width and height up to MaxSide.
	Sizes []string

	// MaxSide is the longest side in pixels.
	MaxSide int

	// MaxN is how many images one request may ask for.
	MaxN int

	// MaxPrompt is the longest prompt, in characters (not bytes).
	MaxPrompt int
}

// Request asks for N images of one prompt. The caller has checked it against
// the limits of the Model.
type Request struct {
	// Model is a name from Info.Models; default: the first of them.
	Model string

	Prompt string

	// NegativePrompt says what should not be seen. Providers that know no
	// such thing ignore it.
	NegativePrompt string

	// Width and Height are in pixels. Both 0: the provider chooses.
	Width, Height int

	// N is how many images to make; default 1.
	N int

	// Seed makes a repeatable picture where the provider has such a thing.
	// It counts only with HasSeed, since 0 is a seed too.
	Seed    int64
	HasSeed bool

	// User is an opaque name of the person for the provider's abuse checks;
	// default empty: none is sent.
	User string

	// Params are further settings under the provider's own names, such as
	// "quality". A provider passes on those it knows and drops the others.
	Params map[string]any
}

// Output is one finished image: a link to it, its bytes, or why there is none.
// Exactly one of URL, Body and Err is set.
type Output struct {
	// Index is the image's place in the request, from 0.
	Index int

	// URL is where the image lies, byte for byte as the provider gave it:
	// changing its escapes would break a signature. It is a secret.
	URL string

	// Expires is when URL dies; zero: the provider did not say.
	Expires time.Time

	// Body is the image's bytes, readable until emit returns and only once.
	// They cannot be fetched a second time: secure them first.
	Body io.Reader

	// Seed is the seed that made this image, 0 if the provider has none.
	Seed int64

	// RevisedPrompt is the prompt as the provider rewrote it, if it did.
	RevisedPrompt string

	// Err says why this one image was not made.
	Err *Error
}

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
