package storage

import (
	"context"
	"encoding/hex"
	"fmt"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

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
