package http_test

import (
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"afterimage/http"
	"afterimage/records"
	"afterimage/records/recordstest"
)

func TestAnAdministratorInvitesAndRemovesAPerson(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		root := w.program(w.key(w.admin("root"), records.ScopeOpsWrite))
		var eve struct {
			ID    string
			Reset *struct{ URL string }
		}
		once := "Idempotency-Key: one"
		root.call("POST", "/api/v1/users", `{"username":"Eve"}`, once).wants(201).into(&eve)
		id := eve.ID
		if root.call("POST", "/api/v1/users", `{"username":"Eve"}`, once).wants(201).into(&eve); eve.ID != id {
			t.Error("the repeat made another one")
		}
		if code := root.call("POST", "/api/v1/users", `{"username":"eve"}`).wants(409).problem(); code != "username_taken" {
			t.Errorf("the code is %s", code)
		}
		if eve.Reset == nil || !strings.HasPrefix(eve.Reset.URL, w.url+"/reset?token=") {
			t.Fatalf("the link is %+v", eve.Reset)
		}
		w.imports(id, "eve's fox")
		key := w.program(w.key(id, records.ScopeImagesWrite))
		key.get("/api/v1/images").wants(200).has("fox")
		browser := w.browserOf(id)
		browser.get("/api/v1/sessions").wants(200).has(`"current":true`)

		// Disabled: neither a key that is remembered nor a session works.
		root.call("PATCH", "/api/v1/users/"+id, `{"disabled":true}`).wants(200).hasNot(`"disabled_at":null`)
		key.get("/api/v1/images").wants(401)
		browser.get("/api/v1/sessions").wants(401)
		root.call("PATCH", "/api/v1/users/"+id, `{"disabled":false,"quota_images_per_day":2}`).wants(200).has(`"quota_images_per_day":2`)
		key.get("/api/v1/me").wants(200).has(`"username":"eve"`, `"images_per_day":2`, `"images_today":1`)

		ann := w.person("ann")
		root.send("DELETE", "/api/v1/users/"+id, nil).wants(422)
		root.send("DELETE", "/api/v1/users/"+id+"?images=hand_over&to="+ann, nil).wants(204)
		root.get("/api/v1/users/" + id).wants(404)
		w.program(w.key(ann, records.ScopeImagesRead)).get("/api/v1/history").wants(200).has("eve's fox")
	})
}

func TestThereIsAlwaysAnAdministrator(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.admin("root")
		root := w.browserOf(id)
		for _, patch := range []string{`{"role":"member"}`, `{"disabled":true}`} {
			if code := root.call("PATCH", "/api/v1/users/"+id, patch).wants(409).problem(); code != "last_admin" {
				t.Errorf("%s: the code is %s", patch, code)
			}
		}
		root.send("DELETE", "/api/v1/users/"+id+"?images=delete", nil).wants(409)
		root.call("PATCH", "/api/v1/users/"+id, `{"role":"king"}`).wants(422)
		root.call("PATCH", "/api/v1/users/"+records.NewID(), `{"role":"admin"}`).wants(404)
	})
}

func TestAQuotaAnswersWhenThereIsRoomAgain(t *testing.T) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		c.Quota = records.Quota{ImagesPerDay: 3}
		w := newWorld(t, c, nil)
		ann := w.person("ann")
		p := w.program(w.key(ann, records.ScopeImagesWrite))
		ask := func(n string) answer { return p.call("POST", "/api/v1/generations", `{"prompt":"a fox","n":`+n+`}`) }
		ask("2").wants(202)
		a := ask("2").wants(429)
		after, err := time.ParseDuration(a.Header.Get("Retry-After") + "s")
		if a.problem() != "quota_used_up" || err != nil || after <= 0 || after > 24*time.Hour {
			t.Errorf("%s, Retry-After %q", a.body, a.Header.Get("Retry-After"))
		}
		ask("1").wants(202) // what was refused did not count
		ask("1").wants(429)
		w.Exec(t, `UPDATE change_heads SET made_on = '2020-01-01'`)
		ask("3").wants(202)
		if err := w.ChangeUser(t.Context(), ann, records.UserChange{QuotaImages: new(int64(0)), QuotaBytes: new(int64(1000))}); err != nil {
			t.Fatal(err)
		}
		ask("3").wants(202)
		w.Exec(t, `UPDATE images SET bytes = 400`)
		a = ask("1").wants(429)
		if a.problem() != "quota_used_up" || a.Header.Get("Retry-After") != "" {
			t.Errorf("%s, Retry-After %q", a.body, a.Header.Get("Retry-After"))
		}
		p.call("POST", "/api/v1/images/import", `{"items":[{"url":"https://a.example/a.png"}]}`).wants(429)
	})
}

