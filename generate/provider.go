// Package generate owns the ways an image comes into being: the Provider
// contract, the providers (one a file, "demo" draws locally and needs no
// key), and the job that turns a request into images.
//
// It does not know HTTP routes, pages or SQL, and it never keeps an image: it
// hands over a link or bytes, and the archive makes them permanent.
package generate

import (
	"context"
	"time"
)

// Provider makes images from words and from other images.
//
// Implementations are safe for use by several goroutines and keep no state
// between calls. They do not retry: whether a call may be made again is for
// the job to decide, from the Reason of the Error and Info.Repeatable.
type Provider interface {
	// Info says what the provider offers. It is cheap, makes no call over the
	// network and gives the same answer each time.
	Info() Info

	// Generate makes req.N images now, or starts a task that will.
	//
	// Now: it hands over each image with emit as soon as it has it, in any
	// order (Output.Index says which one it is), and returns no task. Every
	// index from 0 to req.N-1 is emitted at most once. emit is never called by
	// two goroutines at once, and an Output's Body is consumed before emit
	// returns.
	//
	// Later: it returns the task as soon as the provider has named it, before
	// anything else is done; the caller records it and goes on with Poll. Such
	// a provider is a Tasker.
	//
	// An error that emit returns ends the call and is returned as it is.
	// A returned error concerns all images not emitted yet; it is an *Error
	// unless it came from emit or is the cause of the context's end before
	// anything was sent. One image that failed alone is emitted with
	// Output.Err and is no error of the call.
	Generate(ctx context.Context, req Request, emit func(Output) error) (Task, error)
}

// Task is what a provider needs to find a call again: its own id for it, or
// whatever else it likes to write down. Empty: there is none. It outlives the
// process. It holds no key, and nobody is shown it.
type Task string

// Tasker is a Provider whose calls go on by themselves and can be asked about.
type Tasker interface {
	Provider

	// Poll asks once how a task is, and emits what there is of it: its
	// progress, and all its images as soon as it is done. It may be asked
	// again after the end, as long as Info.TaskTTL: that is how a link that has
	// died is resolved without buying the image again.
	//
	// done says that nothing more will come. An *Error means that the task has
	// ended without images, or, if it is Retryable, that nothing could be
	// learned this time: the task goes on. ReasonUnknownOutcome means that the
	// provider no longer knows the task.
	Poll(ctx context.Context, task Task, emit func(Output) error) (done bool, err error)

	// Cancel asks the provider to stop a task. One that has ended already is
	// no error.
	Cancel(ctx context.Context, task Task) error
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

	// NamesTasks says that the provider takes Request.ID as the task's name, so
	// that a call whose answer was lost can still be asked about: Request.ID is
	// then a Task for Poll.
	NamesTasks bool

	// Origins are the exact origins ("https://host:port", the port left out
	// where it is the scheme's own) from which its own images may be fetched,
	// even where the address rules forbid them: the administrator chose this
	// server. They never count for other sources.
	Origins []string

	// TTL is how long its links live when the link itself does not say.
	// Default 0: not known.
	TTL time.Duration

	// TaskTTL is how long after its end a task can be asked about.
	// Default 0: there are no tasks.
	TaskTTL time.Duration

	// Slots is how many calls may run at once. Default 4.
	Slots int

	// Timeout is how long a call or a task may take. Default 15 min: giving up
	// early throws paid images away.
	Timeout time.Duration
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
