package archive_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"afterimage/archive"
	"afterimage/records"
)

// What is wrong is named: a stray object, a missing one, one of another size,
// and a row that somebody set to archived by hand.
func TestConservationNamesWhatIsWrong(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(options{archive: archive.Config{Thumbnails: true}})
		ids := w.kept(4)
		byHand := w.handWritten(records.Generated, "", "")
		w.Exec(t, `UPDATE images SET status = 'archived' WHERE id = ?`, byHand)
		if err := os.Remove(w.object(ids[0])); err != nil {
			t.Fatal(err)
		}
		w.overwrites(w.object(ids[1]), []byte("another size"))
		stray := "images/2026/03/01/stray.png"
		w.puts(stray)
		w.pass(2 * time.Hour)
		found, err := w.archiver.Conserve(t.Context(), 0, 1, true, 20)
		if err != nil {
			t.Fatal(err)
		}
		var named []string
		for _, d := range found.Found {
			named = append(named, d.String())
		}
		for _, want := range []string{"object missing of image " + ids[0], "object of another size of image " + ids[1],
			"object without a row " + stray, "archived without an object " + byHand} {
			if !slices.Contains(named, want) {
				t.Errorf("not named: %s\nbut: %s", want, strings.Join(named, "\n     "))
			}
		}
		share, err := w.archiver.Conserve(t.Context(), 0, 1, false, 20)
		if err != nil || share.Total < 3 {
			t.Errorf("the daily share found %d, %v: %v", share.Total, err, share.Found)
		}
	})
}
