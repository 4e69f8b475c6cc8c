package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestConfigShowsValuesAndTheirOriginsButNoSecret(t *testing.T) {
	c, problems := LoadConfig([]string{
		"AFTERIMAGE_LISTEN=:9000",
		"AFTERIMAGE_ADMIN_USERNAME=ada", "AFTERIMAGE_ADMIN_PASSWORD=hunter22",
		"DATABASE_URL=postgres://app:hunter22@db.example/pics?password=hunter22",
		"S3_BUCKET=pics", "S3_ACCESS_KEY_ID=AKIA1", "S3_SECRET_ACCESS_KEY_FILE=/run/s3",
		"IMAGE_ARCHIVE_PROXY=http://me:hunter22@proxy:3128",
		"OPENAI_API_KEY=sk-hunter22hunter22hunter22hunter229f456",
	}, files{"/run/s3": "hunter22hunter22hunter22hunter22hunter9f\n"}.read)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var text, asJSON bytes.Buffer
	if err := writeConfig(&text, c, false); err != nil {
		t.Fatal(err)
	}
	if err := writeConfig(&asJSON, c, true); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String()+asJSON.String(), "hunter") {
		t.Errorf("a secret is shown:\n%s\n%s", text.String(), asJSON.String())
	}

	var shown []EffectiveSetting
	if err := json.Unmarshal(asJSON.Bytes(), &shown); err != nil {
		t.Fatal(err)
	}
	if len(shown) != len(settings()) {
		t.Errorf("%d settings shown, want all %d", len(shown), len(settings()))
	}
	got := make(map[string]EffectiveSetting)
	for _, s := range shown {
		got[s.Name] = s
	}
	for _, want := range []EffectiveSetting{
		{Name: "AFTERIMAGE_LISTEN", Value: ":9000", Origin: "environment"},
		{Name: "AFTERIMAGE_BASE_URL", Value: "http://localhost:9000", Origin: "default"},
		{Name: "AFTERIMAGE_DATA_DIR", Value: "./data", Origin: "default"},
		{Name: "AFTERIMAGE_ADMIN_PASSWORD", Value: "set, 8 chars", Origin: "environment", Secret: true},
		{Name: "DATABASE_URL", Value: "postgres://app:xxxxx@db.example/pics?…", Origin: "environment"},
		{Name: "S3_ENDPOINT", Value: "", Origin: "default"},
		{Name: "S3_SECRET_ACCESS_KEY", Value: "set, 40 chars, ends …9f", Origin: "S3_SECRET_ACCESS_KEY_FILE", Secret: true},
		{Name: "IMAGE_ARCHIVE_PROXY", Value: "http://me:xxxxx@proxy:3128", Origin: "environment"},
		{Name: "OPENAI_API_KEY", Value: "set, 40 chars, ends …56", Origin: "environment", Secret: true},
	} {
		if got[want.Name] != want {
			t.Errorf("got  %+v\nwant %+v", got[want.Name], want)
		}
	}
}

func TestRedactURL(t *testing.T) {
	for in, want := range map[string]string{
		"postgres://db/pics":              "postgres://db/pics",
		"localhost:9000":                  "localhost:9000",
		"postgres:///pics?host=/run/pg":   "postgres:///pics?…",
		"postgres://u:p@db/pics":          "postgres://u:xxxxx@db/pics",
		"postgres://u:p@ss@db/pics":       "(not shown)",
		"postgres://u:12#ss@db/pics":      "(not shown)",
		"postgres://u:12?ss@db/pics":      "(not shown)",
		"postgres://u:12/ss@db/pics":      "(not shown)",
		"postgres://u:pa%ss@db/pics":      "(not shown)",
		"u:p@db/pics":                     "(not shown)",
		"host=db password=p":              "(not shown)",
		`jdbc:postgresql://db?password=p`: "(not shown)",
	} {
		if got := redactURL(in); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

func TestEverySettingIsExplained(t *testing.T) {
	var help strings.Builder
	writeSettingsHelp(&help)
	for _, s := range settings() {
		if s.name == "" || s.section == "" || s.help == "" || s.accepts == "" || s.read == nil {
			t.Errorf("%s: section, help, accepts or read is missing", s.name)
		}
		if (s.fallback == "") == (s.unset == "") {
			t.Errorf("%s: needs a default or words for what happens without a value, and not both", s.name)
		}
		if s.tuning && s.fallback == "" {
			t.Errorf("%s: tuning needs a default to fall back to", s.name)
		}
		if !strings.Contains(help.String(), s.name+" ") || !strings.Contains(help.String(), s.accepts) {
			t.Errorf("%s is not in --help", s.name)
		}
	}
}

// TestREADMEHasTheSettings keeps the README true: UPDATE_README=1 go test -run README . writes the table anew.
func TestREADMEHasTheSettings(t *testing.T) {
	const file, start, end = "README.md", "<!-- settings -->\n", "<!-- /settings -->"
	readme, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(readme), start)
	table, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s lacks the markers %s and %s around its settings", file, strings.TrimSpace(start), end)
	}
	want := "\n" + settingsTable() + "\n"
	if table == want {
		return
	}
	if os.Getenv("UPDATE_README") == "" {
		t.Fatalf("the settings in %s are not those in the code; run UPDATE_README=1 go test -run README .", file)
	}
	if err := os.WriteFile(file, []byte(before+start+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
