package http_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"afterimage/records"
)

type bulkJSON struct {
	Done       int
	Skipped    []struct{ ID, Code string }
	NextCursor *string `json:"next_cursor"`
}

func TestManyImagesAreChangedAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann, bob := w.person("ann"), w.person("bob")
		p := w.program(w.key(ann, records.ScopeImagesWrite))
		var items []records.ImportItem
		for n := range 1100 {
			items = append(items, records.ImportItem{URL: "https://a.example/", Prompt: fmt.Sprint("fox ", n%2)})
		}
		_, images, err := w.CreateImport(t.Context(), ann, items, records.Idempotency{})
		if err != nil {
			t.Fatal(err)
		}
		theirs := w.imports(bob, "a fox").ID
		bulk := func(query, body string) (b bulkJSON) {
			t.Helper()
			p.call("POST", "/api/v1/images/bulk"+query, body).wants(200).into(&b)
			return b
		}
		ids := fmt.Sprintf(`["%s","%s","%s"]`, images[0].ID, images[1].ID, theirs)
		b := bulk("", `{"action":"favorite","ids":`+ids+`}`)
		if b.Done != 2 || len(b.Skipped) != 1 || b.Skipped[0].ID != theirs || b.Skipped[0].Code != "not_found" {
			t.Errorf("favorite: %+v", b)
		}
		if b := bulk("", `{"action":"retry","ids":["`+images[0].ID+`"]}`); b.Done != 0 || b.Skipped[0].Code != "not_possible" {
			t.Errorf("retry: %+v", b)
		}
		if b := bulk("?favorite=true", `{"action":"unfavorite"}`); b.Done != 2 {
			t.Errorf("unfavorite: %+v", b)
		}
		first := bulk("?q=fox", `{"action":"trash"}`)
		if first.Done != 1000 || first.NextCursor == nil {
			t.Fatalf("the first thousand: %+v", first)
		}
		if rest := bulk("?q=fox&cursor="+*first.NextCursor, `{"action":"trash"}`); rest.Done != 100 || rest.NextCursor != nil {
			t.Errorf("the rest: %+v", rest)
		}
		if b := bulk("?trashed=true&q=1", `{"action":"delete"}`); b.Done != 550 {
			t.Errorf("delete: %d", b.Done)
		}
		var counts struct {
			Total  int
			Counts map[string]int
		}
		p.get("/api/v1/images/counts?trashed=true").wants(200).into(&counts)
		if counts.Total != 550 || counts.Counts["generated"] != 550 || len(counts.Counts) != len(records.Statuses) {
			t.Errorf("it counts %+v", counts)
		}
		if i := w.image(bob, theirs); i.Favorite || !i.TrashedAt.IsZero() {
			t.Error("somebody else's image was changed")
		}

		for _, c := range []struct{ query, body, field string }{
			{"", `{"action":"delete"}`, "ids"},
			{"?limit=5", `{"action":"delete"}`, "ids"},
			{"?q=fox", `{"action":"delete","ids":` + ids + `}`, "ids"},
			{"", `{"action":"burn","ids":` + ids + `}`, "action"},
			{"", `{"action":"trash","ids":["x"]}`, "ids"},
			{"", `{"action":"trash","ids":["` + strings.Join(slices.Repeat([]string{theirs}, 10_000), `","`) + `"]}`, "ids"},
		} {
			var problem struct{ Field string }
			if p.call("POST", "/api/v1/images/bulk"+c.query, c.body).wants(422).into(&problem); problem.Field != c.field {
				t.Errorf("%s %.60s blames %q", c.query, c.body, problem.Field)
			}
		}
	})
}

func TestAListLinksToItsNextPage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		p := w.program(w.key(ann, records.ScopeImagesRead))
		w.asks(ann, "灯塔 fox", 3)
		a := p.get("/api/v1/images?limit=2&q=%E7%81%AF%E5%A1%94").wants(200)
		link, ok := strings.CutSuffix(a.Header.Get("Link"), `>; rel="next"`)
		if !ok {
			t.Fatalf("Link is %q", a.Header.Get("Link"))
		}
		tag := a.Header.Get("ETag")
		p.get("/api/v1/images?limit=2&q=%E7%81%AF%E5%A1%94", "If-None-Match: "+tag).wants(304)
		var page struct{ Items []kept }
		next := p.get(strings.TrimPrefix(link, "<"+w.url)).wants(200)
		if next.into(&page); len(page.Items) != 1 || next.Header.Get("Link") != "" {
			t.Errorf("the next page has %+v and links to %q", page, next.Header.Get("Link"))
		}
	})
}
