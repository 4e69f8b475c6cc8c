package storage

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// proof remembers whether the server refuses bytes that differ from the signed
// hash. One that does has proven each put by answering it; any other one is
// asked for the size afterwards.
type proof struct {
	state   atomic.Int32
	probing sync.Mutex
}

const (
	proofUnknown int32 = iota
	proofEnforced
	proofNot
)

func (p *proof) forget() { p.state.Store(proofUnknown) }

// enforced tells what is known; where nothing is, one caller finds out while the
// others go on without proof.
func (s *S3) enforced(ctx context.Context) bool {
	if s.proof.state.Load() == proofUnknown && s.proof.probing.TryLock() {
		defer s.proof.probing.Unlock()
		s.proof.state.Store(s.probe(ctx))
	}
	return s.proof.state.Load() == proofEnforced
}

// probe puts a small object under a hash that is not its own.
func (s *S3) probe(ctx context.Context) int32 {
	const text = "afterimage: sent with a wrong hash, so this should not be here; safe to delete\n"
	key := "check-" + strings.ToLower(rand.Text()) + ".txt"
	o := Object{Key: key, ContentType: "text/plain", Size: int64(len(text)), SHA256: sha256.Sum256([]byte("not the text"))}
	_, err := s.put(ctx, "probe object", o, strings.NewReader(text))
	code, status := answer(err)
	switch {
	case err == nil:
		_ = s.Delete(context.WithoutCancel(ctx), key)
		return proofNot
	case isMismatch(code):
		return proofEnforced
	case status == 400:
		return proofNot // refused, but perhaps for another reason
	default:
		return proofUnknown // no verdict: the next put asks again
	}
}

// isMismatch tells a server's "these are not the bytes that you signed".
func isMismatch(code string) bool {
	switch code {
	case "XAmzContentSHA256Mismatch", "BadDigest", "XAmzContentChecksumMismatch", "ContentSHA256Mismatch":
		return true
	}
	return false
}

// signPayloadHash sends the known hash as the signed x-amz-content-sha256, over
// TLS too, instead of computing one or leaving the payload unsigned. Setting the
// hash on the context alone is ignored: the step that would replace it has to go.
func signPayloadHash(sum [32]byte) func(*s3.Options) {
	return s3.WithAPIOptions(func(stack *middleware.Stack) error {
		_, err := stack.Finalize.Swap("ComputePayloadHash", payloadHash(hex.EncodeToString(sum[:])))
		return err
	})
}

type payloadHash string

func (payloadHash) ID() string { return "ComputePayloadHash" }

func (h payloadHash) HandleFinalize(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	return next.HandleFinalize(v4.SetPayloadHash(ctx, string(h)), in)
}

// leaveEncodingUnsigned sets Accept-Encoding after the signature instead of
// before it: proxies rewrite that header, and then the signature is wrong.
func leaveEncodingUnsigned(stack *middleware.Stack) error {
	if _, ok := stack.Finalize.Get("DisableAcceptEncodingGzip"); !ok {
		return nil
	}
	if _, err := stack.Finalize.Remove("DisableAcceptEncodingGzip"); err != nil {
		return err
	}
	return stack.Finalize.Insert(identityEncoding{}, "Signing", middleware.After)
}

type identityEncoding struct{}

func (identityEncoding) ID() string { return "IdentityEncoding" }

func (identityEncoding) HandleFinalize(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	req, ok := in.Request.(*smithyhttp.Request)
	if !ok {
		return middleware.FinalizeOutput{}, middleware.Metadata{}, fmt.Errorf("unknown request type %T", in.Request)
	}
	req.Header.Set("Accept-Encoding", "identity")
	return next.HandleFinalize(ctx, in)
}
