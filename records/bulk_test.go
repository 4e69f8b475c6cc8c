package records_test

import (
	"fmt"
	"testing"

	"afterimage/records"
	"afterimage/records/recordstest"
)

// A list that is imported again, or twice at once, adds each of its images only
// once for a person; another person has images of the same sources.
func TestAddToImportAddsNothingTwice(t *testing.T) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		db := recordstest.Open(t, c)
		var users []string
		for _, name := range []string{"ada", "eve"} {
			u, err := db.CreateUser(t.Context(), name, "correct horse", records.Member)
			if err != nil {
				t.Fatal(err)
			}
			users = append(users, u.ID)
		}
		add := func(user string, keys ...string) []int {
			t.Helper()
			id, err := db.BeginImport(t.Context(), user)
			if err != nil {
				t.Fatal(err)
			}
			items := make([]records.ImportItem, len(keys))
			for n, key := range keys {
				items[n] = records.ImportItem{URL: "https://a.example/" + key, Key: key}
			}
			images, of, err := db.AddToImport(t.Context(), user, id, 0, items)
			if err != nil || len(images) != len(of) {
				t.Fatalf("%d images of %v: %v", len(images), of, err)
			}
			state, err := db.ImportState(t.Context(), user, id)
			if err != nil || state[records.Generated] != len(images) {
				t.Fatalf("the import has %v: %v", state, err)
			}
			return of
		}
		for _, step := range []struct {
			user string
			keys []string
			want []int
		}{
			{users[0], []string{"a", "b", "a"}, []int{0, 1}},
			{users[0], []string{"a", "b", "c"}, []int{2}},
			{users[0], []string{"a", "b", "c"}, nil},
			{users[0], []string{"", ""}, []int{0, 1}},
			{users[1], []string{"a", "c"}, []int{0, 1}},
		} {
			if got := add(step.user, step.keys...); fmt.Sprint(got) != fmt.Sprint(step.want) {
				t.Errorf("of %q were added %v, want %v", step.keys, got, step.want)
			}
		}
		done := make(chan int, 4)
		for range cap(done) {
			go func() { done <- len(add(users[1], "x", "y", "z")) }()
		}
		total := 0
		for range cap(done) {
			total += <-done
		}
		if total != 3 {
			t.Errorf("four at once added %d images, want 3", total)
		}
	})
}
