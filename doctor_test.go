//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// patient is a set-up that the doctor looks at.
type patient struct {
	t   *testing.T
	env []string
}

// newPatient has a data folder, and a DNS server that knows every name.
func newPatient(t *testing.T, env ...string) *patient {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return &patient{t, append([]string{"AFTERIMAGE_DATA_DIR=" + dir, "AFTERIMAGE_LISTEN=127.0.0.1:" + freePort(t),
		"IMAGE_ARCHIVE_RESOLVER=" + ownNames(t, "93.184.215.14")}, env...)}
}

// diagnosis is what the doctor says of each check, the worst where there are several.
type diagnosis struct {
	code int
	text string
	of   map[string]finding
}

func (p *patient) diagnose() diagnosis {
	p.t.Helper()
	var out, errs bytes.Buffer
	code := run(p.t.Context(), program{args: []string{"doctor", "--json"}, environ: p.env, in: strings.NewReader(""), out: &out, err: &errs})
	var answer struct {
		Status grade
		Checks []finding
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		p.t.Fatalf("%v: %s%s", err, &out, &errs)
	}
	d := diagnosis{code, out.String(), map[string]finding{}}
	for _, f := range answer.Checks {
		if before, ok := d.of[f.Check]; !ok || before.Status == works || f.Status == broken {
			d.of[f.Check] = f
		}
	}
	if (answer.Status == broken) != (code == exitFailed) {
		p.t.Errorf("status %s, exit code %d", answer.Status, code)
	}
	return d
}

// wants asks for one diagnosis.
func (p *patient) wants(check string, status grade, setting, text string) {
	p.t.Helper()
	d := p.diagnose()
	f, ok := d.of[check]
	if !ok || f.Status != status || f.Setting != setting || !strings.Contains(f.Text, text) {
		p.t.Errorf("%s: got %s %s %q\nwant %s %s %q\n%s", check, f.Status, f.Setting, f.Text, status, setting, text, d.text)
	}
	if want := map[bool]int{true: exitFailed, false: exitDone}[status == broken]; d.code != want {
		p.t.Errorf("exit code %d, want %d\n%s", d.code, want, d.text)
	}
}

func TestDoctorFindsNothingWrongWithAHealthyApp(t *testing.T) {
	t.Parallel()
	store := sharedStore(t)
	public := ownPublic(t, store, func(key string) bool { return strings.HasPrefix(key, "images/") })
	p := newPatient(t, append(store.env, "DATABASE_URL="+ownDatabase(t), "S3_PUBLIC_URL="+public, "IMAGE_ARCHIVE_ALLOW=127.0.0.1")...)
	p.env = append(p.env, testEnviron(strings.TrimPrefix(p.env[0], "AFTERIMAGE_DATA_DIR="))[2:]...)
	app := start(t, p.env)
	p.env = append(p.env, "AFTERIMAGE_BASE_URL="+app.url)
	var out bytes.Buffer
	code := run(t.Context(), program{args: []string{"doctor"}, environ: p.env, in: strings.NewReader(""), out: &out, err: io.Discard})
	t.Logf("\n%s", &out)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, line := range lines {
		if !strings.HasPrefix(line, "✓") && !strings.HasPrefix(line, "– proxy") && !strings.HasPrefix(line, "– providers") && !strings.HasPrefix(line, "– store lifecycle") {
			t.Errorf("not well: %s", line)
		}
	}
	if code != exitDone || len(lines) < 20 {
		t.Errorf("exit code %d, %d lines", code, len(lines))
	}
	if left := store.objects(); len(left) != 0 {
		t.Errorf("the doctor left %v", left)
	}
}

