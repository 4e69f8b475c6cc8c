package fetch

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"
)

func TestExpiry(t *testing.T) {
	policy := base64.StdEncoding.EncodeToString([]byte(`{"Statement":[{"Resource":"https://h/*","Condition":{"DateLessThan":{"AWS:EpochTime":1767225600}}}]}`))
	policy = strings.NewReplacer("+", "-", "=", "_", "/", "~").Replace(policy)
	token := "e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"url":"a/b.png","exp":1767225600}`)) + ".c2ln"
	for _, tt := range []struct{ name, query, want string }{
		{"AWS V4", "X-Amz-Date=20251231T230000Z&X-Amz-Expires=3600&X-Amz-Signature=ab", "2026-01-01T00:00:00Z"},
		{"AWS V4 in lower case and another order", "x-amz-expires=3600&x-amz-date=20251231T230000Z", "2026-01-01T00:00:00Z"},
		{"Google V4", "X-Goog-Date=20251231T230000Z&X-Goog-Expires=3600", "2026-01-01T00:00:00Z"},
		{"Volcengine TOS", "X-Tos-Date=20251231T000000Z&X-Tos-Expires=86400", "2026-01-01T00:00:00Z"},
		{"Aliyun OSS V4", "x-oss-date=20251231T230000Z&x-oss-expires=3600", "2026-01-01T00:00:00Z"},
		{"Aliyun OSS V1, S3 V2, Google V2, CloudFront", "Expires=1767225600&OSSAccessKeyId=x&Signature=y%3D", "2026-01-01T00:00:00Z"},
		{"Expires in milliseconds", "Expires=1767225600000", "2026-01-01T00:00:00Z"},
		{"Azure SAS", "st=2025-12-31T00%3A00%3A00Z&se=2026-01-01T00%3A00%3A00Z&sig=a%2Bb%3D", "2026-01-01T00:00:00Z"},
		{"Azure SAS without seconds", "se=2026-01-01T00:00Z&sig=a", "2026-01-01T00:00:00Z"},
		{"Azure SAS with a date only", "se=2026-01-01&sig=a", "2026-01-01T00:00:00Z"},
		{"Azure SAS in another zone", "se=2026-01-01T08:00:00%2B08:00&sig=a", "2026-01-01T00:00:00Z"},
		{"se without signature means something else", "se=2026-01-01", ""},
		{"Discord", "ex=6955b900&is=69546780&hm=abc", "2026-01-01T00:00:00Z"},
		{"ex without signature means something else", "ex=6955b900", ""},
		{"Meta", "oe=6955B900&oh=00_A", "2026-01-01T00:00:00Z"},
		{"Tencent COS", "q-sign-time=1767222000%3B1767225600", "2026-01-01T00:00:00Z"},
		{"CloudFront policy", "Policy=" + policy + "&Signature=x", "2026-01-01T00:00:00Z"},
		{"a web token", "token=" + token, "2026-01-01T00:00:00Z"},
		{"the earliest of two", "Expires=1767225600&exp=1767222000", "2025-12-31T23:00:00Z"},
		{"a signing date without its length", "X-Amz-Date=20251231T230000Z", ""},
		{"a length that runs over", "X-Amz-Date=20251231T230000Z&X-Amz-Expires=9223372036854775807", ""},
		{"a negative length", "X-Amz-Date=20251231T230000Z&X-Amz-Expires=-1", ""},
		{"a small number", "expires=3600", ""},
		{"a huge number", "expires=99999999999999999999", ""},
		{"a word", "expires=never", ""},
		{"bad escapes elsewhere", "x=%zz&Expires=1767225600", "2026-01-01T00:00:00Z"},
		{"nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Expiry("https://h/a.png?" + tt.query + "#Expires=1")
			text := ""
			if ok {
				text = got.UTC().Format(time.RFC3339)
			}
			if text != tt.want {
				t.Errorf("got %q, want %q", text, tt.want)
			}
		})
	}
}
