package storage

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// List is Store's.
func (s *S3) List(ctx context.Context, prefix, after string, limit int) ([]Info, error) {
	if limit <= 0 {
		limit = listLimit
	}
	in := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: s.key(prefix)}
	if after != "" {
		in.StartAfter = s.key(after)
	}
	var found []Info
	for {
		in.MaxKeys = aws.Int32(int32(min(limit-len(found), listLimit)))
		page, err := s.listPage(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, o := range page.Contents {
			key := strings.TrimPrefix(aws.ToString(o.Key), s.prefix)
			if key <= after || len(found) == limit {
				continue // a server that ignores what we asked for
			}
			found = append(found, Info{
				Key:     key,
				Size:    aws.ToInt64(o.Size),
				ETag:    strings.Trim(aws.ToString(o.ETag), `"`),
				ModTime: aws.ToTime(o.LastModified),
			})
		}
		in.ContinuationToken = page.NextContinuationToken
		if len(found) == limit || !aws.ToBool(page.IsTruncated) || in.ContinuationToken == nil {
			return found, nil
		}
	}
}

func (s *S3) listPage(ctx context.Context, in *s3.ListObjectsV2Input) (*s3.ListObjectsV2Output, error) {
	const op = "list objects"
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errSlow)
	defer cancel()
	page, err := s.client.ListObjectsV2(ctx, in)
	if err != nil {
		return nil, s.sort(ctx, op, "", err)
	}
	if page.Name == nil { // a web page reads as an empty list otherwise
		return nil, &Error{Reason: ReasonError, Setting: "S3_ENDPOINT", Op: op, Err: errors.New("the answer is no list: this is no S3 server")}
	}
	return page, nil
}
