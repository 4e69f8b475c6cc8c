package web

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var states = []string{
	"queued", "generating", "generated", "archiving", "retry_wait", "archived", "archive_failed",
	"generate_failed", "unknown", "canceled",
}

var reasons = []string{
	"source_expired", "source_missing", "source_slow", "source_unreachable", "source_error",
	"source_too_large", "source_not_image", "source_corrupt", "source_blocked", "store_denied",
	"store_missing", "store_full", "store_unreachable", "store_error", "checksum_mismatch", "interrupted",
	"internal", "refused", "invalid_request", "auth", "quota", "model_missing", "throttled", "timeout",
	"provider_error", "unknown_outcome",
}

// site is made once for all tests: nothing changes it.
var site = sync.OnceValues(New)

func newSite(t *testing.T) *Site {
	t.Helper()
	s, err := site()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWordListsHaveTheSameKeysAndPlaceholders(t *testing.T) {
	s := newSite(t)
	english := s.Words("en")
	for _, lang := range s.Languages() {
		other := s.Words(lang)
		for key, phrase := range english.words {
			if got, want := placeholders(other.words[key]), placeholders(phrase); !slices.Equal(got, want) {
				t.Errorf("%s %s: placeholders %v, in English %v", lang, key, got, want)
			}
		}
		for key := range other.words {
			if !english.Has(key) {
				t.Errorf("%s %s: not in English", lang, key)
			}
		}
	}
}

// placeholders of all plural forms together: "one" may leave the figure out.
func placeholders(p phrase) []string {
	found := map[string]bool{}
	if p == nil {
		found["(missing)"] = true
	}
	for _, text := range p {
		for _, name := range regexp.MustCompile(`\{\w+\}`).FindAllString(text, -1) {
			found[name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func TestEveryStateWithEveryReasonIsToldInEveryLanguage(t *testing.T) {
	s := newSite(t)
	now := time.Now()
	for _, lang := range s.Languages() {
		c := s.Words(lang)
		for _, state := range states {
			for _, reason := range append(reasons, "", "never_heard_of") {
				v := fullImage(state, reason)
				for what, text := range map[string]string{
					"badge": string(c.badge(v.Tile, now)), "short": string(c.badgeShort(v.Tile, now)),
					"read": string(c.badgeRead(v.Tile)), "sentence": string(c.sentence(v, now)),
					"status": c.Status(state),
				} {
					if text == "" || strings.ContainsAny(text, "{}") || strings.Contains(text, "."+state) {
						t.Errorf("%s %s %s: %s is %q", lang, state, reason, what, text)
					}
				}
			}
		}
	}
}

func fullImage(state, reason string) ImageView {
	now := time.Now()
	return ImageView{
		Tile: Tile{
			ID: "0j3k", Prompt: "neon koi", Status: state, Attempt: 2, MaxAttempts: 3, Ahead: 4,
			StartedAt: now.Add(-12 * time.Second), NextAttemptAt: now.Add(118 * time.Second),
			SourceExpires: now.Add(12 * time.Minute), CreatedAt: now, Width: 1024, Height: 768,
			Reason: Reason{Code: reason, Status: 502, Limit: 64 << 20, ErrorID: "7F3K", Detail: "HTTP 502"},
		},
		Provider: "demo", Model: "demo", Seed: 42, HasSeed: true, MIME: "image/png", Bytes: 3565158,
		SHA256: strings.Repeat("ab12cd9f", 8), IdempotencyKey: "k", BaseURL: "http://127.0.0.1:8080",
		Events: []Event{{At: now, Kind: "accepted"}, {At: now, Kind: "attempt_failed", Attempt: 1, Reason: Reason{Code: reason}}},
	}
}

func TestReason(t *testing.T) {
	s := newSite(t)
	for _, row := range []struct {
		reason Reason
		en, zh string
	}{
		{Reason{}, "", ""},
		{Reason{Code: "source_error", Status: 502}, "The provider had a problem (502).", "服务商出现故障（502）。"},
		{Reason{Code: "source_error"}, "The provider had a problem.", "服务商出现故障。"},
		{Reason{Code: "source_too_large", Limit: 64 << 20}, "The image is larger than the 64 MB limit.", "图片超过 64 MB 的大小限制。"},
		{Reason{Code: "internal", ErrorID: "7F3K"}, "Something unexpected happened (error 7F3K).", "发生未知错误（编号 7F3K）。"},
		{Reason{Code: "new_one"}, "Something unexpected happened.", "发生未知错误。"},
	} {
		if got := s.Words("en").Reason(row.reason); got != row.en {
			t.Errorf("%+v: %q, want %q", row.reason, got, row.en)
		}
		if got := s.Words("zh-CN").Reason(row.reason); got != row.zh {
			t.Errorf("%+v: %q, want %q", row.reason, got, row.zh)
		}
	}
}

// The seed application showed these words for a final failure, and its tests pin them.
func TestArchiveFailedIsCalled图片归档失败AndNeverShortened(t *testing.T) {
	c := newSite(t).Words("zh-CN")
	tile := Tile{Status: "archive_failed"}
	for _, got := range []string{c.Status("archive_failed"), string(c.badge(tile, time.Now())), string(c.badgeShort(tile, time.Now()))} {
		if got != "图片归档失败" {
			t.Errorf("got %q", got)
		}
	}
}

func TestTextFillsPlaceholders(t *testing.T) {
	s := newSite(t)
	for _, row := range []struct {
		name, lang, key string
		args            Args
		want            string
	}{
		{"one is singular", "en", "gallery.count", Args{"n": 1}, "1 image"},
		{"none is plural", "en", "gallery.count", Args{"n": 0}, "0 images"},
		{"large figures have separators", "en", "gallery.count", Args{"n": 1204}, "1,204 images"},
		{"Chinese has one form", "zh-CN", "gallery.count", Args{"n": 1}, "1 张图片"},
		{"a missing argument stays visible", "en", "gallery.count", nil, "{n} images"},
		{"an unknown key is its own text", "en", "no.such", nil, "no.such"},
		{"an argument with braces is not filled again", "en", "gallery.none", Args{"query": "{n}"}, "Nothing matches “{n}”."},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := s.Words(row.lang).Text(row.key, row.args); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
	if got := s.Words("en").HTML("gallery.none", Args{"query": "<b>"}); !strings.Contains(string(got), "&lt;b&gt;") {
		t.Errorf("HTML does not escape: %q", got)
	}
}

// Templates hold structure; what people read comes from the word lists.
func TestTemplatesHaveNoWords(t *testing.T) {
	action := regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	spoken := regexp.MustCompile(`(?:aria-label|title|placeholder|alt)="([^"]*)"`)
	hidden := regexp.MustCompile(`(?s)<pre.*?</pre>|<!doctype html>`) // commands and addresses
	tag := regexp.MustCompile(`(?s)<[^>]*>`)
	letters := regexp.MustCompile(`\pL+`)
	names, err := fs.Glob(embedded, "templates/*.html")
	if err != nil || len(names) == 0 {
		t.Fatal(err, names)
	}
	for _, name := range names {
		if name == "templates/docs.html" {
			continue // for programmers, in English as the API's own texts are
		}
		text, err := fs.ReadFile(embedded, name)
		if err != nil {
			t.Fatal(err)
		}
		plain := hidden.ReplaceAllString(action.ReplaceAllString(string(text), ""), "")
		for _, found := range spoken.FindAllStringSubmatch(plain, -1) {
			if letters.MatchString(found[1]) {
				t.Errorf("%s: words in an attribute: %q", name, found[0])
			}
		}
		if found := letters.FindAllString(tag.ReplaceAllString(plain, " "), -1); len(found) > 0 {
			t.Errorf("%s: words between the tags: %q", name, found)
		}
	}
}

// Each key that a template, a script or a Go file names must be in the lists.
func TestKeysThatAreNamedExist(t *testing.T) {
	c := newSite(t).Words("en")
	call := regexp.MustCompile(`(?:\bth? |say\(|c\.(?:Text|HTML)\()['"]([\w.-]+)['"]`)
	err := fs.WalkDir(embedded, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(name, "vendor") || strings.Contains(name, "locales") {
			return err
		}
		text, err := fs.ReadFile(embedded, name)
		if err != nil {
			return err
		}
		for _, found := range call.FindAllStringSubmatch(string(text), -1) {
			if !c.Has(found[1]) {
				t.Errorf("%s: no words for %q", name, found[1])
			}
			if strings.HasSuffix(name, ".js") && !strings.Contains(c.scriptWords(), fmt.Sprintf("%q:", found[1])) {
				t.Errorf("%s: the page does not carry the words for %q", name, found[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
