package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"afterimage/records"
	"afterimage/storage"
)

// Reconcile says how to compare the records with the store and the spool.
type Reconcile struct {
	Repair bool          // mend what is found; default: only tell
	Age    time.Duration // what is younger is left alone, it may be on its way; default 1 h
	// Anyway repairs even if most of what there is seems to be wrong. Without
	// it ErrOtherStore or ErrOtherDatabase ends the run before anything is done.
	Anyway   bool
	Found    func(Difference) // told of each difference; nil: nobody
	Progress func(Reconciled) // told now and then; nil: nobody
}

// The kinds of difference.
const (
	ObjectWithoutRow = "object_without_row" // below our prefixes, and no image's
	ObjectNotUsed    = "object_not_used"    // of an image whose row names another one, or none
	ObjectMissing    = "object_missing"     // of an archived image
	ObjectSize       = "object_size"        // an archived image's, with another size than its row says
	ThumbMissing     = "thumbnail_missing"
	SidecarMissing   = "sidecar_missing"
	CheckLeft        = "check_left" // a probe's object that nobody took away
	SpoolWithoutRow  = "spool_without_row"
	SpoolNotNeeded   = "spool_not_needed" // of an image that is archived, called off or was never made
)

// Difference is one thing that the records and the store, or the spool, do not
// agree about.
type Difference struct {
	Kind  string `json:"kind"`
	Image string `json:"image,omitempty"` // its id, if the key tells
	Key   string `json:"key,omitempty"`   // of the object; empty: it is a file of the spool
	Bytes int64  `json:"bytes"`
	Done  string `json:"done,omitempty"` // what a repair did
}

// Reconciled is what a comparison looked at and found.
type Reconciled struct {
	Objects   int            `json:"objects"`
	Rows      int            `json:"rows"` // of archived images
	Spooled   int            `json:"spooled"`
	Young     int            `json:"young"`     // left alone, since they may be on their way
	Busy      int            `json:"busy"`      // left alone, since a job is about them
	Strangers int            `json:"strangers"` // objects outside our prefixes: never touched
	Found     map[string]int `json:"found"`     // differences by kind
	Repaired  int            `json:"repaired"`
	Emptied   int            `json:"emptied"` // removed from the quarantine, whose time was over
	First     []Difference   `json:"first"`   // the first 20
}

// Total is how many differences there are.
func (r Reconciled) Total() (n int) {
	for _, of := range r.Found {
		n += of
	}
	return n
}

// ErrOtherDatabase says that most objects have no row: it is more likely that
// the settings name another database than that all of them are left over.
var ErrOtherDatabase = errors.New("most objects in the store belong to no image in this database; " +
	"check DATABASE_URL, AFTERIMAGE_DATA_DIR, S3_BUCKET and S3_PREFIX, or restore the database (afterimage rebuild). Nothing was changed")

const (
	defaultAge = time.Hour
	// pageSize is how many objects or rows are in memory at a time.
	pageSize = 5000
	// quarantineTime is how long what was taken away can be had back.
	quarantineTime = 30 * 24 * time.Hour
)

// Reconcile compares the records with the store and the spool, page by page,
// whatever there is. Each difference is looked at a second time before it is
// told: what changed meanwhile is none.
//
// A repair moves what nobody knows into a quarantine, from which it is deleted
// after 30 days by a later repair; it treats images without their object as
// Verify does, and has missing thumbnails and sidecars made again.
func (a *Archiver) Reconcile(ctx context.Context, o Reconcile) (Reconciled, error) {
	if o.Age == 0 {
		o.Age = defaultAge
	}
	if o.Repair && !o.Anyway {
		dry := o
		dry.Repair, dry.Found = false, nil
		found, err := a.reconcile(ctx, dry)
		if err == nil {
			err = found.plausible()
		}
		if err != nil {
			return found, err
		}
	}
	return a.reconcile(ctx, o)
}

// plausible suspects the settings rather than everything there is.
func (r Reconciled) plausible() error {
	switch without := r.Found[ObjectWithoutRow]; {
	case without > fewLost && 2*without > r.Objects-r.Strangers:
		return ErrOtherDatabase
	case r.lost() > fewLost && 2*r.lost() > r.Rows:
		return ErrOtherStore
	}
	return nil
}

func (r Reconciled) lost() int { return r.Found[ObjectMissing] + r.Found[ObjectSize] }

