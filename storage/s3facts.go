package storage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// PathStyle tells whether requests name host/bucket (true) or bucket.host.
func (s *S3) PathStyle() bool { return s.pathStyle }

// Clock is how far this machine's clock is ahead of the server's; servers say
// the time to the second. ok is false where the server does not say it.
func (s *S3) Clock(ctx context.Context) (ahead time.Duration, ok bool, err error) {
	const op = "ask for the bucket"
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errSlow)
	defer cancel()
	out, err := s.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.bucket})
	if err != nil {
		return 0, false, s.sort(ctx, op, "", err)
	}
	theirs, said := awsmiddleware.GetServerTime(out.ResultMetadata)
	ours, known := awsmiddleware.GetResponseAt(out.ResultMetadata)
	return ours.Sub(theirs), said && known && !theirs.IsZero(), nil
}

// Lifecycle names the bucket's enabled rules that would take our objects away:
// those that delete them, and those that move them where they cannot be read
// at once. An error with a Status says that the server did not tell.
func (s *S3) Lifecycle(ctx context.Context) (harmful []string, err error) {
	const op = "read the lifecycle rules"
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errSlow)
	defer cancel()
	out, err := s.client.GetBucketLifecycleConfiguration(ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: &s.bucket})
	if code, _ := answer(err); code == "NoSuchLifecycleConfiguration" {
		return nil, nil
	}
	if err != nil {
		return nil, s.sort(ctx, op, "", err)
	}
	for _, rule := range out.Rules {
		if does := harm(rule); does != "" && rule.Status == types.ExpirationStatusEnabled && s.concerns(rule) {
			harmful = append(harmful, fmt.Sprintf("rule %q %s", aws.ToString(rule.ID), does))
		}
	}
	return harmful, nil
}

func harm(rule types.LifecycleRule) string {
	if e := rule.Expiration; e != nil {
		switch {
		case aws.ToInt32(e.Days) > 0:
			return fmt.Sprintf("deletes objects after %d days", *e.Days)
		case e.Date != nil:
			return "deletes objects on " + e.Date.Format(time.DateOnly)
		}
	}
	for _, t := range rule.Transitions {
		if t.StorageClass == types.TransitionStorageClassGlacier || t.StorageClass == types.TransitionStorageClassDeepArchive {
			return fmt.Sprintf("moves objects to %s, where they cannot be read at once", t.StorageClass)
		}
	}
	return ""
}

// concerns tells whether a rule's prefix and ours overlap. Our objects have no
// tags.
func (s *S3) concerns(rule types.LifecycleRule) bool {
	//lint:ignore SA1019 some servers still answer in the old form
	prefix := aws.ToString(rule.Prefix)
	if f := rule.Filter; f != nil {
		prefix += aws.ToString(f.Prefix)
		if f.And != nil {
			prefix += aws.ToString(f.And.Prefix)
		}
		if f.Tag != nil || f.And != nil && len(f.And.Tags) > 0 {
			return false
		}
	}
	if strings.HasPrefix(s.prefix, prefix) {
		return true
	}
	below, ours := strings.CutPrefix(prefix, s.prefix)
	return ours && !strings.HasPrefix(below, tempPrefix)
}

// tempPrefix begins the names of what a check leaves when it is cut off.
const tempPrefix = "check-"
