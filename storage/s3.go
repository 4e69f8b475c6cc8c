package storage

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
)

// S3 keeps objects in a bucket of any S3-compatible server. Every request has a
// deadline, and every object is one PutObject.
type S3 struct {
	client      *s3.Client
	credentials *aws.CredentialsCache
	bucket      string
	prefix      string // empty or ending in a slash
	publicURL   string // empty or ending in a slash
	host        string // where the bucket is, for people
	pathStyle   bool
	proof       proof
}

var _ Store = (*S3)(nil)

// NewS3 prepares the client. It asks the server nothing: Check does.
func NewS3(ctx context.Context, c S3Config) (*S3, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("s3 settings: %w", err)
	}
	httpClient, err := newHTTPClient(c.CAFile)
	if err != nil {
		return nil, err
	}
	shared, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(httpClient), config.WithLogger(logging.Nop{}))
	if err != nil {
		return nil, fmt.Errorf("aws settings of this machine: %w", err)
	}
	s := &S3{
		credentials: c.credentials(httpClient),
		bucket:      c.Bucket,
		prefix:      folderOf(c.Prefix),
		publicURL:   folderOf(c.PublicURL),
	}
	s.client = s3.NewFromConfig(shared, func(o *s3.Options) { s.configure(o, c) })
	return s, nil
}

// onAWS stands for the host when no endpoint is set.
const onAWS = "AWS"

// configure settles what depends on where the bucket is. An endpoint may also
// come from AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_S3 or a profile: o has it then.
func (s *S3) configure(o *s3.Options, c S3Config) {
	if c.Endpoint != "" {
		o.BaseEndpoint = aws.String(c.Endpoint)
	}
	endpoint := aws.ToString(o.BaseEndpoint)
	s.host = onAWS
	if u, err := url.Parse(endpoint); err == nil && endpoint != "" {
		s.host = u.Host
	}
	o.Region = c.region(s.host, o.Region)
	s.pathStyle = c.pathStyle(s.host)
	o.UsePathStyle = s.pathStyle
	o.Credentials = s.credentials

	// The SHA-256 signed with each put proves more than the SDK's CRC trailer,
	// which several servers refuse and some store as if it were the object.
	o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	o.APIOptions = append(o.APIOptions, leaveEncodingUnsigned)

	o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) {
		// The quota is shared by all requests: 18 failing puts used it up and then
		// hurt healthy ones. Who calls us paces itself.
		r.RateLimiter = ratelimit.None
		r.MaxAttempts = 3
		r.MaxBackoff = 500 * time.Millisecond
	})
}

// newHTTPClient keeps 64 idle connections for a host: with the stock client,
// bursts of 32 puts opened 388 connections for 640 puts instead of 32. It must
// be the SDK's own kind, or AWS_CA_BUNDLE makes LoadDefaultConfig fail.
func newHTTPClient(caFile string) (*awshttp.BuildableClient, error) {
	client := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = 64
		t.MaxIdleConns = 128
	})
	if caFile == "" {
		return client, nil
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("s3 settings: read root certificates: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("s3 settings: %s holds no PEM certificate", caFile)
	}
	return client.WithTransportOptions(func(t *http.Transport) { t.TLSClientConfig.RootCAs = roots }), nil
}

// String names bucket, prefix and host.
func (s *S3) String() string {
	return "s3://" + strings.TrimSuffix(s.bucket+"/"+s.prefix, "/") + " at " + s.host
}

// PublicURL is where anybody can read the object without us, or empty when
// S3_PUBLIC_URL is not set.
func (s *S3) PublicURL(key string) string {
	if s.publicURL == "" {
		return ""
	}
	return s.publicURL + s.prefix + key
}

// Check is Store's; it also finds out whether the server enforces the hash that
// is sent with each put.
func (s *S3) Check(ctx context.Context) error {
	s.proof.forget()
	return check(ctx, s)
}

// errSlow is why our own deadlines end a request.
var errSlow = errors.New("no answer in time")

const (
	// answerTime bounds a request without a body, retries included.
	answerTime = 30 * time.Second
	// minSpeed in bytes/s is the slowest upload we wait for: with it the largest
	// image (64 MiB by default) has nine minutes.
	minSpeed = 128 << 10
	// stallTime is how long a read may bring nothing. There is no limit on the
	// whole: a slow reader of ours is no fault of the store.
	stallTime = 30 * time.Second
)

// putTime is how long a put of size bytes may take.
func putTime(size int64) time.Duration {
	return answerTime + time.Duration(size)*time.Second/minSpeed
}

func folderOf(s string) string {
	if s = strings.TrimRight(s, "/"); s == "" {
		return ""
	}
	return s + "/"
}
