package storage

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
)

// proof remembers how the server proves that it holds what was sent. One that
// refuses bytes which differ from the signed SHA-256 has proven each put by
// saying yes. Any other one is asked afterwards.
type proof struct {
	state   atomic.Int32
	probing sync.Mutex
}

const (
	proofUnknown int32 = iota
	proofHash          // it enforces the signed SHA-256
	proofMD5           // it enforces Content-MD5: the size is read back, since some publish half an upload
	proofNone          // it enforces nothing: the bytes are read back unless the ETag is their MD5
)

func (p *proof) forget() { p.state.Store(proofUnknown) }

// Proof says how this server proves that an object arrived, for operators. It
// is known after Check.
func (s *S3) Proof() string {
	switch s.proof.state.Load() {
	case proofHash:
		return "the server checks the signed SHA-256"
	case proofMD5:
		return "the server checks Content-MD5, and its size is read back"
	case proofNone:
		return "the server checks nothing, so each object is read back"
	}
	return "not known yet"
}

// learn tells what is known; where nothing is, one caller finds out while the
// others go on as if the server enforced nothing.
func (s *S3) learn(ctx context.Context) int32 {
	if s.proof.state.Load() == proofUnknown && s.proof.probing.TryLock() {
		defer s.proof.probing.Unlock()
		s.proof.state.Store(s.probe(ctx))
	}
	return s.proof.state.Load()
}

// probe puts a small object under a SHA-256 that is not its own and, if the
// server takes it, under an MD5 that is not.
func (s *S3) probe(ctx context.Context) int32 {
	const text = "afterimage: sent with a wrong hash, so this should not be here; safe to delete\n"
	o := Object{ContentType: "text/plain", Size: int64(len(text)), SHA256: sha256.Sum256([]byte("not the text"))}
	switch s.takes(ctx, o, text, nil) {
	case refused:
		return proofHash
	case noVerdict:
		return proofUnknown // the next put asks again
	}
	o.SHA256 = sha256.Sum256([]byte(text))
	wrong := md5.Sum([]byte("not the text"))
	switch s.takes(ctx, o, text, wrong[:]) {
	case refused:
		return proofMD5
	case noVerdict:
		return proofUnknown
	}
	return proofNone
}

type probed int

const (
	noVerdict probed = iota
	refused
	taken
)

// takes tells what the server does with a text whose hash is wrong.
func (s *S3) takes(ctx context.Context, o Object, text string, sum []byte) probed {
	o.Key = "check-" + strings.ToLower(rand.Text()) + ".txt"
	_, err := s.put(ctx, "probe object", o, strings.NewReader(text), sum)
	code, status := answer(err)
	switch {
	case err == nil:
		_ = s.Delete(context.WithoutCancel(ctx), o.Key)
		return taken
	case isMismatch(code):
		return refused
	case status == 400:
		return taken // refused, but perhaps for another reason
	}
	return noVerdict
}

// isMismatch tells a server's "these are not the bytes that you signed".
func isMismatch(code string) bool {
	switch code {
	case "XAmzContentSHA256Mismatch", "BadDigest", "XAmzContentChecksumMismatch", "ContentSHA256Mismatch":
		return true
	}
	return false
}

// measure reads the body once before it is sent, where the server does not
// compare its SHA-256: bytes that are not the declared ones must not get that
// far. It gives their MD5, which the server may compare, or answer as the ETag.
func measure(op string, o Object, body io.ReadSeeker) ([]byte, error) {
	sha, sum := sha256.New(), md5.New()
	_, err := io.Copy(io.MultiWriter(sha, sum), body)
	if err == nil {
		_, err = body.Seek(-o.Size, io.SeekEnd)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: read body: %w", op, o.Key, err)
	}
	if [32]byte(sha.Sum(nil)) != o.SHA256 {
		return nil, mismatch(op, o.Key, errors.New("body has another SHA-256 than was declared"))
	}
	return sum.Sum(nil), nil
}

// readBack asks what the server holds after it said yes without proof. What is
// not the object is no object of ours.
func (s *S3) readBack(ctx context.Context, op string, o Object, sum []byte) error {
	info, err := s.Stat(ctx, o.Key)
	found := fmt.Sprintf("holds %d of %d bytes", info.Size, o.Size)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return err
	case info.Size == o.Size:
		if s.proof.state.Load() == proofMD5 || info.ETag == hex.EncodeToString(sum) {
			return nil
		}
		same, err := s.sameBytes(ctx, o)
		if err != nil || same {
			return err
		}
		found = "holds other bytes"
	}
	_ = s.Delete(context.WithoutCancel(ctx), o.Key)
	return &Error{
		Reason: ReasonError, Setting: "S3_ENDPOINT", Op: op, Key: o.Key,
		Err: fmt.Errorf("the store said yes but %s", found),
	}
}

// sameBytes reads the whole object: encrypted buckets have an ETag that is no
// MD5, and so proves nothing either way.
func (s *S3) sameBytes(ctx context.Context, o Object) (bool, error) {
	body, _, err := s.Open(ctx, o.Key, 0, -1)
	if err != nil {
		return false, err
	}
	defer body.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, body); err != nil {
		return false, err
	}
	return [32]byte(sum.Sum(nil)) == o.SHA256, nil
}
