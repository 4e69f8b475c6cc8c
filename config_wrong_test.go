package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wrongValues has a value that each setting cannot have. A new setting needs
// its own.
var wrongValues = map[string]string{
	"AFTERIMAGE_LISTEN":               "8080",
	"AFTERIMAGE_BASE_URL":             "pics.example.org",
	"AFTERIMAGE_DATA_DIR":             "a\tb",
	"AFTERIMAGE_ADMIN_USERNAME":       "Ada Lovelace",
	"AFTERIMAGE_ADMIN_PASSWORD":       "hunter2",
	"AFTERIMAGE_IMAGE_ACCESS":         "everybody",
	"AFTERIMAGE_TRASH_RETENTION":      "soon",
	"AFTERIMAGE_METRICS_TOKEN":        "tooshort",
	"AFTERIMAGE_QUOTA_IMAGES_PER_DAY": "many",
	"AFTERIMAGE_QUOTA_BYTES":          "10 boxes",
	"AFTERIMAGE_CORS_ORIGINS":         "example.org",
	"AFTERIMAGE_DEFAULT_LANGUAGE":     "tlh",
	"AFTERIMAGE_WEBHOOK_ALLOW":        "intranet",
	"AFTERIMAGE_LOG_FORMAT":           "xml",
	"AFTERIMAGE_LOG_LEVEL":            "loud",
	"DATABASE_URL":                    "mysql://db/app",
	"S3_BUCKET":                       "a/b",
	"S3_ENDPOINT":                     "s3.example.com",
	"S3_REGION":                       "eu central",
	"S3_ACCESS_KEY_ID":                "AK IA",
	"S3_SECRET_ACCESS_KEY":            "se cret",
	"S3_PREFIX":                       "/a//b",
	"S3_PATH_STYLE":                   "yes",
	"S3_PUBLIC_URL":                   "cdn.example.com",
	"IMAGE_ARCHIVE_CONCURRENCY":       "two",
	"IMAGE_ARCHIVE_MAX_ATTEMPTS":      "0",
	"IMAGE_ARCHIVE_RETRY_DELAYS":      "30",
	"IMAGE_ARCHIVE_LOCK_TTL":          "ten",
	"IMAGE_ARCHIVE_POLL_INTERVAL":     "15",
	"IMAGE_ARCHIVE_SWEEP_INTERVAL":    "-1s",
	"IMAGE_ARCHIVE_MAX_BYTES":         "big",
	"IMAGE_ARCHIVE_MAX_PIXELS":        "100MB",
	"IMAGE_ARCHIVE_TIMEOUT":           "5",
	"IMAGE_ARCHIVE_STALL_TIMEOUT":     "0s",
	"IMAGE_ARCHIVE_MIN_SPEED":         "4KiB",
	"IMAGE_ARCHIVE_ALLOW":             "intranet",
	"IMAGE_ARCHIVE_PORTS":             "http",
	"IMAGE_ARCHIVE_CA_FILE":           "/nowhere/ca.pem",
	"IMAGE_ARCHIVE_RESOLVER":          "dns.example.com",
	"IMAGE_ARCHIVE_PROXY":             "proxy:3128",
}

// wrongValue: those of providers are alike.
func wrongValue(s setting) (string, bool) {
	if v, ok := wrongValues[s.name]; ok {
		return v, true
	}
	switch {
	case s.secret:
		return "sk 123", true
	case strings.HasSuffix(s.name, "_URL"):
		return "api.example.com", true
	case strings.HasSuffix(s.name, "_MODELS"):
		return "a,,b", true
	}
	return "", false
}

// companions make a setting count.
func companions(s setting) []string {
	switch s.name {
	case "AFTERIMAGE_ADMIN_USERNAME":
		return []string{"AFTERIMAGE_ADMIN_PASSWORD=long enough"}
	case "AFTERIMAGE_ADMIN_PASSWORD":
		return []string{"AFTERIMAGE_ADMIN_USERNAME=ada"}
	}
	if strings.HasPrefix(s.name, "S3_") && s.name != "S3_BUCKET" {
		return []string{"S3_BUCKET=pics"}
	}
	return nil
}

