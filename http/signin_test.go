package http_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"afterimage/records"
)

// withPassword adds an account that can sign in by the form.
func (w *world) withPassword(name string) *records.User {
	w.t.Helper()
	u, err := w.CreateUser(w.t.Context(), name, "correct horse", records.Admin)
	if err != nil {
		w.t.Fatal(err)
	}
	return u
}

func TestSignIn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.withPassword("ann")
		b := w.browser()
		b.get("/trash").leadsTo("/sign-in?to=%2Ftrash")
		form := b.get("/sign-in?to=%2Ftrash").wants(200).fill("/sign-in", "username", "ANN", "password", "correct horse")
		a := b.sendForm("/sign-in", form).leadsTo("/trash")
		c := a.Cookies()[0]
		if !c.HttpOnly || c.SameSite != 2 || c.MaxAge < int((29*24*time.Hour).Seconds()) {
			t.Errorf("the cookie is %v", c)
		}
		b.get("/trash").wants(200)
		b.get("/sign-in?to=%2Ftrash").leadsTo("/trash")

		b.sendForm("/sign-in", form)
		old := w.browser()
		site, _ := url.Parse(w.url)
		c.Path = "/"
		old.client.Jar.SetCookies(site, append(a.Cookies()[:0:0], c))
		old.get("/trash").leadsTo("/sign-in?ended=1&to=%2Ftrash") // a new sign-in ended the session it came with

		b.submit("/sign-out").leadsTo("/sign-in")
		b.get("/sign-in").wants(200).has("You are signed out.")
		b.get("/trash").wants(303)
	})
}

func TestNotKeptSignedInEndsWithTheBrowser(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.withPassword("ann")
		a := w.browser().submit("/sign-in", "username", "ann", "password", "correct horse").leadsTo("/")
		if a.Cookies()[0].MaxAge != 0 {
			t.Errorf("the cookie is %v", a.Cookies()[0])
		}
	})
}

func TestWrongPasswordsAreThrottled(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.withPassword("ann")
		b := w.browser()
		for range 5 {
			b.submit("/sign-in", "username", "ann", "password", "wrong", "to", "/trash").wants(422).
				has("Username or password is wrong.", `value="/trash"`, `value="ann"`)
		}
		a := b.submit("/sign-in", "username", "ann", "password", "correct horse").wants(429).has("Too many tries. Wait 10s.")
		if a.Header.Get("Retry-After") != "10" {
			t.Errorf("Retry-After is %s", a.Header.Get("Retry-After"))
		}
		if len(a.Cookies()) > 0 {
			t.Error("a throttled try signed in")
		}
		if strings.Contains(w.log.String(), "correct horse") {
			t.Error("a password is in the log")
		}
	})
}

func TestSignInLeadsToThisSiteOnly(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.withPassword("ann")
		for _, to := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, `\\evil.example`, "/\t/evil.example",
			"javascript:alert(1)", "evil.example", "http:/evil", "", "/%zz"} {
			w.browser().get("/lang/en?to=" + url.QueryEscape(to)).leadsTo("/")
			w.browser().get("/sign-in?to=" + url.QueryEscape(to)).wants(200).has(`name="to" value="/"`)
		}
		w.browser().submit("/sign-in", "username", "ann", "password", "correct horse", "to", "//evil.example").leadsTo("/")
		w.browser().get("/lang/en?to=" + url.QueryEscape("/?q=a//b")).leadsTo("/?q=a//b")
	})
}

func TestLanguageOfTheVisitor(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		u := w.withPassword("ann")
		b := w.browser()
		b.get("/sign-in").has(`lang="en"`)
		b.get("/sign-in", "Accept-Language: zh-SG,en;q=0.5").has("登录")
		b.get("/lang/zh-CN?to=/sign-in").leadsTo("/sign-in")
		b.get("/sign-in", "Accept-Language: en").has("登录")
		b.get("/lang/xx").wants(404)

		b = w.browserOf(u.ID)
		b.submit("/settings/profile", "language", "zh-CN", "theme", "dark").leadsTo("/settings")
		b.get("/settings", "Accept-Language: en").has("已保存", `data-theme="dark"`, "设置")
		b.submit("/settings/profile", "language", "xx", "theme", "dark").wants(400)
		b.submit("/settings/profile", "language", "", "theme", "pink").wants(400)
	})
}

func TestAnEndedSessionSaysSo(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		u := w.withPassword("ann")
		b := w.browserOf(u.ID)
		w.Exec(t, `UPDATE sessions SET expires_at = ?`, w.Now().Add(-time.Hour))
		to := b.submit("/create", "prompt", "a fox").wants(303).Header.Get("Location")
		if to != "/sign-in?ended=1&to=%2Fcreate" {
			t.Fatalf("it leads to %s", to)
		}
		b.get(to).wants(200).has("Your prompt is still here.", `value="/create"`)
		w.Exec(t, `UPDATE users SET disabled_at = ? WHERE id = ?`, w.Now(), u.ID)
		w.browserOf(u.ID).get("/").wants(303)
	})
}
