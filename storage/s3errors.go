package storage

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
)

// sort turns what the SDK said into ours, once. ctx is the request's own.
func (s *S3) sort(ctx context.Context, op, key string, err error) error {
	if err == nil {
		return nil
	}
	code, status := answer(err)
	switch {
	case ctx.Err() != nil:
		return networkError(ctx, op, key, err)
	case status == 0:
		return s.unanswered(ctx, op, key, err)
	case code == "NoSuchKey", status == http.StatusNotFound && code == "NotFound":
		return notFound(op, key)
	case code == "InvalidRange", status == http.StatusRequestedRangeNotSatisfiable:
		return outOfRange(op, key)
	}
	if code == "ExpiredToken" || code == "ExpiredTokenException" {
		s.credentials.Invalidate() // the next request reads them anew
	}
	v := judge(code, status)
	return &Error{
		Reason: v.reason, Final: v.final, Setting: v.setting, Op: op, Key: key,
		Status: status, Code: code, Err: errors.New(said(err, v.advice)),
	}
}

// verdict is what an answer means and what to do about it.
type verdict struct {
	reason, setting, advice string
	final                   bool
}

func judge(code string, status int) verdict {
	switch code {
	case "NoSuchBucket":
		return verdict{reason: ReasonMissing, setting: "S3_BUCKET", advice: "there is no such bucket"}
	case "InvalidBucketName":
		return verdict{reason: ReasonMissing, setting: "S3_BUCKET", advice: "the bucket's name is not allowed"}
	case "InvalidAccessKeyId", "XAdminUserNotFound": // the latter by versitygw
		return verdict{reason: ReasonDenied, setting: "S3_ACCESS_KEY_ID", advice: "the server does not know the key id"}
	case "SignatureDoesNotMatch":
		return verdict{reason: ReasonDenied, setting: "S3_SECRET_ACCESS_KEY", advice: "the signature is wrong: another secret, or a proxy that changes requests"}
	case "ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired":
		return verdict{reason: ReasonDenied, setting: "S3_ACCESS_KEY_ID", advice: "the credentials are no longer valid"}
	case "RequestTimeTooSkewed":
		return verdict{reason: ReasonDenied, advice: "the clock of this machine or of the server is wrong"}
	case "PermanentRedirect", "MovedPermanently", "AuthorizationHeaderMalformed", "InvalidRegionName", "IllegalLocationConstraintException":
		return verdict{reason: ReasonDenied, setting: "S3_REGION", advice: "the bucket is in another region"}
	case "VirtualHostDomainRequired", "SecondLevelDomainForbidden", "PathStyleDomainForbidden", "PathStyleNotAllowed":
		return verdict{reason: ReasonDenied, setting: "S3_PATH_STYLE", advice: "the server wants bucket.host: set false"}
	case "XAmzContentSHA256Mismatch", "BadDigest", "XAmzContentChecksumMismatch", "ContentSHA256Mismatch":
		return verdict{reason: ReasonError, setting: "S3_ENDPOINT", advice: "other bytes arrived than were sent: something in between changes them"}
	case "EntityTooLarge", "KeyTooLongError", "KeyTooLong":
		return verdict{reason: ReasonError, final: true, advice: "the server never takes this object"}
	case "InsufficientStorage", "XMinioStorageFull", "StorageFull", "QuotaExceeded", "XMinioAdminBucketQuotaExceeded", "ServiceQuotaExceeded", "EntityQuotaExceeded":
		return verdict{reason: ReasonFull, advice: "no space, or the quota is used up"}
	}
	return judgeStatus(status)
}

