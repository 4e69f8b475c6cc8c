package archive

import (
	"context"
	"errors"
	"time"

	"afterimage/records"
	"afterimage/storage"
)

// patience is how long the store may take before the bytes are secured beside
// it. Most are stored by then, and need no second copy.
const patience = 2 * time.Second

// put stores the bytes. A store that is slow may take its time, but the bytes
// do not depend on it: they are secured meanwhile, so that neither a crash nor
// the death of the source can lose them.
func (t *task) put(ctx context.Context, b bytes) (storage.Info, error) {
	object, body := t.object(b), b.Reader()
	secured := make(chan struct{})
	late := time.AfterFunc(patience, func() {
		defer close(secured)
		t.secureMeanwhile(ctx, b)
	})
	info, err := t.Store.Put(ctx, object, body)
	if !late.Stop() {
		<-secured // it uses the bytes, and the image
	}
	return info, err
}

// secureMeanwhile secures bytes that the store is still taking, and says so at
// once.
func (t *task) secureMeanwhile(ctx context.Context, b bytes) {
	if ctx.Err() != nil || t.image.SpoolID == t.Spool.ID() || !t.secure(b) {
		return
	}
	note := *t.image
	note.ObjectKey = "" // nothing is stored yet
	err := t.DB.NoteSecured(ctx, t.job, &note)
	if err != nil && ctx.Err() == nil && !errors.Is(err, records.ErrLeaseLost) {
		t.log().Error("it could not be recorded that an image is secured", "err", err)
	}
}

// secure puts the bytes into the spool, so that the source may die. It reports
// whether they are there.
func (t *task) secure(b bytes) bool {
	i := t.image
	if b == nil || i.SpoolID == t.Spool.ID() {
		return i.SpoolID == t.Spool.ID()
	}
	if err := b.Secure(); err != nil {
		t.log().Error("an image could not be secured in the spool", "err", err)
		return false
	}
	i.SpoolID, t.secured = t.Spool.ID(), true
	return true
}

// elsewhere reports that bytes are in another instance's spool, which may be the
// last ones: nobody else may say that they are lost.
func (t *task) elsewhere() bool {
	return t.image.SpoolID != "" && t.image.SpoolID != t.Spool.ID()
}
