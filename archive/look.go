package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"afterimage/records"
	"afterimage/storage"
)

// What a look at an image's object can find.
const (
	Whole      = "whole"
	Missing    = "missing"
	Wrong      = "wrong"      // other bytes than were stored
	Unreadable = "unreadable" // the store is fine, but does not give this one
	Gone       = "gone"       // the image was changed or deleted meanwhile
)

// ReasonObjectMissing is why an image failed whose object is no longer there.
const ReasonObjectMissing = "object_missing"

// Found is what a look at an image's object found.
type Found struct {
	Kept   records.Kept
	What   string
	Detail string // of what is wrong, for operators
	Read   int64  // bytes
	Err    error  // of what is unreadable
}

func (f Found) lost() bool { return f.What == Missing || f.What == Wrong }

func (f Found) reason() string {
	if f.What == Missing {
		return ReasonObjectMissing
	}
	return storage.ReasonMismatch
}

// look reads an image's object. What is not whole is read a second time, since
// the fault may lie on the way. An error is the store's or the database's and
// says nothing about the image.
func (a *Archiver) look(ctx context.Context, k records.Kept, p *pace) (Found, error) {
	f := a.lookOnce(ctx, k, p)
	if f.What == Whole {
		return f, nil
	}
	again := a.lookOnce(ctx, k, p)
	again.Read += f.Read
	if err := ctx.Err(); err != nil {
		return again, context.Cause(ctx)
	}
	if again.What == Whole {
		return again, nil
	}
	// Nobody may have changed it meanwhile, and the store must be in order:
	// only then it is the image's fault.
	now, err := a.DB.ImageByLink(ctx, k.ID)
	switch {
	case errors.Is(err, records.ErrNotFound):
		again.What = Gone
		return again, nil
	case err != nil:
		return again, err
	case now.ObjectKey != k.ObjectKey || now.SHA256 != k.SHA256 || now.Status != k.Status:
		again.What = Gone
		return again, nil
	}
	return again, a.storeIsFine(ctx, again)
}

// storeIsFine makes a store in trouble an error.
func (a *Archiver) storeIsFine(ctx context.Context, f Found) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	if err := a.Store.Check(ctx); err != nil {
		if f.Err != nil {
			return f.Err
		}
		return err
	}
	return nil
}

func (a *Archiver) lookOnce(ctx context.Context, k records.Kept, p *pace) Found {
	f := Found{Kept: k}
	body, _, err := a.Store.Open(ctx, k.ObjectKey, 0, -1)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		f.What, f.Detail = Missing, "the store has no object "+k.ObjectKey
		return f
	case err != nil:
		f.What, f.Err = Unreadable, err
		return f
	}
	defer body.Close()
	h := sha256.New()
	// One byte more tells an object that has grown, without reading all of it.
	f.Read, err = io.Copy(h, paced{io.LimitReader(body, k.Bytes+1), ctx, p})
	sum := fmt.Sprintf("%x", h.Sum(nil))
	switch {
	case err != nil:
		f.What, f.Err = Unreadable, fmt.Errorf("read object %s: %w", k.ObjectKey, err)
	case f.Read > k.Bytes:
		f.What, f.Detail = Wrong, fmt.Sprintf("the object has more than the %d bytes that were stored", k.Bytes)
	case f.Read < k.Bytes:
		f.What, f.Detail = Wrong, fmt.Sprintf("the object has %d bytes, %d were stored", f.Read, k.Bytes)
	case sum != k.SHA256:
		f.What, f.Detail = Wrong, fmt.Sprintf("the object has the SHA-256 %s, %s was stored", sum, k.SHA256)
	default:
		f.What = Whole
	}
	return f
}
