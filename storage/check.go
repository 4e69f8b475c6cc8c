package storage

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
)

// check is Check for every store: each call that the app makes, once, on an
// object of its own.
func check(ctx context.Context, s Store) error {
	text := []byte("afterimage: written to check the settings, safe to delete\n")
	o := Object{
		Key:         "check-" + strings.ToLower(rand.Text()) + ".txt",
		ContentType: "text/plain",
		Size:        int64(len(text)),
		SHA256:      sha256.Sum256(text),
	}
	if _, err := s.Put(ctx, o, bytes.NewReader(text)); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	if err := checkBytes(ctx, s, o, text); err != nil {
		_ = s.Delete(ctx, o.Key) // the first failure is the one to tell
		return fmt.Errorf("check: %w", err)
	}
	if err := s.Delete(ctx, o.Key); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	return checkGone(ctx, s, o.Key)
}

func checkBytes(ctx context.Context, s Store, o Object, want []byte) error {
	body, _, err := s.Open(ctx, o.Key, 0, -1)
	if err != nil {
		return err
	}
	defer body.Close()
	got, err := io.ReadAll(io.LimitReader(body, o.Size+1))
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return &Error{Reason: ReasonError, Op: "read back object", Key: o.Key, Err: errors.New("other bytes came back than were stored")}
	}
	return nil
}

// checkGone makes sure that a missing object is told from a refused one. AWS
// answers 403 for both to keys that may not list.
func checkGone(ctx context.Context, s Store, key string) error {
	_, err := s.Stat(ctx, key)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err == nil:
		return &Error{Reason: ReasonError, Op: "check: delete object", Key: key, Err: errors.New("it is still there")}
	default:
		return fmt.Errorf("check: a missing object must be reported as missing (permission to list the bucket): %w", err)
	}
}
