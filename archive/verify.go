package archive

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"afterimage/records"
	"afterimage/storage"
)

// Scrub says how much of the store to read back, and how fast.
type Scrub struct {
	Images int   // at most; 0: all
	Rate   int64 // bytes a second; 0: as fast as it goes
	// Anyway believes that most of what was looked at is lost. Without it such a
	// finding ends the run with ErrOtherStore and changes nothing.
	Anyway   bool
	Progress func(Scrubbed) // told now and then, by one goroutine at a time; nil: nobody
}

// Scrubbed is what a scrub found.
type Scrubbed struct {
	Images     int      `json:"images"` // read back
	Bytes      int64    `json:"bytes"`
	Whole      int      `json:"whole"`         // are as they were stored
	Missing    int      `json:"missing"`       // have no object any more
	Wrong      int      `json:"wrong"`         // have an object with other bytes
	Unreadable int      `json:"unreadable"`    // have one that the store, which is fine, does not give; nothing was changed
	Again      int      `json:"again"`         // of those missing or wrong, are archived once more
	Recovered  int      `json:"recovered"`     // were damaged and are whole again
	IDs        []string `json:"ids,omitempty"` // the first 20 that are not whole
	Total      int      `json:"total"`         // images that this run is about
}

// Bad is how many images are not whole.
func (s Scrubbed) Bad() int { return s.Missing + s.Wrong + s.Unreadable }

// ErrOtherStore says that most objects are missing or damaged: it is more
// likely that the settings name another store than that all of them are lost.
var ErrOtherStore = errors.New("most of the images that were looked at are missing or damaged in this store; " +
	"check AFTERIMAGE_DATA_DIR, S3_BUCKET and S3_PREFIX. Nothing was changed for them")

const (
	scrubBatch   = 100 // images whose findings are written together
	scrubReaders = 4   // objects read at a time
	firstIDs     = 20
	// fewLost is how many lost images are believed whatever their share.
	fewLost = 10
	// shareDays is in how many days the daily shares come round.
	shareDays = 30
)

// VerifyShare verifies a day's share: all images are read back in 30 days.
func (a *Archiver) VerifyShare(ctx context.Context, rate int64) (Scrubbed, error) {
	n, err := a.DB.CountArchived(ctx)
	if err != nil {
		return Scrubbed{}, err
	}
	return a.Verify(ctx, Scrub{Images: n/shareDays + 1, Rate: rate})
}

// Verify reads objects back and compares them with what was stored: those that
// were found damaged before, and then the one first that was looked at longest
// ago. What is missing or wrong is archived again from its source
// or from the spool if either lives; if neither does, the image says that it is
// lost. A store that is in trouble ends the run with an error and changes
// nothing.
func (a *Archiver) Verify(ctx context.Context, s Scrub) (Scrubbed, error) {
	r := &scrubRun{Archiver: a, Scrub: s, pace: &pace{rate: s.Rate}}
	err := r.run(ctx)
	return r.done, err
}

type scrubRun struct {
	*Archiver
	Scrub
	pace *pace
	done Scrubbed
	lost int // images that were archived until this run
}

func (r *scrubRun) run(ctx context.Context) error {
	if err := r.size(ctx); err != nil {
		return err
	}
	if err := r.damaged(ctx); err != nil {
		return err
	}
	start, after := r.DB.Now(), records.Kept{}
	for {
		list, err := r.DB.OldestChecked(ctx, after, start, r.room())
		if err != nil || len(list) == 0 {
			return err
		}
		after = list[len(list)-1]
		if err := r.batch(ctx, list); err != nil {
			return err
		}
	}
}

// damaged looks again at what was found damaged before.
func (r *scrubRun) damaged(ctx context.Context) error {
	after := ""
	for {
		list, err := r.DB.Damaged(ctx, after, scrubBatch)
		if err != nil || len(list) == 0 {
			return err
		}
		after = list[len(list)-1].ID
		if err := r.batch(ctx, list); err != nil {
			return err
		}
	}
}

// size finds out how much there is to do.
func (r *scrubRun) size(ctx context.Context) error {
	n, err := r.DB.CountArchived(ctx)
	if r.Images > 0 {
		n = min(n, r.Images)
	}
	r.done.Total = n
	return err
}

// room is how many images the next batch may have.
func (r *scrubRun) room() int {
	if r.Images == 0 {
		return scrubBatch
	}
	return min(scrubBatch, r.Images-r.done.Images)
}

// batch reads a few images and then writes what was found.
func (r *scrubRun) batch(ctx context.Context, list []records.Kept) error {
	found := make([]Found, len(list))
	errs := make([]error, len(list))
	next := make(chan int)
	var readers sync.WaitGroup
	for range min(scrubReaders, len(list)) {
		readers.Go(func() {
			for n := range next {
				found[n], errs[n] = r.look(ctx, list[n], r.pace)
			}
		})
	}
	for n := range list {
		next <- n
	}
	close(next)
	readers.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("verify: %w", errs[firstError(errs)])
	}
	return r.write(ctx, found)
}

