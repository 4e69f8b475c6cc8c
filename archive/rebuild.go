package archive

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"

	"afterimage/records"
	"afterimage/storage"
)

// Rebuilt is what a rebuild found in the store and made of it. The lists hold
// the first few.
type Rebuilt struct {
	records.Restored
	Missing        int      `json:"missing"`         // images that have a sidecar and no object: restored as lost
	MissingIDs     []string `json:"missing_ids"`     //
	Resized        int      `json:"resized"`         // of another size than their sidecar says: restored, to be verified
	ResizedIDs     []string `json:"resized_ids"`     //
	WithoutSidecar int      `json:"without_sidecar"` // objects whose owner nobody knows: left alone
	WithoutIDs     []string `json:"without_sidecar_ids"`
	Unreadable     int      `json:"unreadable"` // sidecars that are damaged: left alone
	UnreadableKeys []string `json:"unreadable_keys"`
	Thumbnails     int      `json:"thumbnails"` // images whose thumbnails will be drawn again
}

const (
	rebuildBatch = 200     // images that are restored in one transaction
	rebuildReads = 16      // sidecars that are read at once
	maxSidecar   = 1 << 20 // bytes
	maxListed    = 20
)

// rebuild is one run.
type rebuild struct {
	db       *records.DB
	store    storage.Store
	dry      bool // only compares
	progress func(Rebuilt)
	found    Rebuilt
	after    string // the last id that is done
}

// Rebuild restores people's histories into a database from a store's sidecars.
// It adds what is missing and may be repeated, so one that was interrupted goes
// on. A database that holds anything that is not just the same in the store is
// a *records.NotTheSameError, and nothing is written. Progress is called now
// and then. Memory does not grow with the number of images.
func Rebuild(ctx context.Context, db *records.DB, store storage.Store, progress func(Rebuilt)) (Rebuilt, error) {
	filled, err := db.HasImages(ctx)
	if err != nil {
		return Rebuilt{}, err
	}
	if filled { // all of it is compared before anything is written
		r := &rebuild{db: db, store: store, dry: true, progress: func(Rebuilt) {}}
		if err := r.run(ctx); err != nil {
			return Rebuilt{}, fmt.Errorf("rebuild: %w", err)
		}
	}
	r := &rebuild{db: db, store: store, progress: progress}
	if err := r.run(ctx); err != nil {
		return r.found, fmt.Errorf("rebuild: %w", err)
	}
	return r.found, nil
}

// run goes through all images that the store has anything of, in the order of
// their ids, which is that of the keys under each prefix.
func (r *rebuild) run(ctx context.Context) error {
	var batch []trace
	for t, err := range traces(ctx, r.store) {
		if err != nil {
			return err
		}
		if batch = append(batch, t); len(batch) == rebuildBatch {
			if err := r.restore(ctx, batch, t.id); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return r.restore(ctx, batch, lastID)
}

// lastID is not before any id.
const lastID = "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"

// restore restores a batch, which is all that there is up to an id.
func (r *rebuild) restore(ctx context.Context, batch []trace, upTo string) error {
	found, err := r.read(ctx, batch)
	if err != nil {
		return err
	}
	var list []records.Restorable
	for n, t := range batch {
		if s := found[n]; s != nil {
			list = append(list, r.restorable(*s, t))
		}
	}
	if r.dry {
		_, err = r.db.CompareRestored(ctx, r.after, upTo, list)
	} else {
		var restored records.Restored
		restored, err = r.db.Restore(ctx, r.after, upTo, list)
		r.found.Add(restored)
		r.progress(r.found)
	}
	r.after = upTo
	return err
}

// read reads the sidecars of a batch; nil where there is none that can be
// read. A store in trouble is an error: it is not the sidecars that are bad.
func (r *rebuild) read(ctx context.Context, batch []trace) ([]*Sidecar, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	found, errs := make([]*Sidecar, len(batch)), make([]error, len(batch))
	places := semaphore.NewWeighted(rebuildReads)
	var reading sync.WaitGroup
	for n, t := range batch {
		if t.sidecar == "" || places.Acquire(ctx, 1) != nil {
			continue
		}
		reading.Go(func() {
			defer places.Release(1)
			if found[n], errs[n] = readSidecar(ctx, r.store, t); isStores(errs[n]) {
				cancel()
			}
		})
	}
	reading.Wait()
	for n, t := range batch {
		switch {
		case isStores(errs[n]) && !errors.Is(errs[n], context.Canceled):
			return nil, errs[n]
		case t.sidecar == "":
			note(&r.found.WithoutSidecar, &r.found.WithoutIDs, t.id)
		case found[n] == nil && ctx.Err() == nil:
			note(&r.found.Unreadable, &r.found.UnreadableKeys, t.sidecar)
		}
	}
	return found, context.Cause(ctx)
}

// restorable is the image as its sidecar and the objects beside it tell.
func (r *rebuild) restorable(s Sidecar, t trace) records.Restorable {
	k := s.restorable()
	k.Sidecar = t.sidecar[len(sidecarPrefix(t.id)) : len(t.sidecar)-len(".json")]
	o, there := t.objects[s.Object]
	switch {
	case !there:
		k.Status, k.Reason = records.ArchiveFailed, ReasonObjectMissing
		note(&r.found.Missing, &r.found.MissingIDs, t.id)
	case o.Size != s.Bytes:
		note(&r.found.Resized, &r.found.ResizedIDs, t.id)
	}
	k.ObjectETag = o.ETag
	if !t.hasThumbs(&k.Image) {
		k.Thumb, k.Placeholder = records.ThumbNotYet, ""
		if there {
			r.found.Thumbnails++
		}
	}
	return k
}

// note counts something and lists the first few.
func note(n *int, list *[]string, what string) {
	if *n++; len(*list) < maxListed {
		*list = append(*list, what)
	}
}
