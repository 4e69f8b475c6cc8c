package main

import (
	"errors"
	"io/fs"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"
)

// files is a readFile over a few names.
type files map[string]string

func (f files) read(name string) ([]byte, error) {
	content, found := f[name]
	if !found {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(content), nil
}

// load reads settings given as one line each.
func load(t *testing.T, env ...string) (Config, []Problem) {
	t.Helper()
	return LoadConfig(env, files{}.read)
}

func TestNothingSetGivesTheDefaultsWithoutAProblem(t *testing.T) {
	c, problems := load(t)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	c.Effective = nil
	want := Config{
		Listen: "127.0.0.1:8080", BaseURL: "http://127.0.0.1:8080", DataDir: "./data",
		LogFormat: "text", LogLevel: slog.LevelInfo, Language: "en", ImageAccess: "link",
		S3: S3Config{PathStyle: "auto"},
		Archive: ArchiveConfig{
			Concurrency: 2, MaxAttempts: 3, RetryDelays: []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute},
			LockTTL: 10 * time.Minute, PollInterval: 15 * time.Second, SweepInterval: 30 * time.Second,
			MaxBytes: 64 << 20, MaxPixels: 100e6,
			Timeout: 5 * time.Minute, StallTimeout: 20 * time.Second, MinSpeed: 4096,
			Ports: []int{80, 443},
		},
		OpenAI:    ProviderConfig{BaseURL: "https://api.openai.com/v1"},
		Replicate: ProviderConfig{BaseURL: "https://api.replicate.com"},
		DashScope: ProviderConfig{BaseURL: "https://dashscope.aliyuncs.com"},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
}

func TestGoodValues(t *testing.T) {
	for _, c := range []struct {
		env  string
		got  func(Config) any
		want any
	}{
		{"AFTERIMAGE_LISTEN=:9000", func(c Config) any { return c.Listen }, ":9000"},
		{"AFTERIMAGE_LISTEN=[::1]:0", func(c Config) any { return c.Listen }, "[::1]:0"},
		{"AFTERIMAGE_BASE_URL=https://pics.example.org/", func(c Config) any { return c.BaseURL }, "https://pics.example.org"},
		{"AFTERIMAGE_IMAGE_ACCESS=Login", func(c Config) any { return c.ImageAccess }, "login"},
		{"AFTERIMAGE_DEFAULT_LANGUAGE=zh-cn", func(c Config) any { return c.Language }, "zh-CN"},
		{"AFTERIMAGE_LOG_LEVEL=warn", func(c Config) any { return c.LogLevel }, slog.LevelWarn},
		{"AFTERIMAGE_LOG_FORMAT= json ", func(c Config) any { return c.LogFormat }, "json"},
		{"AFTERIMAGE_DATA_DIR=", func(c Config) any { return c.DataDir }, "./data"},
		{"DATABASE_URL=postgresql:///db?host=/run/pg", func(c Config) any { return c.DatabaseURL }, "postgresql:///db?host=/run/pg"},
		{"IMAGE_ARCHIVE_RETRY_DELAYS=1s, 2m", func(c Config) any { return c.Archive.RetryDelays }, []time.Duration{time.Second, 2 * time.Minute}},
		{"IMAGE_ARCHIVE_MAX_BYTES=1 GB", func(c Config) any { return c.Archive.MaxBytes }, int64(1e9)},
		{"IMAGE_ARCHIVE_MAX_BYTES=2mib", func(c Config) any { return c.Archive.MaxBytes }, int64(2 << 20)},
		{"IMAGE_ARCHIVE_MAX_BYTES=4096", func(c Config) any { return c.Archive.MaxBytes }, int64(4096)},
		{"IMAGE_ARCHIVE_MAX_PIXELS=20000000", func(c Config) any { return c.Archive.MaxPixels }, int64(20e6)},
		{"IMAGE_ARCHIVE_MIN_SPEED=10KB/s", func(c Config) any { return c.Archive.MinSpeed }, int64(10e3)},
		{"IMAGE_ARCHIVE_PORTS=443", func(c Config) any { return c.Archive.Ports }, []int{443}},
		{"IMAGE_ARCHIVE_RESOLVER=[2606:4700::1111]:53", func(c Config) any { return c.Archive.Resolver }, "[2606:4700::1111]:53"},
		{"IMAGE_ARCHIVE_PROXY=socks5://u:p@proxy:1080", func(c Config) any { return c.Archive.Proxy }, "socks5://u:p@proxy:1080"},
		{"OPENAI_BASE_URL=http://localhost:8000/v1/", func(c Config) any { return c.OpenAI }, ProviderConfig{BaseURL: "http://localhost:8000/v1", Enabled: true}},
		{"OPENAI_API_KEY=sk-1", func(c Config) any { return c.OpenAI }, ProviderConfig{APIKey: "sk-1", BaseURL: "https://api.openai.com/v1", Enabled: true}},
	} {
		t.Run(c.env, func(t *testing.T) {
			cfg, problems := load(t, c.env)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if got := c.got(cfg); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestBadValuesStopTheStart(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"AFTERIMAGE_LISTEN=8080", `AFTERIMAGE_LISTEN="8080": is not an address with a port; accepts host:port or :port`},
		{"AFTERIMAGE_LISTEN=:http", `AFTERIMAGE_LISTEN=":http": has a port that is not a whole number; accepts host:port or :port`},
		{"AFTERIMAGE_LISTEN=:70000", `AFTERIMAGE_LISTEN=":70000": has a port that is out of range; accepts host:port or :port`},
		{"AFTERIMAGE_BASE_URL=pics.example.org", `AFTERIMAGE_BASE_URL="pics.example.org": does not start with http:// or https://; accepts http://host or https://host, no path`},
		{"AFTERIMAGE_BASE_URL=https://example.org/pics", `AFTERIMAGE_BASE_URL="https://example.org/pics": has a path: the app has to be at the root of its host; accepts http://host or https://host, no path`},
		{"AFTERIMAGE_LOG_LEVEL=loud", `AFTERIMAGE_LOG_LEVEL="loud": is not one of the choices; accepts debug, info, warn or error`},
		{"AFTERIMAGE_IMAGE_ACCESS=private", `AFTERIMAGE_IMAGE_ACCESS="private": is not one of the choices; accepts link or login`},
		{"AFTERIMAGE_DATA_DIR=a\nb", "AFTERIMAGE_DATA_DIR: contains a line break or another control character; accepts a folder; it is made when missing"},
		{"DATABASE_URL=mysql://root:secret@db/app", `DATABASE_URL="mysql://root:xxxxx@db/app": does not start with postgres:// or postgresql://; accepts postgres://user:password@host/database`},
		{"DATABASE_URL=host=db password=secret", `DATABASE_URL: does not start with postgres:// or postgresql://; accepts postgres://user:password@host/database`},
		{"DATABASE_URL=postgres://", `DATABASE_URL="postgres://": has no host; accepts postgres://user:password@host/database`},
		{"S3_BUCKET=s3://pics", `S3_BUCKET="s3://pics": is not a bucket name; accepts the bucket's name alone`},
		{"IMAGE_ARCHIVE_RESOLVER=dns.example", `IMAGE_ARCHIVE_RESOLVER="dns.example": is not an IP address; accepts an IP address, or address:port`},
		{"IMAGE_ARCHIVE_PROXY=proxy:3128", `IMAGE_ARCHIVE_PROXY="proxy:3128": does not start with http:// or https:// or socks5://; accepts http://host:port, https://host:port or socks5://host:port`},
		{"IMAGE_ARCHIVE_CA_FILE=/etc/none.pem", `IMAGE_ARCHIVE_CA_FILE="/etc/none.pem": cannot be read: file does not exist; accepts a PEM file`},
		{"OPENAI_API_KEY=sk 123", "OPENAI_API_KEY: contains a space or a character outside ASCII; accepts the key, without spaces"},
		{"OPENAI_BASE_URL=https://api.example/v1?key=secret", `OPENAI_BASE_URL="https://api.example/v1?…": holds a ?; accepts http://host/path or https://host/path`},
		{"OPENAI_BASE_URL=https://user:secret@api.example/v1", `OPENAI_BASE_URL="https://user:xxxxx@api.example/v1": holds a user name or password; accepts http://host/path or https://host/path`},
	} {
		t.Run(c.env, func(t *testing.T) {
			env := []string{c.env}
			if strings.HasPrefix(c.env, "S3_PUBLIC_URL") {
				env = append(env, "S3_BUCKET=pics") // without one it would be a second problem
			}
			_, problems := load(t, env...)
			if len(problems) != 1 || problems[0].String() != c.want || !fatal(problems) {
				t.Errorf("got  %v\nwant %s", problems, c.want)
			}
		})
	}
}

func TestBadTuningFallsBackWithAWarning(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"IMAGE_ARCHIVE_CONCURRENCY=two", "is not a whole number; accepts a whole number from 1 to 1024; using 2"},
		{"IMAGE_ARCHIVE_CONCURRENCY=2.5", "is not a whole number; accepts a whole number from 1 to 1024; using 2"},
		{"IMAGE_ARCHIVE_CONCURRENCY=0", "is out of range; accepts a whole number from 1 to 1024; using 2"},
		{"IMAGE_ARCHIVE_CONCURRENCY=99999999999999999999", "is out of range; accepts a whole number from 1 to 1024; using 2"},
		{"IMAGE_ARCHIVE_MAX_ATTEMPTS=-1", "is out of range; accepts a whole number from 1 to 100; using 3"},
		{"IMAGE_ARCHIVE_RETRY_DELAYS=30,2m", "item 1 has no unit (ms, s, m, h); accepts 1 to 20 durations from 1s to 24h, comma-separated; using 30s,2m,10m"},
		{"IMAGE_ARCHIVE_RETRY_DELAYS=30s,,2m", "item 2 is empty; accepts 1 to 20 durations from 1s to 24h, comma-separated; using 30s,2m,10m"},
		{"IMAGE_ARCHIVE_LOCK_TTL=soon", "is not a duration; accepts a duration from 1s to 24h; using 10m"},
		{"IMAGE_ARCHIVE_POLL_INTERVAL=0s", "is out of range; accepts a duration from 100ms to 1h; using 15s"},
		{"IMAGE_ARCHIVE_MAX_BYTES=64 sheep", "is not a whole number with a known unit; accepts a size from 1KiB to 4GiB, such as 64MiB; using 64MiB"},
		{"IMAGE_ARCHIVE_MAX_BYTES=9223372036854775807GiB", "is out of range; accepts a size from 1KiB to 4GiB, such as 64MiB; using 64MiB"},
		{"IMAGE_ARCHIVE_MAX_PIXELS=100MB", "is not a whole number with a known unit; accepts a number of pixels from 1MP to 10000MP; using 100MP"},
		{"IMAGE_ARCHIVE_MIN_SPEED=4KiB", "does not end in /s; accepts a speed from 1B/s to 1GiB/s, such as 4KiB/s; using 4KiB/s"},
		{"IMAGE_ARCHIVE_PORTS=80,443,0", "item 3 is out of range; accepts 1 to 100 ports, comma-separated; using 80,443"},
	} {
		t.Run(c.env, func(t *testing.T) {
			defaults, _ := load(t)
			got, problems := load(t, c.env)
			name, value, _ := strings.Cut(c.env, "=")
			want := name + `="` + value + `": ` + c.want
			if len(problems) != 1 || problems[0].String() != want || fatal(problems) {
				t.Errorf("got  %v\nwant %s", problems, want)
			}
			if !reflect.DeepEqual(got, defaults) {
				t.Errorf("not the defaults: %+v", got)
			}
		})
	}
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	_, problems := load(t, "AFTERIMAGE_LISTEN=x", "DATABASE_URL=x", "IMAGE_ARCHIVE_CONCURRENCY=x", "AFTERIMAGE_ADMIN_USERNAME=ada",
		"S3_ENDPOINT=https://s3.example", "AFTERIMAGE_LISTN=:1")
	var names []string
	for _, p := range problems {
		names = append(names, p.Name)
	}
	want := "AFTERIMAGE_LISTEN DATABASE_URL IMAGE_ARCHIVE_CONCURRENCY AFTERIMAGE_LISTN AFTERIMAGE_ADMIN_PASSWORD S3_BUCKET"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var out strings.Builder
	writeProblems(&out, problems)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 6 || !strings.HasPrefix(lines[5], "warning: IMAGE_ARCHIVE_CONCURRENCY") {
		t.Errorf("what stops the start does not come first:\n%s", out.String())
	}
}

func TestSettingsThatContradictEachOther(t *testing.T) {
	for _, c := range []struct {
		name string
		env  []string
		want string
	}{
		{"name without password", []string{"AFTERIMAGE_ADMIN_USERNAME=ada"},
			"AFTERIMAGE_ADMIN_PASSWORD: is missing: AFTERIMAGE_ADMIN_USERNAME is set; set both or neither"},
		{"key without secret", []string{"S3_BUCKET=pics", "S3_ACCESS_KEY_ID=a"},
			"S3_SECRET_ACCESS_KEY: is missing: S3_ACCESS_KEY_ID is set; set both or neither"},
		{"endpoint without bucket", []string{"S3_ENDPOINT=https://s3.example"},
			"S3_BUCKET: is missing: S3_ENDPOINT is set; name the bucket, or unset the others to use the disk"},
		{"public URL without bucket", []string{"S3_PUBLIC_URL=https://cdn.example"},
			"S3_BUCKET: is missing: S3_PUBLIC_URL is set; name the bucket, or unset the others to use the disk"},
		{"public URL that would change the policy of pages", []string{"S3_BUCKET=pics", "S3_PUBLIC_URL=https://cdn.example;script-src"},
			`S3_PUBLIC_URL="https://cdn.example;script-src": is not the address of a bucket; accepts http://host/path or https://host/path`},
		{"public URL of private images", []string{"S3_BUCKET=pics", "S3_PUBLIC_URL=https://cdn.example", "AFTERIMAGE_IMAGE_ACCESS=login"},
			"S3_PUBLIC_URL: has no effect: with AFTERIMAGE_IMAGE_ACCESS=login images pass through the app; the bucket should not be public"},
		{"a bad bucket is not also missing", []string{"S3_ENDPOINT=https://s3.example", "S3_BUCKET=a/b"},
			`S3_BUCKET="a/b": is not a bucket name; accepts the bucket's name alone`},
		{"models of no provider", []string{"OPENAI_MODELS=a"},
			"OPENAI_MODELS: has no effect: neither OPENAI_API_KEY nor OPENAI_BASE_URL is set"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := load(t, c.env...)
			if len(problems) != 1 || problems[0].String() != c.want {
				t.Errorf("got  %v\nwant %s", problems, c.want)
			}
		})
	}
}