func judgeStatus(status int) verdict {
	switch {
	case status == http.StatusMovedPermanently, status == http.StatusTemporaryRedirect, status == http.StatusPermanentRedirect:
		return verdict{reason: ReasonDenied, setting: "S3_REGION", advice: "the bucket is elsewhere"}
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return verdict{reason: ReasonDenied, setting: "S3_ACCESS_KEY_ID", advice: "the key may not do this in the bucket"}
	case status == http.StatusRequestEntityTooLarge:
		return verdict{reason: ReasonError, final: true, advice: "the server never takes this object"}
	case status == http.StatusInsufficientStorage:
		return verdict{reason: ReasonFull, advice: "no space, or the quota is used up"}
	case status == http.StatusNotImplemented, status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status < 300:
		return verdict{reason: ReasonError, setting: "S3_ENDPOINT", advice: "this server does not do what S3 does"}
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		return verdict{reason: ReasonUnreachable, advice: "the server cannot take it now"}
	}
	return verdict{reason: ReasonError, advice: "refused"}
}

// answer is the server's error code and HTTP status; status 0 means that no
// answer came. It reads our own errors too.
func answer(err error) (code string, status int) {
	if ours, ok := errors.AsType[*Error](err); ok {
		return ours.Code, ours.Status
	}
	if resp, ok := errors.AsType[*awshttp.ResponseError](err); ok && resp.Response != nil {
		status = resp.HTTPStatusCode()
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		code = api.ErrorCode()
	}
	return code, status
}

// said is our advice with the server's own words, one line of 200 bytes at most.
func said(err error, advice string) string {
	if resp, ok := errors.AsType[*awshttp.ResponseError](err); ok && resp.Response != nil {
		if region := resp.Response.Header.Get("X-Amz-Bucket-Region"); region != "" {
			advice += fmt.Sprintf(" (it names %q)", region)
		}
		if code, _ := answer(err); code == "RequestTimeTooSkewed" {
			advice += clockDifference(resp.Response.Header.Get("Date"))
		}
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok || api.ErrorMessage() == "" {
		return advice
	}
	words := strings.ToValidUTF8(api.ErrorMessage()[:min(200, len(api.ErrorMessage()))], "")
	return fmt.Sprintf("%s: %q", advice, words)
}

// clockDifference says how far the clocks are apart.
func clockDifference(date string) string {
	theirs, err := http.ParseTime(date)
	if err != nil {
		return ""
	}
	ahead := time.Since(theirs).Round(time.Second)
	if ahead < 0 {
		return fmt.Sprintf(": this machine's is %s behind the server's", -ahead)
	}
	return fmt.Sprintf(": this machine's is %s ahead of the server's", ahead)
}

// unanswered sorts a failure that came before the server said anything, and
// names the setting that is behind the usual ones.
func (s *S3) unanswered(ctx context.Context, op, key string, err error) error {
	if missing, ok := errors.AsType[credentialsError](err); ok {
		return &Error{Reason: ReasonDenied, Setting: "S3_ACCESS_KEY_ID", Op: op, Key: key, Err: missing}
	}
	e := &Error{Reason: ReasonUnreachable, Op: op, Key: key, Err: withoutURL(err)}
	_, noName := errors.AsType[*net.DNSError](err)
	_, badCert := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case badCert:
		e.Setting = "AWS_CA_BUNDLE"
	case s.host == onAWS:
	case noName && !s.pathStyle: // the bucket stands before the host's name
		e.Setting = "S3_PATH_STYLE"
	default:
		e.Setting = "S3_ENDPOINT"
	}
	return e
}

// networkError is for requests that ended under way. A caller that gave up is
// no failure of the store.
func networkError(ctx context.Context, op, key string, err error) error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errSlow):
		err = errSlow
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("%s %s: %w", op, key, context.Canceled)
	case ctx.Err() != nil:
		err = ctx.Err()
	}
	return &Error{Reason: ReasonUnreachable, Op: op, Key: key, Err: withoutURL(err)}
}

// withoutURL keeps what happened and drops the address and the SDK's own words.
func withoutURL(err error) error {
	if inner, ok := errors.AsType[*url.Error](err); ok {
		return inner.Err
	}
	return err
}
