package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
)

// everyPage is each page in each of its forms.
func everyPage() map[string]struct {
	page string
	view any
} {
	now := time.Now()
	in := Layout{User: "admin", IsAdmin: true, Nav: "gallery", Path: "/?q=koi", Theme: "dark", LiveURL: "/live?since=42"}
	out := Layout{Path: "/setup?token=abc"}
	tiles := sixtyTiles()
	wrong := []FieldError{{Field: "prompt", Key: "err.prompt.long", Args: Args{"max": 4000}}, {Field: "seed", Key: "err.seed.bad"}}
	pages := map[string]struct {
		page string
		view any
	}{
		"setup": {"setup", SetupView{Layout: out, Token: "abc", Providers: []SettingNote{{Name: "demo"}, {Name: "openai", Detail: "https://api.example", From: "OPENAI_BASE_URL"}},
			Storage: []SettingNote{{Name: "disk", Detail: "./data/objects"}}}},
		"setup, wrong": {"setup", SetupView{Layout: out, Username: "a b", Errors: []FieldError{{Field: "username", Key: "err.username.bad"}, {Field: "password", Key: "err.password.short", Args: Args{"min": 8}}},
			Storage: []SettingNote{{Name: "s3", Detail: "s3://images", From: "S3_BUCKET"}}}},
		"setup-expired":     {"setup-expired", SetupView{Layout: out, Token: "used"}},
		"setup-needed":      {"setup-expired", SetupView{Layout: out}},
		"sign-in":           {"sign-in", SignInView{Layout: out, To: "/create"}},
		"sign-in, wrong":    {"sign-in", SignInView{Layout: out, Ended: true, Errors: []FieldError{{Key: "err.throttled", Args: Args{"time": "30s"}}}}},
		"create":            {"create", CreateView{Layout: in, Models: []ModelChoice{{Provider: "demo", Model: "demo"}}, Recent: []string{"neon koi"}, Tiles: tiles[:8], IdempotencyKey: "k"}},
		"create, wrong":     {"create", CreateView{Layout: in, Models: []ModelChoice{{Provider: "openai", Model: "gpt-image-1", Sizes: []string{"1024x1024"}, MaxN: 2}}, Errors: wrong, Form: CreateForm{Prompt: "<b>", Seed: "x"}}},
		"create, no models": {"create", CreateView{Layout: in}},
		"gallery":           {"gallery", GalleryView{Layout: in, Tiles: tiles, Counts: Counts{All: 1204}, Now: now, OlderURL: "/?cursor=x"}},
		"gallery, empty":    {"gallery", GalleryView{Layout: in, Now: now}},
		"gallery, no match": {"gallery", GalleryView{Layout: in, Find: Find{Query: "koi", Status: "failed"}, Now: now}},
		"trash":             {"trash", TrashView{Layout: in, Tiles: trashed(tiles[:8]), Total: 8, Bytes: 41 << 20, Retention: 720 * time.Hour, Now: now}},
		"trash, empty":      {"trash", TrashView{Layout: in, Now: now}},
		"settings": {"settings", SettingsView{Layout: in, Keys: []APIKey{{ID: "1", Name: "ci", Prefix: "afi_7Kq", Scopes: []string{"images:read"}, LastUsedAt: now, ExpiresAt: now}, {ID: "2", Name: "two"}},
			NewKey: &NewKey{Name: "ci", Secret: "afi_7KqX", BaseURL: "http://127.0.0.1:8080"}}},
		"settings, wrong": {"settings", SettingsView{Layout: in, Errors: []FieldError{{Field: "current_password", Key: "err.password.wrong"}, {Field: "name", Key: "err.name.empty"}, {Field: "scopes", Key: "err.scopes.empty"}}}},
		"ops, good":       {"ops", deskView(in, true)},
		"ops, bad":        {"ops", deskView(in, false)},
		"jobs":            {"jobs", JobsView{Layout: in, Wrong: []Alarm{{Name: "conservation", Detail: "x", Since: now}}, Kinds: []JobKind{{Kind: "archive", Ready: 1, Off: 2, PausedAt: now, PausedBy: "ann"}}, Reasons: []JobReason{{Kind: "archive", State: "discarded", N: 2, Last: "no", CanRevive: true}}}},
		"system":          {"system", SystemView{Layout: in, Store: TestedSetting{SettingNote: SettingNote{Name: "disk", Detail: "./data"}, Address: "disk ./data"}, StorePaused: "store_full", StoreSince: now, Providers: []TestedSetting{{SettingNote: SettingNote{Name: "openai"}, CanTest: true}}, Tested: "openai", Result: &TestResult{Failed: "no"}, Settings: []Setting{{Section: "Server", Name: "A", Unset: "none", Origin: "default"}, {Section: "Storage", Name: "B", Value: "1", Origin: "environment"}}}},
		"system, tested":  {"system", SystemView{Layout: in, Tested: "store", Result: &TestResult{Took: time.Second, Found: "2 models"}}},
		"notice":          {"settings", SettingsView{Layout: Layout{User: "admin", Notice: &Message{Key: "notice.retry.not", Bad: true}}}},
	}
	for _, code := range []int{400, 403, 404, 405, 410, 413, 418, 429, 500, 502, 503} {
		pages[fmt.Sprint("error ", code)] = struct {
			page string
			view any
		}{"error", ErrorView{Layout: out, Code: code, ErrorID: "7F3K", RetryAfter: time.Minute}}
	}
	for _, state := range states {
		for _, reason := range []string{"", "store_denied"} {
			v := fullImage(state, reason)
			v.Layout, v.Secured, v.ProviderMessage = in, reason == "store_denied", "No."
			pages["image "+state+" "+reason] = struct {
				page string
				view any
			}{"image", v}
			v.TrashedAt = now
			pages["image, trashed "+state+" "+reason] = struct {
				page string
				view any
			}{"image", v}
		}
	}
	return pages
}

