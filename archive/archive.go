// Package archive owns the archive worker's work: fetch an image from its
// source, check what came, store it, and say what that means for the image.
// It knows neither HTTP routes nor SQL nor providers, and it does not claim
// jobs: package jobs calls its handlers.
package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"afterimage/archive/thumbs"
	"afterimage/fetch"
	"afterimage/jobs"
	"afterimage/records"
	"afterimage/storage"
)

// Config is what an Archiver needs. Zero values mean the defaults.
type Config struct {
	DB    *records.DB
	Store storage.Store
	Spool *storage.Spool
	Fetch *fetch.Client
	// Origins are the exact origins of each provider, from which its own
	// images may be fetched, never imported ones.
	Origins     map[string][]string
	Resolve     Resolve         // for dead links; default nil: nobody can be asked
	Slots       int             // default 2
	MaxAttempts int             // default 3
	Delays      []time.Duration // before each retry, the last repeats; default 30 s, 2 min, 10 min
	Probe       time.Duration   // between looks at a store that is paused, default 5 s
	Thumbnails  bool            // draw them for what is archived from now on
	ThumbMemory int64           // bytes for drawing, default 1 GiB; what needs more has no thumbnail
	Log         *slog.Logger
}

// Archiver archives images. Use New, and Close it after its worker stopped.
type Archiver struct {
	Config
	gate   *gate
	thumbs *thumbs.Maker
	after  sync.WaitGroup // cleaning up that nobody waits for
}

// New makes an Archiver.
func New(c Config) *Archiver {
	c.Slots = cmp.Or(c.Slots, 2)
	c.MaxAttempts = cmp.Or(c.MaxAttempts, 3)
	c.Probe = cmp.Or(c.Probe, 5*time.Second)
	if len(c.Delays) == 0 {
		c.Delays = []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute}
	}
	return &Archiver{Config: c, gate: newGate(c), thumbs: thumbs.New(c.ThumbMemory)}
}

// Kinds are the kinds of job that this package does.
func (a *Archiver) Kinds() []jobs.Kind {
	kinds := []jobs.Kind{
		{Name: records.KindArchive, Slots: a.Slots, Shows: true, Run: a.run, Failed: a.panicked, After: a.settled},
		{Name: records.KindDelete, Slots: 1, Run: a.delete},
	}
	if a.Thumbnails {
		kinds = append(kinds, a.thumbKind())
	}
	return kinds
}

// Paused says whether the store is paused, why, and since when.
func (a *Archiver) Paused() (reason string, since records.Time, paused bool) { return a.gate.state() }

// CheckStore pauses the store if it does not take images, and says so. Call it
// at start: a wrong setting should not wait for the first image.
func (a *Archiver) CheckStore() { a.gate.look() }

// Close ends the probing of a paused store and waits for what is being
// cleaned up.
func (a *Archiver) Close() {
	a.gate.close()
	a.after.Wait()
}

// task is one attempt to archive one image.
type task struct {
	*Archiver
	job     records.Job
	image   *records.Image
	started records.Time
	secured bool // the bytes were put into the spool by this attempt
}

// run does one archive job.
func (a *Archiver) run(ctx context.Context, job records.Job) records.Settlement {
	t, s := a.begin(ctx, job)
	switch {
	case t == nil:
		return s
	case t.elsewhere() && t.image.SourceURL == "":
		return t.handOver() // such a job is bound to that spool, unless a row was written by hand
	case t.mustWait():
		return t.hold(nil)
	}
	b, err := t.obtain(ctx)
	if err != nil {
		return t.failed(ctx, nil, err)
	}
	defer b.Close()
	if err := t.check(b); err != nil {
		return t.failed(ctx, b, err)
	}
	if _, _, paused := a.gate.state(); paused && t.secure(b) {
		return t.hold(nil)
	}
	// If our disk did not take them either, even a paused store is asked: these
	// bytes may not come again.
	info, err := t.put(ctx, b)
	if err != nil {
		return t.notStored(ctx, b, err)
	}
	s = t.archived(info)
	if t.Thumbnails {
		s.Next = append(s.Next, thumbJob(t.image))
	}
	return s
}

// begin reads what the job is about. Without a task there is nothing to do but
// to settle.
func (a *Archiver) begin(ctx context.Context, job records.Job) (*task, records.Settlement) {
	image, err := job.Image, error(nil)
	if image == nil {
		image, err = a.DB.ImageByLink(ctx, *job.Ref)
	}
	switch {
	case errors.Is(err, records.ErrNotFound):
		a.Log.Error("an archive job is about an image that does not exist; it was discarded", "job", job.ID, "image", *job.Ref)
		return nil, records.Settlement{Verdict: records.Discard, Error: "the image does not exist"}
	case ctx.Err() != nil:
		return nil, records.Settlement{Verdict: records.Release}
	case err != nil:
		a.Log.Error("an image could not be read", "job", job.ID, "image", *job.Ref, "err", err)
		return nil, records.Settlement{Verdict: records.Defer, RunAt: a.DB.Now().Add(a.Probe), Error: "the database did not answer"}
	case image.Status.Final():
		return nil, records.Settlement{Verdict: records.Complete} // its state has moved on
	}
	image.Status, image.Attempt = records.Archiving, job.Attempt+1
	return &task{Archiver: a, job: job, image: image, started: a.DB.Now()}, records.Settlement{}
}

// mustWait reports that the bytes are secured and the store is paused.
func (t *task) mustWait() bool {
	_, _, paused := t.gate.state()
	return paused && t.image.SpoolID == t.Spool.ID() && t.Spool.Has(t.image.ID)
}

// check finds out what the bytes are and notes it in the image.
func (t *task) check(b bytes) error {
	found, err := t.Fetch.Identify(b, b.Size())
	if err != nil {
		return err
	}
	i := t.image
	i.MIME, i.Width, i.Height, i.Bytes, i.SHA256 = found.MIME, found.Width, found.Height, b.Size(), fmt.Sprintf("%x", b.SHA256())
	i.ObjectKey = objectKey(i.ID) + found.Ext
	return nil
}

func (t *task) object(b bytes) storage.Object {
	return storage.Object{Key: t.image.ObjectKey, ContentType: t.image.MIME, Size: b.Size(), SHA256: b.SHA256()}
}

// distrust drops bytes that have gone bad in the spool, if the source can give
// them again. It reports whether it did.
func (t *task) distrust(b bytes) bool {
	if _, ok := b.(*spooled); !ok || t.image.SourceURL == "" {
		return false
	}
	t.image.SpoolID = ""
	t.unspool(t.image.ID)
	return true
}
