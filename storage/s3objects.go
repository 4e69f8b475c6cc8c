package storage

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Put is Store's: one request when the server is known to enforce the signed
// hash; where it is not, the body is measured before and looked at afterwards.
func (s *S3) Put(ctx context.Context, o Object, body io.ReadSeeker) (Info, error) {
	const op = "put object"
	if err := checkObject(op, o, body); err != nil {
		return Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return Info{}, fmt.Errorf("%s %s: %w", op, o.Key, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, putTime(o.Size), errSlow)
	defer cancel()
	var sum []byte
	if s.proof.state.Load() != proofHash {
		var err error
		if sum, err = measure(op, o, body); err != nil {
			return Info{}, err
		}
	}
	src := &source{ReadSeeker: body}
	etag, err := s.put(ctx, op, o, src, sum)
	if failed := src.err.Load(); failed != nil {
		return Info{}, fmt.Errorf("%s %s: read body: %w", op, o.Key, *failed)
	}
	if err != nil {
		return Info{}, s.blame(err, o, body)
	}
	if sum != nil && s.learn(ctx) != proofHash {
		if err := s.readBack(ctx, op, o, sum); err != nil {
			return Info{}, err
		}
	}
	return Info{Key: o.Key, Size: o.Size, ETag: etag, ContentType: o.ContentType}, nil
}

// put sends no ACL: many buckets refuse any. The MD5 is sent if there is one.
func (s *S3) put(ctx context.Context, op string, o Object, body io.ReadSeeker, sum []byte) (etag string, err error) {
	in := &s3.PutObjectInput{
		Bucket:        &s.bucket,
		Key:           s.key(o.Key),
		Body:          body,
		ContentLength: &o.Size,
		ContentType:   &o.ContentType,
		CacheControl:  aws.String(immutable),
	}
	if sum != nil {
		in.ContentMD5 = aws.String(base64.StdEncoding.EncodeToString(sum))
	}
	out, err := s.client.PutObject(ctx, in, signPayloadHash(o.SHA256))
	if err != nil {
		return "", s.sort(ctx, op, o.Key, err)
	}
	return s.etag(op, o.Key, out.ETag)
}

// blame finds out whose fault a refused hash is: the body is read once more.
func (s *S3) blame(err error, o Object, body io.ReadSeeker) error {
	code, _ := answer(err)
	if !isMismatch(code) {
		return err
	}
	sum := sha256.New()
	_, seekErr := body.Seek(-o.Size, io.SeekEnd)
	_, readErr := io.Copy(sum, body)
	if failed := errors.Join(seekErr, readErr); failed != nil {
		return fmt.Errorf("put object %s: read body: %w", o.Key, failed)
	}
	if [32]byte(sum.Sum(nil)) != o.SHA256 {
		return mismatch("put object", o.Key, errors.New("body has another SHA-256 than was declared"))
	}
	return err
}

// Open is Store's. Closing the body early, or ending ctx, stops the transfer.
func (s *S3) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, Info, error) {
	const op = "open object"
	if err := checkKey(op, key); err != nil {
		return nil, Info{}, err
	}
	if offset < 0 {
		return nil, Info{}, outOfRange(op, key)
	}
	if length == 0 { // HTTP has no empty range
		info, err := s.Stat(ctx, key)
		if err == nil && offset > 0 && offset >= info.Size {
			err = outOfRange(op, key)
		}
		return http.NoBody, info, err
	}
	want := httpRange(offset, length)
	watched, w := watch(ctx)
	out, err := s.client.GetObject(watched, &s3.GetObjectInput{Bucket: &s.bucket, Key: s.key(key), Range: want})
	w.pause()
	if err != nil {
		err = s.sort(watched, op, key, err)
		w.end()
		return nil, Info{}, err
	}
	body := &watchedBody{body: out.Body, watchdog: w, op: op, key: key}
	info := Info{Key: key, Size: aws.ToInt64(out.ContentLength), ContentType: aws.ToString(out.ContentType), ModTime: aws.ToTime(out.LastModified)}
	if info.ETag, err = s.etag(op, key, out.ETag); err == nil && want != nil {
		info.Size, err = wholeSize(op, key, aws.ToString(out.ContentRange))
	}
	if err != nil {
		_ = body.Close()
		return nil, Info{}, err
	}
	return body, info, nil
}

// Stat is Store's.
func (s *S3) Stat(ctx context.Context, key string) (Info, error) {
	const op = "stat object"
	if err := checkKey(op, key); err != nil {
		return Info{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errSlow)
	defer cancel()
	out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: s.key(key)})
	if err != nil {
		err = s.sort(ctx, op, key, err)
		if errors.Is(err, ErrNotFound) {
			err = s.confirmMissing(ctx, key)
		}
		return Info{}, err
	}
	info := Info{Key: key, Size: aws.ToInt64(out.ContentLength), ContentType: aws.ToString(out.ContentType), ModTime: aws.ToTime(out.LastModified)}
	info.ETag, err = s.etag(op, key, out.ETag)
	return info, err
}

// confirmMissing asks again by GET: the 404 of a HEAD has no body and so does
// not tell a missing object from a missing bucket, which would look as if every
// object was lost.
func (s *S3) confirmMissing(ctx context.Context, key string) error {
	body, _, err := s.Open(ctx, key, 0, 1)
	if err == nil {
		_ = body.Close()
		return &Error{Reason: ReasonError, Op: "stat object", Key: key, Err: errors.New("HEAD says it is missing, GET has it")}
	}
	return err
}

// Delete is Store's.
func (s *S3) Delete(ctx context.Context, key string) error {
	const op = "delete object"
	if err := checkKey(op, key); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errSlow)
	defer cancel()
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: s.key(key)})
	if err = s.sort(ctx, op, key, err); errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func (s *S3) key(key string) *string { return aws.String(s.prefix + key) }

// etag refuses an answer without one: a web page with status 200, from a proxy or
// a wrong port, passes for success everywhere else.
func (s *S3) etag(op, key string, etag *string) (string, error) {
	if bare := strings.Trim(aws.ToString(etag), `"`); bare != "" {
		return bare, nil
	}
	return "", &Error{Reason: ReasonError, Setting: "S3_ENDPOINT", Op: op, Key: key, Err: errors.New("the answer has no ETag: this is no S3 server")}
}

func httpRange(offset, length int64) *string {
	switch {
	case length > 0:
		return aws.String(fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
	case offset > 0:
		return aws.String(fmt.Sprintf("bytes=%d-", offset))
	}
	return nil
}

// wholeSize reads the object's size from "bytes 0-9/1000".
func wholeSize(op, key, contentRange string) (int64, error) {
	_, size, _ := strings.Cut(contentRange, "/")
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		return 0, &Error{Reason: ReasonError, Setting: "S3_ENDPOINT", Op: op, Key: key, Err: errors.New("the server does not answer ranges")}
	}
	return n, nil
}

// source remembers its own failure, to be told from the store's. The transport
// may still be reading when the request has failed.
type source struct {
	io.ReadSeeker
	err atomic.Pointer[error]
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.ReadSeeker.Read(p)
	if err != nil && err != io.EOF {
		s.err.Store(&err)
	}
	return n, err
}