func (a *Archiver) reconcile(ctx context.Context, o Reconcile) (Reconciled, error) {
	r := &reconciliation{Archiver: a, Reconcile: o, cutoff: time.Now().Add(-o.Age)}
	r.done.Found = map[string]int{}
	err := r.objects(ctx)
	if err == nil {
		err = r.rows(ctx)
	}
	if err == nil {
		err = r.spooled(ctx)
	}
	if err == nil && o.Repair {
		var n int
		n, err = a.Spool.EmptyQuarantine(quarantineTime)
		r.done.Emptied += n
	}
	if err != nil {
		return r.done, fmt.Errorf("reconcile: %w", err)
	}
	return r.done, nil
}

type reconciliation struct {
	*Archiver
	Reconcile
	cutoff time.Time
	done   Reconciled
}

// note tells of a difference, and repairs it first if that is asked for.
func (r *reconciliation) note(ctx context.Context, d Difference, repair func(context.Context) (string, error)) error {
	if r.Repair {
		done, err := repair(ctx)
		if err != nil {
			return fmt.Errorf("repair %s %s: %w", d.Kind, d.Key+d.Image, err)
		}
		if d.Done = done; done != "" {
			r.done.Repaired++
		}
	}
	r.done.Found[d.Kind]++
	if len(r.done.First) < firstIDs {
		r.done.First = append(r.done.First, d)
	}
	if r.Found != nil {
		r.Found(d)
	}
	return nil
}

func (r *reconciliation) progress() {
	if r.Progress != nil {
		r.Progress(r.done)
	}
}

// objects looks at everything in the store and asks whose it is.
func (r *reconciliation) objects(ctx context.Context) error {
	for after := ""; ; {
		page, err := r.Store.List(ctx, "", after, pageSize)
		if err != nil || len(page) == 0 {
			return err
		}
		after = page[len(page)-1].Key
		if err := r.objectPage(ctx, page); err != nil {
			return err
		}
		r.progress()
		if len(page) < pageSize {
			return nil
		}
	}
}

func (r *reconciliation) objectPage(ctx context.Context, page []storage.Info) error {
	var odd []storage.Info
	ids := map[string]bool{}
	for _, o := range page {
		switch {
		case ours(o.Key):
			r.done.Objects++
			ids[idOf(o.Key)] = true
			odd = append(odd, o)
		case strings.HasPrefix(o.Key, quarantine):
			if err := r.quarantined(ctx, o); err != nil {
				return err
			}
		case strings.HasPrefix(o.Key, probes) && !strings.Contains(o.Key, "/"):
			if err := r.probe(ctx, o); err != nil {
				return err
			}
		default:
			r.done.Strangers++
		}
	}
	delete(ids, "")
	known, err := r.DB.KeptByID(ctx, keysIn(ids))
	if err != nil {
		return err
	}
	odd = slices.DeleteFunc(odd, func(o storage.Info) bool { return owns(known, o.Key) })
	return r.oddObjects(ctx, odd)
}

func keysIn(set map[string]bool) []string {
	list := make([]string, 0, len(set))
	for id := range set {
		list = append(list, id)
	}
	return list
}

// owns reports whether an object is one that its image has, or may have.
func owns(known map[string]records.Kept, key string) bool {
	k, there := known[idOf(key)]
	switch {
	case !there:
		return false
	case k.Status != records.Archived && k.ObjectKey == "":
		return !k.Status.Final() // just being stored
	case k.Thumb == records.ThumbNotYet && strings.HasPrefix(key, thumbnails):
		return true // just being drawn
	}
	return slices.Contains(keysOf(k), key)
}

// oddObjects looks once more at objects that nobody seems to own.
func (r *reconciliation) oddObjects(ctx context.Context, odd []storage.Info) error {
	ids := map[string]bool{}
	odd = slices.DeleteFunc(odd, func(o storage.Info) bool {
		young := o.ModTime.After(r.cutoff)
		if young {
			r.done.Young++
		}
		return young
	})
	for _, o := range odd {
		if id := idOf(o.Key); id != "" {
			ids[id] = true
		}
	}
	busy, err := r.DB.Busy(ctx, keysIn(ids))
	if err != nil {
		return err
	}
	known, err := r.DB.KeptByID(ctx, keysIn(ids)) // after the jobs: one that just ended has written its row
	if err != nil {
		return err
	}
	for _, o := range odd {
		id := idOf(o.Key)
		_, there := known[id]
		d := Difference{Kind: ObjectNotUsed, Image: id, Key: o.Key, Bytes: o.Size}
		switch {
		case busy[id]:
			r.done.Busy++
			continue
		case owns(known, o.Key):
			continue
		case !there:
			d.Kind = ObjectWithoutRow
		}
		if err := r.note(ctx, d, func(ctx context.Context) (string, error) { return r.isolate(ctx, o) }); err != nil {
			return err
		}
	}
	return nil
}
