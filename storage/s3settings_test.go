package storage

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSettingsProblemsAreToldAtOnceByName(t *testing.T) {
	_, err := NewS3(t.Context(), S3Config{
		Endpoint: "s3.example.com", PublicURL: "https://user:hunter2@cdn", AccessKeyID: "only-the-id",
		PathStyle: "yes", Prefix: "a//b",
	})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, name := range []string{"S3_BUCKET", "S3_ENDPOINT", "S3_PUBLIC_URL", "S3_ACCESS_KEY_ID", "S3_PATH_STYLE", "S3_PREFIX"} {
		if !strings.Contains(err.Error(), name+":") {
			t.Errorf("%s is not named in %v", name, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a password in the error: %v", err)
	}
}

// R2 takes no region but "auto" (backup-x#127, cloudflare-docs#4444); everybody
// else has "us-east-1" when nobody set another.
func TestRegion(t *testing.T) {
	const r2 = "acc.r2.cloudflarestorage.com"
	for _, row := range []struct{ name, set, shared, host, want string }{
		{"R2 alone", "", "", r2, "auto"},
		{"R2 beside AWS_REGION", "", "eu-west-1", r2, "auto"},
		{"R2 when set", "weur", "", r2, "weur"},
		{"a server of one's own", "", "", "minio:9000", "us-east-1"},
		{"AWS_REGION", "", "eu-west-1", onAWS, "eu-west-1"},
		{"S3_REGION before AWS_REGION", "eu-north-1", "eu-west-1", onAWS, "eu-north-1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := (S3Config{Region: row.set}).region(row.host, row.shared); got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

func TestTheRegionIsSigned(t *testing.T) {
	for set, want := range map[string]string{"": "/us-east-1/s3/", "eu-west-1": "/eu-west-1/s3/"} {
		server := newStub(t, func(*stub) {})
		put(t, server.store(t, func(c *S3Config) { c.Region = set }), "a.png", "x")
		if signed := server.seen(http.MethodPut)[0].Header.Get("Authorization"); !strings.Contains(signed, want) {
			t.Errorf("region %q: signed %s", set, signed)
		}
	}
}

// lakeFS#3613 and gobackup#158: some servers forbid host/bucket, most others have
// no DNS for bucket.host.
func TestPathStyle(t *testing.T) {
	for _, row := range []struct {
		name, set, host string
		want            bool
	}{
		{"AWS", "", onAWS, false},
		{"AWS by endpoint", "auto", "s3.eu-west-1.amazonaws.com", false},
		{"Aliyun forbids it", "", "oss-cn-hangzhou.aliyuncs.com", false},
		{"a server of one's own", "auto", "127.0.0.1:9000", true},
		{"R2", "", "acc.r2.cloudflarestorage.com", true},
		{"forced on", "true", "oss-cn-hangzhou.aliyuncs.com", true},
		{"forced off", "false", "minio:9000", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := (S3Config{PathStyle: row.set}).pathStyle(row.host); got != row.want {
				t.Errorf("%v, want %v", got, row.want)
			}
		})
	}
}

func TestPathStyleIsNamedWhenItIsTheCause(t *testing.T) {
	_, err := answering(t, http.StatusForbidden, "SecondLevelDomainForbidden").store(t).Stat(t.Context(), "a.png")
	wantReason(t, err, ReasonDenied) // a HEAD tells no code
	_, _, err = answering(t, http.StatusForbidden, "SecondLevelDomainForbidden").store(t).Open(t.Context(), "a.png", 0, -1)
	if e := wantReason(t, err, ReasonDenied); e.Setting != "S3_PATH_STYLE" {
		t.Errorf("forbidden path style names %q", e.Setting)
	}
	virtual := &S3{host: "minio:9000"}
	err = virtual.sort(t.Context(), "put object", "a.png", &net.DNSError{Err: "no such host", Name: "bucket.minio", IsNotFound: true})
	if e := wantReason(t, err, ReasonUnreachable); e.Setting != "S3_PATH_STYLE" {
		t.Errorf("bucket.host without DNS names %q", e.Setting)
	}
}

// With AWS_CA_BUNDLE set, LoadDefaultConfig fails when it is given a plain
// *http.Client; and it is how people add a root certificate today.
func TestAWSCABundleWorks(t *testing.T) {
	server := newStub(t, func(*stub) {})
	t.Setenv("AWS_CA_BUNDLE", server.caFile)
	put(t, server.store(t, func(c *S3Config) { c.CAFile = "" }), "a.png", "x")
}

func TestAnUnknownCertificateIsNamed(t *testing.T) {
	server := newStub(t, func(*stub) {})
	_, err := server.store(t, func(c *S3Config) { c.CAFile = "" }).Stat(t.Context(), "a.png")
	if e := wantReason(t, err, ReasonUnreachable); e.Setting != "AWS_CA_BUNDLE" {
		t.Errorf("names %q: %v", e.Setting, err)
	}
}

func TestTheAWSChainIsUsedWithoutKeys(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	withoutKeys := func(c *S3Config) { c.AccessKeyID, c.SecretAccessKey = "", "" }

	t.Run("nothing anywhere is told as such", func(t *testing.T) {
		_, err := newStub(t, func(*stub) {}).store(t, withoutKeys).Stat(t.Context(), "a.png")
		if e := wantReason(t, err, ReasonDenied); e.Setting != "S3_ACCESS_KEY_ID" {
			t.Errorf("names %q: %v", e.Setting, err)
		}
	})
	// aws-sdk-go-v2#1449, #2135: keys in a file rotate while the server runs.
	t.Run("a rotated file is read again after ExpiredToken", func(t *testing.T) {
		file := filepath.Join(home, "credentials")
		t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
		write := func(id string) {
			noError(t, os.WriteFile(file, []byte("[default]\naws_access_key_id="+id+"\naws_secret_access_key=s\n"), 0o600))
		}
		server := newStub(t, func(s *stub) {
			s.before = func(w http.ResponseWriter, r *http.Request) bool {
				old := strings.Contains(r.Header.Get("Authorization"), "OLDKEY")
				if old {
					xmlError(w, http.StatusBadRequest, "ExpiredToken")
				}
				return old
			}
		})
		write("OLDKEY")
		s := server.store(t, withoutKeys)
		_, err := s.Put(t.Context(), object("a.png", "x"), strings.NewReader("x"))
		wantReason(t, err, ReasonDenied)
		write("NEWKEY")
		put(t, s, "a.png", "x")
	})
}

func TestStringAndPublicURL(t *testing.T) {
	s, err := NewS3(t.Context(), S3Config{
		Bucket: "pics", Endpoint: "https://s3.example.com", Prefix: "app/", PublicURL: "https://cdn.example.com/x/",
		AccessKeyID: "KEYID", SecretAccessKey: "very-secret",
	})
	noError(t, err)
	if got := s.String(); got != "s3://pics/app at s3.example.com" {
		t.Errorf("String = %q", got)
	}
	if got := s.PublicURL("a/b.png"); got != "https://cdn.example.com/x/app/a/b.png" {
		t.Errorf("PublicURL = %q", got)
	}
	if got := (&S3{}).PublicURL("a/b.png"); got != "" {
		t.Errorf("PublicURL without a setting = %q", got)
	}
}