// TestEachSettingWrongInTurn runs the program with one wrong setting: it names
// the variable, the value if that is no secret, and what it accepts, and
// does not start, except where only tuning is wrong.
func TestEachSettingWrongInTurn(t *testing.T) {
	for _, s := range settings() {
		value, ok := wrongValue(s)
		if !ok {
			t.Errorf("%s has no wrong value in this test", s.name)
			continue
		}
		file := filepath.Join(t.TempDir(), "value")
		if err := os.WriteFile(file, []byte(value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, given := range map[string]string{s.name: value, s.name + "_FILE": file} {
			t.Run(name, func(t *testing.T) {
				// What can start is only shown.
				command, wantCode, wantWord := "serve", exitUsage, "error: "
				if s.tuning {
					command, wantCode, wantWord = "config", exitDone, "warning: "
				}
				code, said := tryOut(t, command, append(companions(s), name+"="+given)...)
				line := lineWith(said, wantWord+name)
				if name != s.name && s.name == "IMAGE_ARCHIVE_CA_FILE" || strings.HasSuffix(s.name, "_ALLOW") {
					line = lineWith(said, wantWord+s.name) // found later, when it is no longer known where it was
				}
				if code != wantCode || !strings.Contains(line, "accepts "+s.accepts) {
					t.Errorf("exit code %d (want %d), %q lacks what it accepts:\n%s", code, wantCode, line, said)
				}
				if s.tuning != strings.Contains(line, "using "+s.fallback) {
					t.Errorf("what is used instead: %q", line)
				}
				if s.secret == strings.Contains(said, value) && s.name != "AFTERIMAGE_DATA_DIR" {
					t.Errorf("value shown, of a secret %v: %s", s.secret, said)
				}
			})
		}
		t.Run(s.name+" of a file that is not there", func(t *testing.T) {
			if s.name == "IMAGE_ARCHIVE_CA_FILE" {
				return
			}
			code, said := tryOut(t, "config", append(companions(s), s.name+"_FILE=/nowhere/file")...)
			if line := lineWith(said, s.name+"_FILE"); !strings.Contains(line, "the file cannot be read: no such file or directory") || (code == exitUsage) == s.tuning {
				t.Errorf("exit code %d: %s", code, said)
			}
		})
	}
}

func tryOut(t *testing.T, command string, env ...string) (code int, said string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), program{args: []string{command}, environ: append(env, "AFTERIMAGE_SETTINGS_TEST_ONLY="), in: strings.NewReader(""), out: &out, err: &errs})
	return code, errs.String()
}

// lineWith is the first line that begins with a text.
func lineWith(text, begin string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, begin) {
			return line
		}
	}
	return ""
}

func TestSettingsFromDotEnv(t *testing.T) {
	const file = "\uFEFF# ours\r\n" +
		"AFTERIMAGE_LISTEN=:9000\r\n" +
		"export AFTERIMAGE_LOG_FORMAT = json   # for the collector\n" +
		"AFTERIMAGE_ADMIN_USERNAME='ada'\n" +
		`AFTERIMAGE_ADMIN_PASSWORD="a \"long\" # one\$"` + " # with quotes\n" +
		"S3_BUCKET=pics\nS3_SECRET_ACCESS_KEY_FILE=/run/s3\nS3_ACCESS_KEY_ID=AK#IA\n" +
		"OPENAI_API_KEY=sk-file\nIMAGE_ARCHIVE_CONCURRENCY=\n" +
		"POSTGRES_PASSWORD=not ours\nHOME=/elsewhere\n\n"
	disk := files{".env": file, "/run/s3": "secret\n"}
	c, problems := readConfig(newEnvironment([]string{"AFTERIMAGE_LISTEN=:9001", "OPENAI_API_KEY_FILE=/run/s3"}, ".env", disk.read))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if c.Listen != ":9001" || c.OpenAI.APIKey != "secret" {
		t.Errorf("the environment does not come first: %q, %q", c.Listen, c.OpenAI.APIKey)
	}
	if c.LogFormat != "json" || c.AdminUsername != "ada" || c.AdminPassword != `a "long" # one$` || c.S3.SecretAccessKey != "secret" || c.S3.AccessKeyID != "AK#IA" {
		t.Errorf("got %+v", c)
	}
	origins := map[string]string{}
	for _, s := range c.Effective {
		origins[s.Name] = s.Origin
	}
	for name, want := range map[string]string{"AFTERIMAGE_LISTEN": "environment", "AFTERIMAGE_LOG_FORMAT": ".env",
		"S3_SECRET_ACCESS_KEY": "S3_SECRET_ACCESS_KEY_FILE in .env", "AFTERIMAGE_DATA_DIR": "default"} {
		if origins[name] != want {
			t.Errorf("%s is said to come from %q, want %q", name, origins[name], want)
		}
	}

	t.Run("no file is no problem", func(t *testing.T) {
		if _, problems := readConfig(newEnvironment(nil, ".env", files{}.read)); len(problems) > 0 {
			t.Error(problems)
		}
	})
	for line, want := range map[string]string{
		"AFTERIMAGE_LISTEN :9000":         `.env line 1: is not NAME=value`,
		"OPENAI_API_KEY='sk-hunter2":      `.env line 1: has a value of OPENAI_API_KEY whose quote does not end with the line`,
		"AFTERIMAGE_LISTN=:9000":          `AFTERIMAGE_LISTN: is not a setting; did you mean AFTERIMAGE_LISTEN?`,
		"AFTERIMAGE_LISTEN=9000":          `AFTERIMAGE_LISTEN="9000": is not an address with a port; accepts host:port or :port`,
		"DATABASE_URL=host=db password=p": `DATABASE_URL: does not start with postgres:// or postgresql://; accepts postgres://user:password@host/database`,
	} {
		t.Run(line, func(t *testing.T) {
			_, problems := readConfig(newEnvironment(nil, ".env", files{".env": line}.read))
			if len(problems) != 1 || problems[0].String() != want || !fatal(problems) {
				t.Errorf("got  %v\nwant %s", problems, want)
			}
		})
	}
}

// The real program looks for it in the folder where it is started.
func TestDotEnvOfTheWorkingFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile(".env", []byte("AFTERIMAGE_LISTEN=:9000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	run(t.Context(), program{args: []string{"config"}, dotEnv: ".env", out: &out, err: &out})
	if !strings.Contains(lineWith(out.String(), "AFTERIMAGE_LISTEN"), ".env") {
		t.Error(out.String())
	}
}
