package records_test

import (
	"fmt"
	"testing"

	"afterimage/records"
)

func TestPromptsAreFoundByPartsOfWords(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada, bob := w.person("ada"), w.person("bob")
		var items []records.ImportItem
		for _, p := range []string{"A Lighthouse in fog", "海边的灯塔，夜", "灯 and 塔 apart", "Ελληνικός φάρος", "ＦＵＬＬ width", "x1 y2",
			"abcd then bcde", "naïve café", "ภาพประภาคาร", "a\nb\tc", ""} {
			items = append(items, records.ImportItem{URL: "https://a.example/", Prompt: p})
		}
		w.importItems(ada, items...)
		w.importItems(bob, records.ImportItem{URL: "https://a.example/", Prompt: "bob's lighthouse"})
		// Far older than what is looked through one by one.
		w.Exec(t, `UPDATE images SET created_at = '2020-01-01T00:00:00.000000Z' WHERE user_id = ?`, ada)
		for range 3 {
			w.imports(ada, 700)
		}
		for _, c := range []struct {
			q    string
			want int
		}{
			{"lighthouse", 1}, {"LIGHT", 1}, {"ghtho", 1}, {"ho", 1}, {"e", 2103}, {"fog lighthouse", 1}, {"fog tower", 0},
			{"灯塔", 1}, {"塔", 2}, {"灯塔，夜", 1}, {"塔灯", 0}, {"海边 夜", 1},
			{"ΦΆΡΟΣ", 0}, {"φάρο", 1}, {"full", 1}, {"ｗｉｄｔｈ", 1}, {"x1", 1}, {"1 y2", 1},
			{"abcde", 0}, {"CAFÉ", 1}, {"ïv", 1}, {"ประภา", 1}, {"a b c", 2}, {"%", 0}, {"image 699", 3}, {"fog ! ", 0}, {" \n", 2100 + 11},
		} {
			t.Run(fmt.Sprintf("%q", c.q), func(t *testing.T) {
				if got := w.list(ada, records.ImageFilter{Search: c.q, Limit: 5000}); len(got) != c.want {
					t.Errorf("found %d, want %d", len(got), c.want)
				}
				counts, err := w.CountImages(t.Context(), ada, records.ImageFilter{Search: c.q})
				if err != nil || counts[records.Generated] != c.want {
					t.Errorf("counted %v, %v, want %d", counts, err, c.want)
				}
			})
		}
	})
}

func TestADeletedImageIsNotFoundAnyMore(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		i := w.importItems(ada, records.ImportItem{URL: "https://a.example/", Prompt: "a lighthouse"})[0]
		if err := w.DeleteImage(t.Context(), ada, i.ID); err != nil {
			t.Fatal(err)
		}
		if n := w.count(`SELECT count(*) FROM image_words`); n != 0 {
			t.Errorf("%d prompts are still indexed", n)
		}
		if !w.Postgres() {
			if n := w.count(`SELECT count(*) FROM image_grams WHERE image_grams MATCH 'lig'`); n != 0 {
				t.Errorf("%d grams are still indexed", n)
			}
		}
	})
}
