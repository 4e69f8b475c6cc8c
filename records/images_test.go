package records_test

import (
	"slices"
	"testing"
	"time"

	"afterimage/records"
)

func (w *world) list(user string, f records.ImageFilter) []records.Image {
	w.t.Helper()
	list, err := w.Images(w.t.Context(), user, f)
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

func ids(images []records.Image) []string {
	list := make([]string, len(images))
	for n, i := range images {
		list[n] = i.ID
	}
	return list
}

// Many images have the same moment, so the id has to decide.
func TestImagesPagesAreStableWhileImagesArrive(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		for range 5 {
			w.imports(ada, 7)
		}
		all := ids(w.list(ada, records.ImageFilter{Limit: 100}))
		if len(all) != 35 {
			t.Fatalf("%d images", len(all))
		}
		var read []string
		var f records.ImageFilter
		for f.Limit = 4; ; {
			page := w.list(ada, f)
			if len(page) == 0 {
				break
			}
			read = append(read, ids(page)...)
			f.Before = page[len(page)-1].Place()
			w.imports(ada, 3)
		}
		if !slices.Equal(read, all) {
			t.Errorf("the pages had %d images, want the %d of the beginning", len(read), len(all))
		}
	})
}

func TestImagesFilters(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, ada := t.Context(), w.person("ada")
		prompts := []string{"100% wool", "100 wool", "snake_case", "snakecase", "wow!", "Lighthouse", "灯塔 at night", `back\slash`}
		var items []records.ImportItem
		for _, p := range prompts {
			items = append(items, records.ImportItem{URL: "https://a.example/", Prompt: p, Provider: "openai"})
		}
		images := w.importItems(ada, items...)
		g, made := w.asks(ada, 2)
		yes := true
		if err := w.MarkImage(ctx, ada, made[0].ID, records.Marks{Favorite: &yes}); err != nil {
			t.Fatal(err)
		}
		if err := w.MarkImage(ctx, ada, images[3].ID, records.Marks{Trashed: &yes}); err != nil {
			t.Fatal(err)
		}
		at := images[0].CreatedAt
		for name, c := range map[string]struct {
			filter records.ImageFilter
			want   int
		}{
			"everything but the trash":                     {records.ImageFilter{}, 9},
			"the trash":                                    {records.ImageFilter{Trashed: true}, 1},
			"favorites":                                    {records.ImageFilter{Favorite: true}, 1},
			"a provider":                                   {records.ImageFilter{Provider: "openai"}, 7},
			"a generation":                                 {records.ImageFilter{GenerationID: g.ID}, 2},
			"one status":                                   {records.ImageFilter{Statuses: []records.Status{records.Queued}}, 2},
			"two statuses":                                 {records.ImageFilter{Statuses: []records.Status{records.Queued, records.Generated}}, 9},
			"a status that none has":                       {records.ImageFilter{Statuses: []records.Status{records.Archived}}, 0},
			"from a moment on":                             {records.ImageFilter{From: at}, 9},
			"before a moment":                              {records.ImageFilter{To: at}, 0},
			"from and to":                                  {records.ImageFilter{From: at, To: at.Add(time.Microsecond)}, 7},
			"a search in another case":                     {records.ImageFilter{Search: "lightHOUSE"}, 3},
			"a percent sign is a percent sign":             {records.ImageFilter{Search: "100% "}, 1},
			"an underscore is an underscore":               {records.ImageFilter{Search: "snake_"}, 1},
			"the escape character means itself":            {records.ImageFilter{Search: "w!"}, 1},
			"a backslash means itself":                     {records.ImageFilter{Search: `k\s`}, 1},
			"two characters of Chinese":                    {records.ImageFilter{Search: "灯塔"}, 1},
			"what PostgreSQL cannot keep is found nowhere": {records.ImageFilter{Search: "wow\xff"}, 0},
			"a quote is text":                              {records.ImageFilter{Search: "' OR 1=1 --"}, 0},
		} {
			t.Run(name, func(t *testing.T) {
				c.filter.Limit = 100
				if got := w.list(ada, c.filter); len(got) != c.want {
					t.Errorf("found %d, want %d", len(got), c.want)
				}
				counts, err := w.CountImages(ctx, ada, c.filter)
				n := 0
				for _, m := range counts {
					n += m
				}
				if err != nil || n != c.want {
					t.Errorf("counted %v, %v, want %d", counts, err, c.want)
				}
			})
		}
	})
}

func TestNeighbours(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, ada := t.Context(), w.person("ada")
		w.imports(ada, 3)
		w.imports(ada, 2)
		w.imports(w.person("bob"), 2)
		list := w.list(ada, records.ImageFilter{Limit: 10})
		yes := true
		if err := w.MarkImage(ctx, ada, list[2].ID, records.Marks{Trashed: &yes}); err != nil {
			t.Fatal(err)
		}
		list = slices.Delete(list, 2, 3)
		for n := range list {
			newer, older, err := w.Neighbours(ctx, &list[n])
			if err != nil {
				t.Fatal(err)
			}
			if n > 0 && newer != list[n-1].ID || n == 0 && newer != "" {
				t.Errorf("before place %d is %q", n, newer)
			}
			if n < len(list)-1 && older != list[n+1].ID || n == len(list)-1 && older != "" {
				t.Errorf("after place %d is %q", n, older)
			}
		}
	})
}
