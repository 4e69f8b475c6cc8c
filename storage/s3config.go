package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go/logging"
)

// S3Config is the S3_* settings. Only Bucket is needed on AWS.
type S3Config struct {
	Bucket          string
	Endpoint        string // URL of the server; default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, a profile's, then AWS itself
	Region          string // default: "auto" on R2, else AWS_REGION or the profile's, else "us-east-1"
	AccessKeyID     string // both keys, or none for the AWS chain: environment, profile, container, instance
	SecretAccessKey string
	Prefix          string // put before every key, with a slash; default: none
	PathStyle       string // "auto", "true" (host/bucket) or "false" (bucket.host); default: "auto"
	PublicURL       string // a public or CDN base URL of the bucket; default: none
	CAFile          string // root certificates beside the system's, PEM; default: none (AWS_CA_BUNDLE works too)
}

// validate reports all problems at once, each with its variable.
func (c S3Config) validate() error {
	var problems []error
	add := func(variable, format string, args ...any) {
		problems = append(problems, fmt.Errorf(variable+": "+format, args...))
	}
	if c.Bucket == "" || strings.ContainsAny(c.Bucket, "/ ?#") {
		add("S3_BUCKET", "want the bucket's name alone, got %q", c.Bucket)
	}
	if !isBaseURL(c.Endpoint) {
		add("S3_ENDPOINT", "want http://host or https://host without a user or a query")
	}
	if !isBaseURL(c.PublicURL) {
		add("S3_PUBLIC_URL", "want http://host or https://host without a user or a query")
	}
	if (c.AccessKeyID == "") != (c.SecretAccessKey == "") {
		add("S3_ACCESS_KEY_ID", "set it and S3_SECRET_ACCESS_KEY, or neither")
	}
	switch c.PathStyle {
	case "", "auto", "true", "false":
	default:
		add("S3_PATH_STYLE", "want auto, true or false, got %q", c.PathStyle)
	}
	if !validPrefix(c.Prefix) {
		add("S3_PREFIX", "want folder names joined by single slashes, none first, got %q", c.Prefix)
	}
	return errors.Join(problems...)
}

// isBaseURL takes the empty string too. The URL itself is never repeated: people
// paste keys into it.
func isBaseURL(s string) bool {
	if s == "" {
		return true
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// validPrefix takes the upper case that buckets of others may have, but nothing
// that some server changes or refuses.
func validPrefix(prefix string) bool {
	if prefix == "" {
		return true
	}
	prefix = strings.ToLower(strings.TrimSuffix(prefix, "/"))
	return len(prefix) <= 100 && ValidKey(prefix)
}

// region: R2 takes "auto" only, and most other servers take anything that the
// signature agrees with; "us-east-1" is what they have when nobody set another.
func (c S3Config) region(host, shared string) string {
	if c.Region == "" && strings.HasSuffix(host, ".r2.cloudflarestorage.com") {
		return "auto"
	}
	return cmp.Or(c.Region, shared, "us-east-1")
}

// pathStyle: AWS and the vendors that forbid host/bucket get bucket.host; every
// other server gets host/bucket, which needs no wildcard name in DNS.
func (c S3Config) pathStyle(host string) bool {
	if c.PathStyle == "true" || c.PathStyle == "false" {
		return c.PathStyle == "true"
	}
	if host == onAWS {
		return false
	}
	for _, vendor := range []string{".amazonaws.com", ".amazonaws.com.cn", ".aliyuncs.com", ".myqcloud.com", ".volces.com"} {
		if strings.HasSuffix(host, vendor) {
			return false
		}
	}
	return true
}

// credentialsError says that there is nothing to sign with, which the server never saw.
type credentialsError struct{ err error }

func (e credentialsError) Error() string { return "no credentials: " + e.err.Error() }
func (e credentialsError) Unwrap() error { return e.err }

// credentials gives the two keys or the AWS chain. The chain is loaded anew each
// time that its answer expires or is refused as expired, so that a rotated file
// is seen without a restart.
func (c S3Config) credentials(client config.HTTPClient) *aws.CredentialsCache {
	if c.AccessKeyID != "" {
		return aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider(c.AccessKeyID, c.SecretAccessKey, ""))
	}
	return aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		chain, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(client), config.WithLogger(logging.Nop{}))
		if err != nil {
			return aws.Credentials{}, credentialsError{err}
		}
		found, err := chain.Credentials.Retrieve(ctx)
		if err != nil {
			return aws.Credentials{}, credentialsError{err}
		}
		return found, nil
	}))
}