func TestAPersonManagesKeysAndSessions(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		b, other := w.browserOf(ann), w.browserOf(ann)
		var made struct{ ID, Secret string }
		body := `{"name":"ci","scopes":["images:read","images:read"],"expires_at":"2999-01-01T00:00:00Z"}`
		b.call("POST", "/api/v1/keys", body, "Idempotency-Key: k").wants(201).into(&made)
		p := w.program(made.Secret)
		p.get("/api/v1/images").wants(200)
		again := b.call("POST", "/api/v1/keys", body, "Idempotency-Key: k").wants(201).has(made.ID)
		again.hasNot(`"secret"`, made.Secret)
		b.get("/api/v1/keys").wants(200).has(`"prefix":"afi_`, `"scopes":["images:read"]`).hasNot(made.Secret)
		for body, field := range map[string]string{`{"name":"","scopes":["images:read"]}`: "name", `{"name":"x","scopes":[]}`: "scopes",
			`{"name":"x","scopes":["images:read"],"expires_at":"2000-01-01T00:00:00Z"}`: "expires_at"} {
			b.call("POST", "/api/v1/keys", body).wants(422).has(`"field":"` + field + `"`)
		}
		b.send("DELETE", "/api/v1/keys/"+made.ID, nil).wants(204)
		p.get("/api/v1/images").wants(401) // at once, though it is remembered

		var sessions struct {
			Items []struct {
				ID      string
				Current bool
			}
		}
		b.get("/api/v1/sessions").wants(200).into(&sessions)
		for _, s := range sessions.Items {
			if !s.Current {
				b.send("DELETE", "/api/v1/sessions/"+s.ID, nil).wants(204)
			}
		}
		other.get("/api/v1/sessions").wants(401)
		b.get("/api/v1/sessions").wants(200)
	})
}

func TestAPasswordIsChangedByTheAPI(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		u, err := w.CreateUser(t.Context(), "ann", "correct horse", records.Member)
		if err != nil {
			t.Fatal(err)
		}
		b, other := w.browserOf(u.ID), w.browserOf(u.ID)
		b.call("POST", "/api/v1/me/password", `{"current_password":"wrong","new_password":"battery staple"}`).wants(422).has(`"field":"current_password"`)
		b.call("POST", "/api/v1/me/password", `{"current_password":"correct horse","new_password":"x"}`).wants(422)
		b.call("POST", "/api/v1/me/password", `{"current_password":"correct horse","new_password":"battery staple"}`).wants(204)
		b.get("/api/v1/me").wants(200)
		other.get("/api/v1/me").wants(401)
		if _, err := w.Authenticate(t.Context(), "ann", "battery staple"); err != nil {
			t.Error(err)
		}
	})
}

// A picture behind AFTERIMAGE_IMAGE_ACCESS=login is nobody's but its owner's.
func TestImagesCanBeForTheirOwnerOnly(t *testing.T) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		w := newWorld(t, c, func(c *http.Config) { c.PrivateImages = true })
		ann, bob := w.person("ann"), w.person("bob")
		_, images := w.asks(ann, "a fox", 1)
		w.state(images[0].ID, records.ArchiveFailed, "source_expired")
		path := "/img/" + images[0].ID
		for who, v := range map[string]*visitor{"nobody": w.browser(), "bob": w.browserOf(bob), "bob's key": w.program(w.key(bob, records.ScopeImagesRead))} {
			if a := v.get(path); a.StatusCode != nethttp.StatusNotFound && a.StatusCode != nethttp.StatusUnauthorized {
				t.Errorf("%s gets %d", who, a.StatusCode)
			}
		}
		for who, v := range map[string]*visitor{"ann": w.browserOf(ann), "ann's key": w.program(w.key(ann, records.ScopeImagesRead))} {
			if a := v.get(path); a.StatusCode != nethttp.StatusGone {
				t.Errorf("%s gets %d", who, a.StatusCode)
			}
		}
	})
}
