package http_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"afterimage/http"
	"afterimage/records"
	"afterimage/records/recordstest"
)

func TestWritingHasALimitThatIsTold(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		ann, bob := w.person("ann"), w.person("bob")
		_, images := w.asks(ann, "a fox", 1)
		p := w.program(w.key(ann, records.ScopeImagesWrite))
		patch := func() answer { return p.call("PATCH", "/api/v1/images/"+images[0].ID, `{}`) }
		for n := range 600 {
			a := patch().wants(200)
			if n == 0 && (a.Header.Get("RateLimit-Policy") != `"writes";q=600;w=60` || a.Header.Get("RateLimit") != `"writes";r=599;t=0`) {
				t.Errorf("it says %q and %q", a.Header.Get("RateLimit-Policy"), a.Header.Get("RateLimit"))
			}
		}
		a := patch().wants(429)
		if a.problem() != "too_many_requests" || a.Header.Get("Retry-After") != "1" || a.Header.Get("RateLimit") != `"writes";r=0;t=60` {
			t.Errorf("%s: %v", a.body, a.Header)
		}
		p.get("/api/v1/images").wants(200) // reading goes on
		w.program(w.key(bob, records.ScopeImagesWrite)).call("POST", "/api/v1/images/bulk?q=x", `{"action":"trash"}`).wants(200)
		<-time.After(time.Second)
		patch().wants(200)
	})
}

func TestOtherSitesMayUseTheAPIOnlyIfTheSettingsSaySo(t *testing.T) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		w := newWorld(t, c, func(c *http.Config) { c.CORSOrigins = []string{"https://tools.example"} })
		ann := w.person("ann")
		p := w.program(w.key(ann, records.ScopeImagesWrite))
		pre := w.browser().send("OPTIONS", "/api/v1/images/bulk", nil, "Origin: https://tools.example", "Access-Control-Request-Method: POST").wants(204)
		if h := pre.Header; h.Get("Access-Control-Allow-Origin") != "https://tools.example" || !strings.Contains(h.Get("Access-Control-Allow-Headers"), "Authorization") ||
			h.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("the preflight says %v", h)
		}
		a := p.call("POST", "/api/v1/generations", `{"prompt":"a fox"}`, "Origin: https://tools.example", "Sec-Fetch-Site: cross-site").wants(202)
		if !strings.Contains(a.Header.Get("Access-Control-Expose-Headers"), "X-Request-Id") {
			t.Errorf("the answer says %v", a.Header)
		}
		for _, origin := range []string{"https://evil.example", "null", "https://tools.example.evil.example"} {
			if a := p.get("/api/v1/images", "Origin: "+origin).wants(200); a.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s may", origin)
			}
		}
		// A cookie never counts from another site, whatever the settings say.
		w.browserOf(ann).call("POST", "/api/v1/generations", `{"prompt":"a fox"}`, "Origin: https://tools.example", "Sec-Fetch-Site: cross-site").wants(403)
		if a := w.browser().get("/sign-in", "Origin: https://tools.example"); a.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Error("pages too")
		}
	})
}

func TestAClientThatDoesNotTakeItsAnswerIsDropped(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		for path, want := range map[string]time.Duration{"/api/v1/images": 2 * time.Minute, "/sign-in": 2 * time.Minute, "/img/" + records.NewID(): time.Hour} {
			rec := &deadlines{ResponseRecorder: httptest.NewRecorder()}
			w.server.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "GET", w.url+path, nil))
			if len(rec.write) != 1 || rec.write[0] != want {
				t.Errorf("%s may take %v, want %s", path, rec.write, want)
			}
		}
	})
}

func TestAnInvitedPersonChoosesAPassword(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		root := w.browserOf(w.admin("root"))
		page := root.submit("/settings/people", "username", "Eve").wants(200)
		_, rest, _ := strings.Cut(page.body, w.url+"/reset?token=")
		token, _, _ := strings.Cut(rest, `"`)
		root.submit("/settings/people", "username", "eve").wants(422).has("taken")
		eve := w.browser()
		eve.get("/reset?token=" + token).wants(200).has("for eve")
		eve.submit("/reset", "token", token, "password", "x").wants(422).has("8")
		eve.submit("/reset", "token", token, "password", "battery staple").leadsTo("/")
		eve.get("/settings").wants(200).has("Where you are signed in").hasNot("Invite")
		eve.submit("/reset", "token", token, "password", "battery staple").wants(410)
		w.browser().get("/reset?token=" + token).wants(410).has("used or has expired")
		w.browser().submit("/sign-in", "username", "eve", "password", "battery staple").leadsTo("/")

		id := eve.user()
		root.submit("/settings/people/" + id + "/disable").leadsTo("/settings")
		eve.get("/").wants(303)
		root.submit("/settings/people/" + id + "/enable").leadsTo("/settings")
		root.submit("/settings/people/" + id + "/reset").wants(200).has("/reset?token=")
	})
}