func TestDoctorOfTheMachine(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, env, check string
		status           grade
		setting, text    string
	}{
		{"a setting that the app cannot start with", "AFTERIMAGE_LISTEN=8080", "settings", broken, "AFTERIMAGE_LISTEN", "is not an address with a port"},
		{"a setting that is replaced", "IMAGE_ARCHIVE_CONCURRENCY=two", "settings", attention, "IMAGE_ARCHIVE_CONCURRENCY", "using 2"},
		{"no such time zone", "TZ=Mars/Olympus", "time zone", broken, "TZ", `no time zone "Mars/Olympus"`},
		{"too many slots", "IMAGE_ARCHIVE_CONCURRENCY=1024", "slots", attention, "IMAGE_ARCHIVE_CONCURRENCY", "1024 slots are many"},
		{"a data folder that is none", "AFTERIMAGE_DATA_DIR=/dev/null", "data folder", broken, "AFTERIMAGE_DATA_DIR", "is no folder"},
		{"a data folder to be made", "AFTERIMAGE_DATA_DIR=/nowhere/data", "data folder", unchecked, "", "made at the first start"},
		{"a DNS server that does not answer", "IMAGE_ARCHIVE_RESOLVER=127.0.0.1:" + freePort(t), "names", attention, "IMAGE_ARCHIVE_RESOLVER", "does not know example.com"},
		{"a DNS server that makes addresses up", "IMAGE_ARCHIVE_RESOLVER=" + ownNames(t, "198.18.3.4"), "names", broken, "IMAGE_ARCHIVE_RESOLVER", "made-up address (198.18.3.4)"},
		{"a proxy that is not there", "IMAGE_ARCHIVE_PROXY=http://user:hunter2@127.0.0.1:" + freePort(t), "proxy", broken, "IMAGE_ARCHIVE_PROXY", "connection refused"},
		{"a proxy that nobody uses", "HTTPS_PROXY=http://proxy:3128", "proxy", attention, "IMAGE_ARCHIVE_PROXY", "fetched without it"},
		{"an app that does not run", "", "base URL", unchecked, "", "does not run"},
		{"passwords over http", "AFTERIMAGE_BASE_URL=http://pics.example.org", "cookies", attention, "AFTERIMAGE_BASE_URL", "go over http"},
	} {
		t.Run(row.name, func(t *testing.T) {
			newPatient(t, row.env).wants(row.check, row.status, row.setting, row.text)
		})
	}
	t.Run("a proxy's password is not shown", func(t *testing.T) {
		p := newPatient(t, "IMAGE_ARCHIVE_PROXY=http://user:hunter2@127.0.0.1:"+freePort(t))
		if d := p.diagnose(); strings.Contains(d.text, "hunter2") {
			t.Error(d.text)
		}
	})
	t.Run("a data folder that others may read", func(t *testing.T) {
		p := newPatient(t)
		if err := os.Chmod(strings.TrimPrefix(p.env[0], "AFTERIMAGE_DATA_DIR="), 0o755); err != nil {
			t.Fatal(err)
		}
		p.wants("data folder", attention, "AFTERIMAGE_DATA_DIR", "chmod 700")
	})
	t.Run("a data folder that is read-only", func(t *testing.T) {
		newPatient(t, "AFTERIMAGE_DATA_DIR="+ownDisk(t, "ro")).wants("data folder sync", broken, "AFTERIMAGE_DATA_DIR", "read-only file system")
	})
	t.Run("a data folder that is full", func(t *testing.T) {
		newPatient(t, "AFTERIMAGE_DATA_DIR="+ownDisk(t, "size=64k")).wants("data folder sync", broken, "AFTERIMAGE_DATA_DIR", "no space left")
	})
	t.Run("a data folder that is nearly full", func(t *testing.T) {
		newPatient(t, "AFTERIMAGE_DATA_DIR="+ownDisk(t, "size=512m")).wants("data folder space", attention, "AFTERIMAGE_DATA_DIR", "only 512.0 MiB are free")
	})
}

