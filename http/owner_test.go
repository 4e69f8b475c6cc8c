package http_test

import (
	"regexp"
	"testing"

	"afterimage/records"
)

func TestNobodySeesSomebodyElsesThings(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann, bob := w.admin("ann"), w.admin("bob") // not even administrators do
		_, images := w.asks(ann, "the secret lighthouse", 1)
		if err := w.MarkImage(t.Context(), ann, w.imports(ann, "a secret in the trash").ID, records.Marks{Trashed: new(true)}); err != nil {
			t.Fatal(err)
		}
		key := w.key(ann, records.ScopeImagesRead)
		b, p := w.browserOf(bob), w.program(w.key(bob, records.ScopeImagesWrite))
		id := images[0].ID
		for _, path := range []string{"/", "/?q=secret", "/trash", "/create", "/settings", "/api/v1/images", "/api/v1/images?q=secret&trashed=true", "/api/v1/history"} {
			b.get(path).wants(200).hasNot("secret in", "secret light", id, key[:8])
		}
		b.get("/create?from=" + id).wants(404)
		b.get("/live?image=" + id).wants(404)
		w.imports(ann, "one more, so that there is a second page")
		place, since := cursorOf(w.program(key), "/api/v1/images"), cursorOf(w.program(key), "/api/v1/history")
		for _, path := range []string{"/api/v1/images?cursor=" + place, "/api/v1/images?cursor=" + since,
			"/api/v1/history?since=" + since, "/api/v1/history?since=" + place, "/live?since=" + since} {
			if code := p.get(path).wants(400).problem(); code != "bad_cursor" {
				t.Errorf("somebody else's cursor is %s", code)
			}
		}
	})
}

var cursorField = regexp.MustCompile(`"(?:next_)?cursor":"([^"]*)"`)

// cursorOf is where the next page of a list begins.
func cursorOf(v *visitor, path string) string {
	v.w.t.Helper()
	m := cursorField.FindStringSubmatch(v.get(path + "?limit=1").body)
	if m == nil {
		v.w.t.Fatalf("%s has no cursor", path)
	}
	return m[1]
}

// What an image was fetched from, with its signature, is nobody's business:
// not its owner's, not even an operator's.
func TestSourceAddressesAreNeverShown(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.admin("ann")
		i := w.imports(ann, "a fox")
		w.works(w.archiving()...)
		b := w.browserOf(ann)
		seen := b.waitUntil(i.ID, "retry_wait") // there is no such host
		for _, path := range []string{"/", "/create", "/i/" + i.ID, "/api/v1/images", "/api/v1/images/" + i.ID,
			"/api/v1/images/" + i.ID + "/events", "/api/v1/history", "/api/v1/archive"} {
			b.get(path).wants(200).hasNot(sourceSecret)
		}
		if seen.Archive.Secured {
			t.Error("it is secured")
		}
		b.get("/i/"+i.ID).wants(200).has("Technical details", "source.example") // the host helps an operator
	})
}