func TestValuesFromFiles(t *testing.T) {
	disk := files{
		"/run/key": "sk-0123456789abcdef\r\n", "/run/empty": " \n", "/run/two": "a\nb\n", "/run/slots": "5\n",
		"/run/pw": " eight characters \n",
	}
	c, problems := LoadConfig([]string{"OPENAI_API_KEY_FILE=/run/key", "IMAGE_ARCHIVE_CONCURRENCY_FILE=/run/slots",
		"AFTERIMAGE_ADMIN_USERNAME=Ada", "AFTERIMAGE_ADMIN_PASSWORD_FILE=/run/pw"}, disk.read)
	if len(problems) > 0 || c.OpenAI.APIKey != "sk-0123456789abcdef" || !c.OpenAI.Enabled || c.Archive.Concurrency != 5 {
		t.Errorf("got %v, %+v, %+v", problems, c.OpenAI, c.Archive)
	}
	if c.AdminUsername != "ada" || c.AdminPassword != " eight characters " {
		t.Errorf("got %q, %q: spaces belong to a password", c.AdminUsername, c.AdminPassword)
	}

	for _, c := range []struct {
		name, want string
		env        []string
	}{
		{"the file is missing, and its name is not shown, since it may be the key", "OPENAI_API_KEY_FILE: the file cannot be read: file does not exist; accepts the key, without spaces", []string{"OPENAI_API_KEY_FILE=sk-secret"}},
		{"the file is empty", "OPENAI_API_KEY_FILE: the file is empty; accepts the key, without spaces", []string{"OPENAI_API_KEY_FILE=/run/empty"}},
		{"the file has two lines", "OPENAI_API_KEY_FILE: contains a line break or another control character; accepts the key, without spaces", []string{"OPENAI_API_KEY_FILE=/run/two"}},
		{"both forms are set", "OPENAI_API_KEY_FILE: is set and OPENAI_API_KEY as well, where only one may be; accepts the key, without spaces", []string{"OPENAI_API_KEY=sk-1", "OPENAI_API_KEY_FILE=/run/key"}},
		{"a file with a bad value", `AFTERIMAGE_LISTEN_FILE="5": is not an address with a port; accepts host:port or :port`, []string{"AFTERIMAGE_LISTEN_FILE=/run/slots"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := LoadConfig(c.env, disk.read)
			if len(problems) != 1 || problems[0].String() != c.want || !fatal(problems) {
				t.Errorf("got  %v\nwant %s", problems, c.want)
			}
		})
	}

	t.Run("an error that is no path error hides its text", func(t *testing.T) {
		_, problems := LoadConfig([]string{"OPENAI_API_KEY_FILE=sk-secret"}, func(name string) ([]byte, error) {
			return nil, errors.New("cannot open " + name)
		})
		if len(problems) != 1 || strings.Contains(problems[0].String(), "secret") {
			t.Error(problems)
		}
	})
}

