package storage

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestLifecycleNamesOnlyRulesThatHarmOurObjects(t *testing.T) {
	const days = `<Expiration><Days>30</Days></Expiration>`
	for _, row := range []struct{ name, prefix, rule, want string }{
		{"for all objects", "", `<Status>Enabled</Status><Filter></Filter>` + days, `rule "r" deletes objects after 30 days`},
		{"by a date", "", `<Status>Enabled</Status><Filter></Filter><Expiration><Date>2030-01-01T00:00:00Z</Date></Expiration>`, `rule "r" deletes objects on 2030-01-01`},
		{"in the old form", "", `<Status>Enabled</Status><Prefix></Prefix>` + days, `rule "r" deletes objects after 30 days`},
		{"into the ice", "", `<Status>Enabled</Status><Filter></Filter><Transition><Days>1</Days><StorageClass>DEEP_ARCHIVE</StorageClass></Transition>`, `rule "r" moves objects to DEEP_ARCHIVE, where they cannot be read at once`},
		{"for a folder of ours", "pics", `<Status>Enabled</Status><Filter><Prefix>pics/images/</Prefix></Filter>` + days, `rule "r" deletes objects after 30 days`},
		{"for a folder around ours", "a/pics", `<Status>Enabled</Status><Filter><Prefix>a/</Prefix></Filter>` + days, `rule "r" deletes objects after 30 days`},
		{"for a folder of others", "pics", `<Status>Enabled</Status><Filter><Prefix>logs/</Prefix></Filter>` + days, ""},
		{"for what has a tag", "", `<Status>Enabled</Status><Filter><Tag><Key>a</Key><Value>b</Value></Tag></Filter>` + days, ""},
		{"that is off", "", `<Status>Disabled</Status><Filter></Filter>` + days, ""},
		{"for half uploads", "", `<Status>Enabled</Status><Filter></Filter><AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation></AbortIncompleteMultipartUpload>`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := newStub(t, func(s *stub) {
				s.before = func(w http.ResponseWriter, _ *http.Request) bool {
					fmt.Fprintf(w, `<LifecycleConfiguration><Rule><ID>r</ID>%s</Rule></LifecycleConfiguration>`, row.rule)
					return true
				}
			})
			got, err := server.store(t, func(c *S3Config) { c.Prefix = row.prefix }).Lifecycle(t.Context())
			if err != nil || strings.Join(got, "; ") != row.want {
				t.Errorf("got %q, %v; want %q", got, err, row.want)
			}
		})
	}
	t.Run("there are none", func(t *testing.T) {
		got, err := answering(t, http.StatusNotFound, "NoSuchLifecycleConfiguration").store(t).Lifecycle(t.Context())
		if err != nil || len(got) > 0 {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