func sixtyTiles() []Tile {
	var tiles []Tile
	for i := range 60 {
		t := fullImage("archived", "").Tile
		if i%6 == 0 {
			t = fullImage(states[i/6%len(states)], reasons[i%len(reasons)]).Tile
		}
		t.ID = fmt.Sprintf("0j3k%022d", i*7919*104729)
		t.Prompt = fmt.Sprintf("A %x lighthouse in fog, long exposure, number %d", i*7919*104729, i)
		t.CreatedAt = time.Now().Add(-time.Duration(i) * time.Hour)
		if t.Shown() {
			noise := sha256.Sum256([]byte(t.ID))
			t.Placeholder = base64.StdEncoding.EncodeToString(noise[:25])
		}
		tiles = append(tiles, t)
	}
	return tiles
}

func trashed(tiles []Tile) []Tile {
	for i := range tiles {
		tiles[i].TrashedAt = time.Now().Add(-72 * time.Hour)
	}
	return tiles
}

func TestEveryPageInEveryLanguage(t *testing.T) {
	s := newSite(t)
	for name, p := range everyPage() {
		for _, lang := range s.Languages() {
			t.Run(name+" "+lang, func(t *testing.T) {
				var page bytes.Buffer
				if err := s.Render(&page, lang, p.page, p.view); err != nil {
					t.Fatal(err)
				}
				checkPage(t, page.String(), lang)
			})
		}
	}
}

var wrongInAPage = map[string]*regexp.Regexp{
	"an inline style":           regexp.MustCompile(`(?i)\sstyle\s*=|<style`),
	"an inline script":          regexp.MustCompile(`(?i)<script(?:\s[^>]*)?>[^<]|\son\w+\s*=`),
	"an address with a scheme":  regexp.MustCompile(`(?i)(?:src|href|action)="[a-z]+:`),
	"a placeholder not filled":  regexp.MustCompile(`\{\w+\}`),
	"a key instead of words":    regexp.MustCompile(`>(?:[a-z]+\.)+[a-z_-]+<`),
	"a value that is missing":   regexp.MustCompile(`&lt;nil&gt;|&lt;no value&gt;|%!\w`),
	"text that Go did not like": regexp.MustCompile(`ZgotmplZ`),
}

var (
	scriptWordsAttr = regexp.MustCompile(`data-words="[^"]*"`)
	idAttr          = regexp.MustCompile(`\sid="([^"]*)"`)
)

