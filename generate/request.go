package generate

import (
	"io"
	"time"
)

// Request asks for N images of one prompt. The caller has checked it against
// the limits of the Model.
type Request struct {
	// ID is new with each call and was recorded before it. Providers that let
	// the caller name a task take it (Info.NamesTasks).
	ID string

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

	// Images are what to start from, the first being the one to change; default
	// none. Mask says which part of it to change.
	Images []Picture
	Mask   *Picture

	// Partials is how many unfinished pictures somebody would like to see on
	// the way. Default 0.
	Partials int

	// User is an opaque name of the person for the provider's abuse checks;
	// default empty: none is sent.
	User string

	// Params are further settings under the provider's own names, such as
	// "quality". A provider passes on those it knows and drops the others.
	Params map[string]any
}

// Picture is an image that a request starts from.
type Picture struct {
	Name string // a file name that tells the type: "image.png"
	MIME string
	Size int64 // bytes

	// Open gives the bytes from their start, as often as it is called.
	Open func() (io.ReadCloser, error)
}

// Output is one finished image: a link to it, its bytes, or why there is none;
// or what is to be seen of it on the way. Exactly one of URL, Body, Err and
// Progress is set.
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

	// Partial says that Body is an unfinished picture: it is shown and never
	// kept. PartialIndex counts those of one image from 0.
	Partial      bool
	PartialIndex int

	// Progress is how much of the whole call is done, above 0 and up to 1.
	Progress float64
}