func TestDoctorOfTheDatabase(t *testing.T) {
	t.Parallel()
	t.Run("PostgreSQL that does not run", func(t *testing.T) {
		p := newPatient(t, "DATABASE_URL=postgres://app:hunter2@127.0.0.1:"+freePort(t)+"/app?sslmode=disable")
		p.wants("database", broken, "DATABASE_URL", "connection refused")
		if d := p.diagnose(); strings.Contains(d.text, "hunter2") {
			t.Error("the password is shown")
		}
	})
	t.Run("a database that is empty", func(t *testing.T) {
		newPatient(t, "DATABASE_URL="+ownDatabase(t)).wants("migrations", attention, "", "run afterimage migrate")
	})
	t.Run("a database of a newer version", func(t *testing.T) {
		address := ownDatabase(t)
		p := newPatient(t, "DATABASE_URL="+address)
		(&running{t: t, env: p.env}).command("migrate")
		mustExec(t, openSQL(t, address), `INSERT INTO schema_migrations (version, name, applied_at) VALUES (9000, 'future', now())`)
		p.wants("migrations", broken, "", "has schema 9000, which this program does not know")
	})
	t.Run("a pooler in between", func(t *testing.T) {
		newPatient(t, "DATABASE_URL="+ownPooler(t, ownDatabase(t))).wants("notifications", attention, "DATABASE_URL", "swallows LISTEN")
	})
}

func TestDoctorOfTheStore(t *testing.T) {
	t.Parallel()
	store := sharedStore(t)
	for _, row := range []struct {
		name, env, check string
		setting, text    string
	}{
		{"a wrong secret", "S3_SECRET_ACCESS_KEY=another-secret", "store write", "S3_SECRET_ACCESS_KEY", "the signature is wrong"},
		{"an unknown key", "S3_ACCESS_KEY_ID=nobody", "store write", "S3_ACCESS_KEY_ID", "does not know the key id"},
		{"a missing bucket", "S3_BUCKET=no-such-bucket", "store write", "S3_BUCKET", "there is no such bucket"},
		{"a server that does not run", "S3_ENDPOINT=http://127.0.0.1:" + freePort(t), "store write", "S3_ENDPOINT", "connection refused"},
		{"bucket.host where there is no such name", "S3_PATH_STYLE=false S3_ENDPOINT=http://s3.invalid", "store write", "S3_PATH_STYLE", "no such host"},
		{"a server that sends no Content-Range", "S3_ENDPOINT=" + changed(t, store, nil, func(r *nethttp.Response) { r.Header.Del("Content-Range") }), "store range", "S3_ENDPOINT", "does not answer ranges"},
		{"a key that may not delete", "S3_ENDPOINT=" + changed(t, store, refuse("DELETE", "AccessDenied"), nil), "store delete", "S3_ACCESS_KEY_ID", "403"},
		{"a clock that is wrong", "S3_ENDPOINT=" + changed(t, store, nil, func(r *nethttp.Response) {
			r.Header.Set("Date", time.Now().Add(-5*time.Minute).UTC().Format(nethttp.TimeFormat))
		}), "store clock", "", "ahead of the server's, which refuses"},
		{"a rule that deletes images", "S3_ENDPOINT=" + changed(t, store, lifecycle(`<Expiration><Days>30</Days></Expiration>`), nil), "store lifecycle", "S3_BUCKET", `rule "tidy" deletes objects after 30 days`},
		{"a rule that freezes images", "S3_ENDPOINT=" + changed(t, store, lifecycle(`<Transition><Days>9</Days><StorageClass>GLACIER</StorageClass></Transition>`), nil), "store lifecycle", "S3_BUCKET", "GLACIER"},
		{"strangers may not read images", "S3_PUBLIC_URL=" + ownPublic(t, store, func(string) bool { return false }), "store public URL", "S3_PUBLIC_URL", "strangers get status 403"},
		{"strangers may read sidecars", "S3_PUBLIC_URL=" + ownPublic(t, store, func(key string) bool { return key != "" }), "store privacy", "S3_PUBLIC_URL", "strangers can read meta/*"},
		{"strangers may list the bucket", "S3_PUBLIC_URL=" + ownPublic(t, store, func(key string) bool { return !strings.HasPrefix(key, "meta/") }), "store privacy", "S3_PUBLIC_URL", "strangers can list the bucket"},
		{"the public URL is of something else", "S3_PUBLIC_URL=" + ownPage(t), "store public URL", "S3_PUBLIC_URL", "other bytes than were stored"},
		{"the public URL is of nobody", "S3_PUBLIC_URL=http://127.0.0.1:" + freePort(t), "store public URL", "S3_PUBLIC_URL", "does not answer"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t, append(store.env, strings.Fields(row.env)...)...)
			p.wants(row.check, broken, row.setting, row.text)
			if d := p.diagnose(); strings.Contains(d.text, "another-secret") || strings.Contains(d.text, "X-Amz-") {
				t.Errorf("a secret is shown: %s", d.text)
			}
		})
	}
}

