package http_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"testing"
)

// kept is what these tests read of an image's JSON.
type kept struct {
	ID, Status, URL, SHA256 string
	Archive                 struct{ Secured bool }
}

// waitUntil asks, as a program would, until an image has a status.
func (v *visitor) waitUntil(id, status string) kept {
	v.w.t.Helper()
	var i kept
	tag := "none"
	for {
		a := v.get("/api/v1/images/"+id+"?wait=25s", "If-None-Match: "+tag)
		if a.StatusCode == 304 {
			v.w.t.Fatalf("image %s did not change in 25 s; it is %s", id, i.Status)
		}
		a.wants(200).into(&i)
		if tag = a.Header.Get("ETag"); i.Status == status {
			return i
		}
	}
}

// newest is the id of the image made last.
func (v *visitor) newest() string {
	v.w.t.Helper()
	var list struct{ Items []kept }
	v.get("/api/v1/images?limit=1").wants(200).into(&list)
	if len(list.Items) != 1 {
		v.w.t.Fatal("there is no image")
	}
	return list.Items[0].ID
}

func TestFromSetupToAnArchivedImageWithFormsAlone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.works(append(w.generating(), w.archiving()...)...)
		token, err := w.NewSetupToken(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b := w.browser()
		b.get("/").leadsTo("/setup")
		b.get("/setup").wants(403).has("setup-link")

		form := b.get("/setup?token="+token).wants(200).fill("/setup", "username", "Ann", "password", "correct horse")
		b.sendForm("/setup", form).leadsTo("/create")
		b.get("/setup?token=" + token).leadsTo("/") // used: there is an administrator

		create := b.get("/create").wants(200).hasNot("data-accepted")
		form = create.fill("/create", "prompt", "A lighthouse in fog", "size", "512x512", "seed", "42")
		b.sendForm("/create", form).leadsTo("/create")
		b.get("/create").wants(200).has("data-accepted", "A lighthouse in fog", "Recent prompts")
		b.get("/create").wants(200).hasNot("data-accepted") // said once

		id := b.newest()
		image := b.waitUntil(id, "archived")
		page := b.get("/i/"+id).wants(200).has("Archived", image.SHA256, "/img/"+id+"?download=1", "seed 42", "Demo")
		picture := b.get("/img/" + id).wants(200)
		if sum := sha256.Sum256([]byte(picture.body)); hex.EncodeToString(sum[:]) != image.SHA256 {
			t.Error("the bytes are not those of the record")
		}
		b.get("/").wants(200).has("tile-"+id, "/thumb/"+id)

		b.sendForm("/create", page.fill("/create")).leadsTo("/create") // Recreate
		again := b.waitUntil(b.newest(), "archived")
		if again.ID == id || again.SHA256 != image.SHA256 {
			t.Errorf("recreating with the same seed made %s, want the bytes of %s again", again.SHA256, image.SHA256)
		}
		b.trashRestoreDelete(id)
	})
}

// trashRestoreDelete goes the way out, by the forms of the pages.
func (b *visitor) trashRestoreDelete(id string) {
	b.w.t.Helper()
	page := "/i/" + id
	b.sendForm(page+"/favorite", b.get(page).fill(page+"/favorite")).leadsTo(page)
	if !b.w.image(b.user(), id).Favorite {
		b.w.t.Error("it is no favorite")
	}
	b.sendForm(page+"/trash", b.get(page).fill(page+"/trash")).leadsTo(page)
	b.get(page).wants(200).has("Moved to trash.", "Restore")
	b.get("/").wants(200).hasNot("tile-" + id)
	trash := b.get("/trash").wants(200).has("tile-"+id, "1 image")
	b.sendForm(page+"/restore", trash.fill(page+"/restore")).leadsTo(page)
	b.get("/").wants(200).has("tile-" + id)
	b.sendForm(page+"/trash", url.Values{})
	b.sendForm(page+"/delete", b.get(page).fill(page+"/delete")).leadsTo("/trash")
	b.get("/trash").wants(200).has("Deleted forever.").hasNot("tile-" + id)
	b.get(page).wants(404)
	b.get("/img/" + id).wants(404)
}

// user is who is signed in.
func (v *visitor) user() string {
	v.w.t.Helper()
	var id string
	v.w.Get(v.w.t, &id, `SELECT user_id FROM sessions ORDER BY created_at DESC LIMIT 1`)
	return id
}

func TestAnswersGoBackToThePageOfTheForm(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.browserOf(w.person("ann"))
		image := w.imports(b.user(), "a fox")
		path := "/i/" + image.ID + "/trash"
		for _, c := range []struct{ name, referer, want string }{
			{"the gallery with its filters", w.url + "/?status=failed&q=fox", "/?status=failed&q=fox"},
			{"no referer", "", "/i/" + image.ID},
			{"another site", "https://evil.example/x", "/i/" + image.ID},
			{"another site below our name", w.url + ".evil.example/x", "/i/" + image.ID},
			{"two slashes", w.url + "//evil.example/", "/"},
		} {
			w.run(c.name, func(t *testing.T) {
				b.send("POST", path, nil, "Referer: "+c.referer).leadsTo(c.want)
			})
		}
	})
}
