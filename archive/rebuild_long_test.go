package archive_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"afterimage/archive"
	"afterimage/records"
	"afterimage/records/recordstest"
	"afterimage/storage"
)

// A rebuild of 100,000 images takes no more memory than one of 1,000.
func TestRebuildTakesLittleMemory(t *testing.T) {
	if os.Getenv("TEST_LONG") == "" {
		t.Skip("100,000 images take minutes: make test-long")
	}
	const images = 100_000
	dir := t.TempDir()
	store, err := storage.NewDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range images {
		writeImage(t, dir, records.NewID())
	}
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		db := recordstest.Open(t, c)
		runtime.GC()
		var before, now runtime.MemStats
		runtime.ReadMemStats(&before)
		most, began := uint64(0), time.Now()
		found, err := archive.Rebuild(t.Context(), db, store, func(archive.Rebuilt) {
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
		})
		if err != nil || found.Images != images {
			t.Fatalf("restored %+v, %v", found, err)
		}
		took := time.Since(began)
		t.Logf("%d images in %v, %.0f a second, %d MiB over idle", images, took.Round(time.Second), images/took.Seconds(), (most-before.HeapAlloc)>>20)
		if most-before.HeapAlloc > 100<<20 {
			t.Errorf("it took %d MiB", (most-before.HeapAlloc)>>20)
		}
	})
}

// writeImage puts an image and its sidecar where a store on disk keeps them,
// without the cost of having them synced.
func writeImage(t *testing.T, dir, id string) {
	t.Helper()
	at := records.At(records.IDTime(id))
	key := at.Format("2006/01/02/") + id
	s := archive.Sidecar{Version: 1, ID: id, Owner: "ada", Prompt: strings.Repeat("a lighthouse in fog, ", 20), Provider: "demo", Model: "demo",
		Object: "images/" + key + ".png", MIME: "image/png", Bytes: 3, Width: 1, Height: 1, SHA256: strings.Repeat("0a", 32), Thumb: records.ThumbNone,
		Attempt: 1, CreatedAt: at, ArchivedAt: at}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"images/" + key + ".png": []byte("png"), "meta/" + key + "-abc.json": text} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