func TestDoctorOfProviders(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name          string
		env           []string
		check         string
		status        grade
		setting, text string
	}{
		{"a wrong key", []string{"OPENAI_API_KEY=sk-hunter2", "OPENAI_BASE_URL=" + answers(t, 401, `{"error":{"message":"Incorrect API key: sk-hunter2"}}`)}, "openai", broken, "OPENAI_API_KEY", "status 401"},
		{"a server that does not run", []string{"A1111_URL=http://127.0.0.1:" + freePort(t)}, "a1111", broken, "A1111_URL", "cannot be reached"},
		{"models that are not there", []string{"OPENAI_MODELS=m9", "OPENAI_BASE_URL=" + answers(t, 200, `{"data":[{"id":"m1"}]}`)}, "openai", broken, "OPENAI_MODELS", "lists none of m9"},
		{"all is well", []string{"OPENAI_MODELS=m1", "OPENAI_BASE_URL=" + answers(t, 200, `{"data":[{"id":"m1"}]}`)}, "openai", works, "", "1 models"},
		{"a provider outside, whose name is not known", []string{"REPLICATE_API_TOKEN=r8_x", "IMAGE_ARCHIVE_RESOLVER=127.0.0.1:" + freePort(t)}, "names", broken, "IMAGE_ARCHIVE_RESOLVER", "does not know"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := newPatient(t, row.env...)
			p.wants(row.check, row.status, row.setting, row.text)
			if d := p.diagnose(); strings.Contains(d.text, "hunter2") {
				t.Errorf("the key is shown: %s", d.text)
			}
		})
	}
}

func TestDoctorOfTheBaseURL(t *testing.T) {
	t.Parallel()
	p := newPatient(t, "AFTERIMAGE_ADMIN_USERNAME=admin", "AFTERIMAGE_ADMIN_PASSWORD="+adminPassword)
	app := start(t, p.env)
	elsewhere := httptest.NewServer(nethttp.RedirectHandler("https://pics.example.org/", nethttp.StatusMovedPermanently))
	t.Cleanup(elsewhere.Close)
	for _, row := range []struct {
		name, env, text string
		status          grade
	}{
		{"the app is there", "AFTERIMAGE_BASE_URL=" + app.url, "the app answers", works},
		{"https where none is spoken", "AFTERIMAGE_BASE_URL=" + strings.Replace(app.url, "http://", "https://", 1), "https is not spoken there", broken},
		{"another app is there", "AFTERIMAGE_BASE_URL=" + ownPage(t), "not this app", broken},
		{"people are sent on", "AFTERIMAGE_BASE_URL=" + elsewhere.URL, "sends people on", broken},
		{"nobody is there", "AFTERIMAGE_BASE_URL=http://127.0.0.1:" + freePort(t), "does not answer", broken},
	} {
		t.Run(row.name, func(t *testing.T) {
			setting := ""
			if row.status == broken {
				setting = "AFTERIMAGE_BASE_URL"
			}
			(&patient{t, append(p.env, row.env)}).wants("base URL", row.status, setting, row.text)
		})
	}
}