// checkPage finds what a browser would forgive and what the policy would block.
func checkPage(t *testing.T, page, lang string) {
	t.Helper()
	if !strings.Contains(page, `<html lang="`+lang+`"`) {
		t.Error("the page does not say its language")
	}
	body := scriptWordsAttr.ReplaceAllString(page, "")
	for what, pattern := range wrongInAPage {
		if found := pattern.FindString(body); found != "" {
			t.Errorf("%s: %q", what, found)
		}
	}
	if err := wellFormed(page); err != nil {
		t.Error(err)
	}
	if err := uniqueIDs(page); err != nil {
		t.Error(err)
	}
}

// wellFormed reads the tags: each that opens is closed, in order.
func wellFormed(page string) error {
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var open []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("parse page: %w", err)
		}
		switch tag := token.(type) {
		case xml.StartElement:
			open = append(open, tag.Name.Local)
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1] != tag.Name.Local {
				return fmt.Errorf("</%s> closes %v", tag.Name.Local, open)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("never closed: %v", open)
	}
	return nil
}

func uniqueIDs(page string) error {
	seen := map[string]bool{}
	for _, found := range idAttr.FindAllStringSubmatch(page, -1) {
		if seen[found[1]] {
			return fmt.Errorf("id %q is there twice", found[1])
		}
		seen[found[1]] = true
	}
	return nil
}

func TestUnknownPageIsAnErrorAndWritesNothing(t *testing.T) {
	var page bytes.Buffer
	for _, name := range []string{"", "nowhere", "_page"} {
		if err := newSite(t).Render(&page, "en", name, nil); err == nil || page.Len() > 0 {
			t.Errorf("%q: %v, wrote %d bytes", name, err, page.Len())
		}
	}
}

func TestPromptsAreText(t *testing.T) {
	s := newSite(t)
	v := fullImage("archived", "")
	v.Layout, v.Prompt = Layout{User: "admin"}, `"><script>alert(1)</script>`
	var page bytes.Buffer
	if err := s.Render(&page, "en", "image", v); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page.String(), "<script>alert") {
		t.Error("a prompt became a script")
	}
}

func TestOperatorsDetailIsForAdministrators(t *testing.T) {
	s := newSite(t)
	for _, admin := range []bool{true, false} {
		v := fullImage("archive_failed", "store_denied")
		v.Layout, v.Reason.Detail = Layout{User: "someone", IsAdmin: admin}, "the bucket refused our credentials"
		var page bytes.Buffer
		if err := s.Render(&page, "en", "image", v); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(page.String(), v.Reason.Detail); got != admin {
			t.Errorf("administrator %v: detail shown %v", admin, got)
		}
	}
}

// The live fragment must be what the page itself would show, or a tile changes when the page is loaded again.
func TestLiveFragmentIsTheTileOfThePage(t *testing.T) {
	s := newSite(t)
	for _, state := range states {
		tile := fullImage(state, "").Tile
		var page, live bytes.Buffer
		if err := s.Render(&page, "zh-CN", "gallery", GalleryView{Layout: Layout{User: "a"}, Tiles: []Tile{tile}, Counts: Counts{All: 1}, Now: time.Now()}); err != nil {
			t.Fatal(err)
		}
		if err := s.RenderTiles(&live, "zh-CN", []Tile{tile}); err != nil {
			t.Fatal(err)
		}
		if inner := strings.TrimSpace(live.String()); !strings.Contains(page.String(), inner) {
			t.Errorf("%s: the page has no %s", state, inner)
		}
		if strings.Contains(strings.TrimSpace(live.String()), "\n\n") {
			t.Errorf("%s: an empty line would end the event", state)
		}
	}
}

func TestLiveFragmentOfAnImage(t *testing.T) {
	s := newSite(t)
	for _, state := range states {
		var live bytes.Buffer
		if err := s.RenderImage(&live, "en", fullImage(state, "source_slow")); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(live.String(), `id="image-0j3k" data-state="`+state) {
			t.Errorf("%s: %.200s", state, live.String())
		}
	}
}
