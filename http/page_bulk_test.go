package http_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// Everything a wall can do to many images works with its forms alone.
func TestTheFormOfAWall(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		b := w.browserOf(ann)
		var ids []string
		for n := range 3 {
			ids = append(ids, w.imports(ann, fmt.Sprint("fox ", n)).ID)
		}
		bob := w.person("bob")
		theirs := w.imports(bob, "a wolf").ID
		send := func(pairs ...string) answer {
			t.Helper()
			form := url.Values{}
			for n := 0; n+1 < len(pairs); n += 2 {
				form.Add(pairs[n], pairs[n+1])
			}
			return b.sendForm("/bulk", form)
		}
		b.get("/?select=1").wants(200).has(`name="id" value="`+ids[0]+`"`, `form="bulk"`)
		send("action", "trash", "id", ids[0], "id", theirs).leadsTo("/")
		a := b.get("/").has("Moved 1 to trash.", "Undo")
		b.sendForm("/bulk", a.fill("/bulk", "action", "restore")).leadsTo("/trash")
		b.get("/").has("Restored 1.", "tile-"+ids[0])
		if i := w.image(ann, ids[0]); !i.TrashedAt.IsZero() {
			t.Error("Undo did not bring it back")
		}

		send("action", "favorite", "id", ids[1]).leadsTo("/")
		b.get("/?favorite=1").has("tile-"+ids[1]).hasNot("tile-"+ids[0], "tile-"+ids[2])
		send("action", "trash", "all", "1", "q", "fox", "favorite", "1").leadsTo("/")
		b.get("/trash").has("tile-"+ids[1], "Empty trash").hasNot("tile-" + ids[0])
		send("action", "burn", "id", ids[0]).wants(400)
		send("action", "trash", "id", "nonsense").wants(400)
		send("action", "trash").leadsTo("/")
		b.get("/").has("Select some images first.")

		ask := send("action", "delete", "id", ids[1]).wants(200).has("Delete 1 image forever?")
		b.sendForm("/bulk", ask.fill("/bulk")).leadsTo("/trash")
		if _, err := w.Image(t.Context(), ann, ids[1]); err == nil {
			t.Error("it is still there")
		}
		send("action", "trash", "all", "1").leadsTo("/")
		b.sendForm("/trash/empty", url.Values{"count": {"7"}}).leadsTo("/trash")
		b.get("/trash").has("type 2", "tile-"+ids[0])
		b.sendForm("/trash/empty", url.Values{"count": {"2"}}).leadsTo("/trash")
		b.get("/trash").has("Deleted 2 forever.", "Trash is empty.")
		if i := w.image(bob, theirs); !i.TrashedAt.IsZero() {
			t.Error("somebody else's image was changed")
		}
	})
}

func TestTheGalleryIsNarrowed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		b := w.browserOf(ann)
		i := w.imports(ann, "a fox")
		_, asked := w.asks(ann, "a hen", 1)
		day := i.CreatedAt.Format("2006-01-02")
		for query, want := range map[string][2]bool{
			"?provider=openai": {false, false}, "?provider=demo": {true, true}, "?from=" + day + "&to=" + day: {true, true},
			"?to=2020-01-01": {false, false}, "?favorite=1": {false, false},
		} {
			a := b.get("/" + query).wants(200)
			for n, id := range []string{i.ID, asked[0].ID} {
				if got := strings.Contains(a.body, "tile-"+id); got != want[n] {
					t.Errorf("%s: image %d shown: %t", query, n, got)
				}
			}
		}
		b.get("/?from=yesterday").wants(400)
		b.get("/wall/squares?to=/trash").leadsTo("/trash")
		b.get("/wall/circles").wants(404)
	})
}

func TestLinksAreRescued(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		b := w.browserOf(ann)
		form := b.get("/import").wants(200).fill("/import", "urls", "https://a.example/1.png\r\nno-link  https://a.example/2.png", "prompt", "a fox")
		a := b.sendForm("/import", form).wants(303)
		page := a.Header.Get("Location")
		b.get(page).wants(200).has("0 of 3 kept.", "1 failed.", "/live?since=", `<progress value="1" max="3"`)
		if again := b.sendForm("/import", form).wants(303).Header.Get("Location"); again != page {
			t.Errorf("sent twice it is another import: %s, %s", page, again)
		}
		b.sendForm("/import", url.Values{"urls": {" \r\n "}}).wants(422).has("Paste at least one link.")
		b.sendForm("/import", url.Values{"urls": {strings.Repeat("https://a.example/1.png\n", 1001)}}).wants(422).has("more than 1,000 links")
		w.browserOf(w.person("bob")).get(page).wants(404)
	})
}

func TestARequestIsCalledOff(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		b := w.browserOf(ann)
		_, images := w.asks(ann, "a fox", 2)
		path := "/i/" + images[0].ID
		b.sendForm(path+"/cancel", b.get(path).wants(200).fill(path+"/cancel")).leadsTo(path)
		b.get(path).has("Cancelled.").hasNot(path + "/cancel")
		b.sendForm("/i/"+w.imports(ann, "a wolf").ID+"/cancel", nil).wants(303)
		b.get("/").has("can&#39;t be cancelled")
	})
}
