package http_test

import (
	"regexp"
	"strings"
	"testing"

	"afterimage/records"
)

var newKey = regexp.MustCompile(`id="new-key" readonly value="([^"]*)"`)

func TestAKeyIsShownOnceAndCanBeRevoked(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		b := w.browserOf(ann)
		form := b.get("/settings").wants(200).has("No keys yet.").fill("/settings/keys", "name", "cron <box>", "expires", "30d")
		form["scopes"] = []string{"images:read", "images:write"}
		a := b.sendForm("/settings/keys", form).wants(200).has("cron &lt;box&gt;", w.url+"/api/v1/images?limit=5")
		m := newKey.FindStringSubmatch(a.body)
		if m == nil {
			t.Fatal("the key is not shown")
		}
		w.program(m[1]).get("/api/v1/images").wants(200)
		b.get("/settings").wants(200).has("cron &lt;box&gt;", "images:write").hasNot(m[1])
		if strings.Contains(w.log.String(), m[1]) {
			t.Error("the key is in the log")
		}
		keys, err := w.Keys(t.Context(), ann)
		if err != nil || len(keys) != 1 || keys[0].ExpiresAt.Sub(keys[0].CreatedAt.Time).Hours() != 720 {
			t.Fatalf("the keys are %+v (%v)", keys, err)
		}
		revoke := "/settings/keys/" + keys[0].ID + "/revoke"
		b.sendForm(revoke, b.get("/settings").fill(revoke)).leadsTo("/settings")
		b.get("/settings").has("The key is revoked.", "No keys yet.")
		w.program(m[1]).get("/api/v1/images").wants(401)
		b.submit(revoke).wants(404)
	})
}

func TestABadKeyFormSaysWhy(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.browserOf(w.person("ann"))
		b.submit("/settings/keys", "name", " ", "scopes", "images:read").wants(422).has("Give the key a name.")
		b.submit("/settings/keys", "name", strings.Repeat("x", 61), "scopes", "images:read").wants(422).has("longer than 60")
		b.submit("/settings/keys", "name", "ci").wants(422).has("Choose at least one scope.", `value="ci"`)
		b.submit("/settings/keys", "name", "ci", "scopes", "everything").wants(422)
		b.submit("/settings/keys", "name", "ci", "scopes", "images:read", "expires", "never ever").wants(400)
		if keys, err := w.Keys(t.Context(), b.user()); err != nil || len(keys) != 0 {
			t.Errorf("there are keys: %v (%v)", keys, err)
		}
	})
}

func TestChangingThePassword(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		u := w.withPassword("ann")
		b, other := w.browserOf(u.ID), w.browserOf(u.ID)
		change := func(current, next string) answer {
			return b.submit("/settings/password", "current_password", current, "new_password", next)
		}
		change("wrong", "battery staple").wants(422).has("The current password is wrong.")
		change("correct horse", "short").wants(422).has("at least 8")
		change("correct horse", "").wants(422).has("Enter a password.")
		change("correct horse", "battery staple").leadsTo("/settings")
		b.get("/settings").wants(200).has("The password is changed.")
		other.get("/settings").wants(303) // was signed out
		if _, err := w.Authenticate(t.Context(), "ann", "battery staple"); err != nil {
			t.Error(err)
		}
		for range 5 {
			change("wrong", "battery staple").wants(422)
		}
		change("battery staple", "correct horse").wants(429).has("Too many tries.")
	})
}

func TestDeletingWhatIsStillBeingMade(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		_, images := w.asks(ann, "a fox", 1)
		w.browserOf(ann).submit("/i/" + images[0].ID + "/delete").wants(409)
		if i := w.image(ann, images[0].ID); i.Status != records.Queued {
			t.Errorf("it is %s", i.Status)
		}
	})
}
