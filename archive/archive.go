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
	"time"

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
	Slots       int             // default 2
	MaxAttempts int             // default 3
	Delays      []time.Duration // before each retry, the last repeats; default 30 s, 2 min, 10 min
	Probe       time.Duration   // between looks at a store that is paused, default 5 s
	Log         *slog.Logger
}

// Archiver archives images. Use New, and Close it after its worker stopped.
type Archiver struct {
	Config
	gate *gate
}

// New makes an Archiver.
func New(c Config) *Archiver {
	c.Slots = cmp.Or(c.Slots, 2)
	c.MaxAttempts = cmp.Or(c.MaxAttempts, 3)
	c.Probe = cmp.Or(c.Probe, 5*time.Second)
	if len(c.Delays) == 0 {
		c.Delays = []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute}
	}
	return &Archiver{Config: c, gate: newGate(c)}
}

// Kinds are the kinds of job that this package does.
func (a *Archiver) Kinds() []jobs.Kind {
	return []jobs.Kind{
		{Name: records.KindArchive, Slots: a.Slots, Run: a.run, Failed: a.panicked, After: a.after},
		{Name: records.KindDelete, Slots: 1, Run: a.delete},
	}
}

// Paused says whether the store is paused, why, and since when.
func (a *Archiver) Paused() (reason string, since time.Time, paused bool) { return a.gate.state() }

// Close ends the probing of a paused store.
func (a *Archiver) Close() { a.gate.close() }

// task is one attempt to archive one image.
type task struct {
	*Archiver
	job     records.Job
	image   *records.Image
	started records.Time
}

// run does one archive job.
func (a *Archiver) run(ctx context.Context, job records.Job) records.Settlement {
	t, s := a.begin(ctx, job)
	if t == nil {
		return s
	}
	b, err := t.obtain(ctx)
	if err != nil {
		return t.failed(ctx, err)
	}
	defer b.Close()
	if err := t.check(b); err != nil {
		return t.failed(ctx, err)
	}
	if reason, _, paused := a.gate.state(); paused {
		return t.hold(b, reason, nil)
	}
	info, err := a.Store.Put(ctx, t.object(b), b.Reader())
	if err != nil {
		return t.notStored(ctx, b, err)
	}
	return t.archived(info)
}

// begin reads what the job is about. Without a task there is nothing to do but
// to settle.
func (a *Archiver) begin(ctx context.Context, job records.Job) (*task, records.Settlement) {
	work, err := a.DB.ImageWork(ctx, *job.Ref)
	switch {
	case errors.Is(err, records.ErrNotFound):
		a.Log.Error("an archive job is about an image that does not exist; it was discarded", "job", job.ID, "image", *job.Ref)
		return nil, records.Settlement{Verdict: records.Discard, Error: "the image does not exist"}
	case err != nil:
		a.Log.Error("an image could not be read", "job", job.ID, "image", *job.Ref, "err", err)
		return nil, records.Settlement{Verdict: records.Defer, RunAt: a.DB.Now().Add(a.Probe), Error: "the database did not answer"}
	case work.Status != records.Archiving:
		return nil, records.Settlement{Verdict: records.Complete} // its state has moved on
	}
	return &task{Archiver: a, job: job, image: &work.Image, started: a.DB.Now()}, records.Settlement{}
}

// obtain gets the image's bytes: from the spool if they are there, and from
// the source otherwise.
func (t *task) obtain(ctx context.Context) (bytes, error) {
	i := t.image
	if t.Spool.Has(i.ID) {
		return t.fromSpool()
	}
	if i.SourceURL == "" {
		return nil, &fetch.Error{Reason: fetch.Missing, Final: true, Detail: "there is neither a source nor a file in the spool"}
	}
	b := newScratch(t.Spool, i.ID)
	got, err := t.Fetch.Get(ctx, t.source(), b)
	if err != nil {
		b.Close()
		return nil, err
	}
	b.sum = got.SHA256
	return b, nil
}

func (t *task) source() fetch.Source {
	s := fetch.Source{URL: t.image.SourceURL, Expires: t.image.SourceExpiresAt.Time}
	if t.image.ImportID == nil {
		s.Origins = t.Origins[t.image.Provider]
	}
	return s
}

// check finds out what the bytes are and notes it in the image.
func (t *task) check(b bytes) error {
	found, err := t.Fetch.Identify(b, b.Size())
	if err != nil {
		return err
	}
	i := t.image
	i.MIME, i.Width, i.Height, i.Bytes, i.SHA256 = found.MIME, found.Width, found.Height, b.Size(), fmt.Sprintf("%x", b.SHA256())
	i.ObjectKey = objectKey(i, found.Ext)
	return nil
}

func (t *task) object(b bytes) storage.Object {
	return storage.Object{Key: t.image.ObjectKey, ContentType: t.image.MIME, Size: b.Size(), SHA256: b.SHA256()}
}