func TestCertificateFileIsChecked(t *testing.T) {
	_, problems := LoadConfig([]string{"IMAGE_ARCHIVE_CA_FILE=/ca.pem"}, files{"/ca.pem": "not a certificate"}.read)
	want := `IMAGE_ARCHIVE_CA_FILE="/ca.pem": holds no certificate in PEM form; accepts a PEM file`
	if len(problems) != 1 || problems[0].String() != want {
		t.Errorf("got  %v\nwant %s", problems, want)
	}
}

func TestUnknownNames(t *testing.T) {
	const stops, warns = true, false
	for _, c := range []struct {
		env, want string
		stops     bool
	}{
		{"AFTERIMAGE_IMAGE_ACESS=login", "AFTERIMAGE_IMAGE_ACESS: is not a setting; did you mean AFTERIMAGE_IMAGE_ACCESS?", stops},
		{"AFTERIMAGE_DATABASE_URL=x", "AFTERIMAGE_DATABASE_URL: is not a setting; did you mean DATABASE_URL?", stops},
		{"AFTERIMAGE_ADMIN_PASWORD_FILE=x", "AFTERIMAGE_ADMIN_PASWORD_FILE: is not a setting; did you mean AFTERIMAGE_ADMIN_PASSWORD_FILE?", stops},
		{"IMAGE_ARCHIVE_CONCURENCY=4", "IMAGE_ARCHIVE_CONCURENCY: is not a setting; did you mean IMAGE_ARCHIVE_CONCURRENCY?", warns},
		{"S3_BUKCET=pics", "S3_BUKCET: is not a setting; did you mean S3_BUCKET?", warns},
		{"OPENAI_ORGANIZATION=x", "OPENAI_ORGANIZATION: is not a setting", warns},
		{"AFTERIMAGE_COLOUR=x", "AFTERIMAGE_COLOUR: is not a setting", warns},
		{"AFTERIMAGE_SERVICE_HOST=10.0.0.1", "", warns},
		{"AFTERIMAGE_PORT=tcp://10.0.0.1:8080", "", warns},
		{"AFTERIMAGE_PORT_8080_TCP_ADDR=10.0.0.1", "", warns},
		{"HOME=/root", "", warns},
	} {
		t.Run(c.env, func(t *testing.T) {
			_, problems := load(t, c.env)
			var got string
			if len(problems) > 0 {
				got = problems[0].String()
			}
			if got != c.want || len(problems) > 1 || fatal(problems) != c.stops {
				t.Errorf("got %v (stops: %v)\nwant %s (stops: %v)", problems, fatal(problems), c.want, c.stops)
			}
		})
	}
}

func TestBaseURLFor(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080",
		":9000":          "http://localhost:9000",
		"0.0.0.0:80":     "http://localhost",
		"[::]:8080":      "http://localhost:8080",
		"[::1]:80":       "http://[::1]",
		"pics.lan:8080":  "http://pics.lan:8080",
		"nonsense":       "",
	} {
		if got := BaseURLFor(listen); got != want {
			t.Errorf("%s: got %q, want %q", listen, got, want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "abc", 0}, {"abc", "", 3}, {"abc", "abd", 1}, {"abc", "acb", 1}, {"kitten", "sitting", 3},
	} {
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
