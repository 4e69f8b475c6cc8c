package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A file that a setting names may be a device that never ends, or a pipe that
// nobody writes: the start must say so and not wait.
func TestSettingFilesAreSmallAndRegular(t *testing.T) {
	dir := t.TempDir()
	good, large := filepath.Join(dir, "good"), filepath.Join(dir, "large")
	if err := os.WriteFile(good, []byte("value"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(large, make([]byte, maxSettingFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := readSettingFile(good); err != nil || string(text) != "value" {
		t.Errorf("read %q: %v", text, err)
	}
	for _, name := range []string{large, dir, os.DevNull, filepath.Join(dir, "none")} {
		if text, err := readSettingFile(name); err == nil {
			t.Errorf("%s gave %d bytes", name, len(text))
		}
	}
}