func firstError(errs []error) int {
	for n, err := range errs {
		if err != nil {
			return n
		}
	}
	return -1
}

// write counts what a batch found and records it.
func (r *scrubRun) write(ctx context.Context, found []Found) error {
	lost := r.lost
	for _, f := range found {
		if f.lost() && f.Kept.Status == records.Archived {
			lost++
		}
	}
	if lost > fewLost && 2*lost > r.done.Images+len(found) && !r.Anyway {
		return ErrOtherStore
	}
	r.lost = lost
	var whole []string
	for _, f := range found {
		r.count(f)
		if f.What == Whole && f.Kept.Status == records.Archived {
			whole = append(whole, f.Kept.ID)
			continue
		}
		if err := r.settleFound(ctx, f); err != nil {
			return err
		}
	}
	if r.Progress != nil {
		r.Progress(r.done)
	}
	return r.DB.MarkVerified(ctx, whole)
}

func (r *scrubRun) count(f Found) {
	d := &r.done
	if f.Kept.Status == records.Archived {
		d.Images++
	}
	d.Bytes += f.Read
	switch f.What {
	case Whole:
		d.Whole++
		return
	case Missing:
		d.Missing++
	case Wrong:
		d.Wrong++
	case Unreadable:
		d.Unreadable++
	case Gone:
		return
	}
	if len(d.IDs) < firstIDs {
		d.IDs = append(d.IDs, f.Kept.ID)
	}
}

func (r *scrubRun) settleFound(ctx context.Context, f Found) error {
	switch out, err := r.apply(ctx, f); {
	case err != nil:
		return err
	case out == offered:
		r.done.Again++
	case out == recovered:
		r.done.Recovered++
	}
	return nil
}

// outcome is what a finding meant for an image.
type outcome int

const (
	unchanged outcome = iota
	offered           // it is archived once more
	lost
	recovered
)

// apply records what was found of one image, if it is still what was looked at,
// and raises the alarm.
func (a *Archiver) apply(ctx context.Context, f Found) (outcome, error) {
	log := a.Log.With("image", f.Kept.ID, "key", f.Kept.ObjectKey)
	switch {
	case f.What == Unreadable:
		log.Error("the object of an image cannot be read, though the store is fine", "err", f.Err)
		return unchanged, nil
	case f.What == Whole && f.Kept.Status == records.ArchiveFailed:
		if err := a.DB.Recover(ctx, f.Kept); err != nil {
			return unchanged, notPossible(err)
		}
		log.Info("the object of an image is whole again")
		return recovered, nil
	case !f.lost() || f.Kept.Status != records.Archived:
		return unchanged, nil
	}
	d := records.Damage{Kept: f.Kept, Reason: f.reason(), Detail: f.Detail}
	if a.inSpool(f.Kept) {
		d.SpoolID = a.Spool.ID()
	}
	again, err := a.DB.Lose(ctx, d)
	if err != nil {
		return unchanged, notPossible(err)
	}
	log.Error("the object of an image is missing or damaged", "reason", d.Reason, "detail", d.Detail, "again", again)
	if again {
		return offered, nil
	}
	return lost, nil
}

// notPossible makes an error of what changed in the meantime to none: whoever
// changed it knew better.
func notPossible(err error) error {
	if errors.Is(err, records.ErrNotPossible) || errors.Is(err, records.ErrNotFound) {
		return nil
	}
	return err
}

// inSpool reports whether our spool still has the very bytes of an image.
func (a *Archiver) inSpool(k records.Kept) bool {
	s, err := a.Spool.Stat(k.ID)
	return err == nil && fmt.Sprintf("%x", s.SHA256) == k.SHA256
}

// verifyTime bounds the reading of one image that somebody waits for.
const verifyTime = 2 * time.Minute

// VerifyImage reads the object of one image back because somebody asked, and
// records what it finds. ErrNotPossible: it has no object.
func (a *Archiver) VerifyImage(ctx context.Context, i *records.Image) (Found, error) {
	if i.ObjectKey == "" || i.Status != records.Archived && i.Status != records.ArchiveFailed {
		return Found{}, records.ErrNotPossible
	}
	ctx, cancel := context.WithTimeoutCause(ctx, verifyTime, &storage.Error{Reason: storage.ReasonUnreachable, Op: "verify", Key: i.ObjectKey, Err: errors.New("it takes too long")})
	defer cancel()
	f, err := a.look(ctx, i.Kept(), &pace{})
	if err != nil {
		return f, err
	}
	out, err := a.apply(ctx, f)
	if err == nil && f.What == Whole && out != recovered {
		err = notPossible(a.DB.NoteVerified(ctx, f.Kept))
	}
	return f, err
}
