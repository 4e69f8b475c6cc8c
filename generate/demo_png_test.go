package generate

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"testing"
	"testing/iotest"
)

// pngChunks reads the chunks of a PNG and checks their sums.
func pngChunks(t *testing.T, data []byte) (kinds []string, bodies [][]byte) {
	t.Helper()
	if !bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")) {
		t.Fatal("no PNG signature")
	}
	for data = data[8:]; len(data) > 0; {
		n := binary.BigEndian.Uint32(data)
		body := data[4 : 8+n]
		if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(data[8+n:]) {
			t.Errorf("chunk %s: wrong checksum", body[:4])
		}
		kinds, bodies = append(kinds, string(body[:4])), append(bodies, body[4:])
		data = data[12+n:]
	}
	return kinds, bodies
}

func TestPNGCarriesThePrompt(t *testing.T) {
	prompt := "灯塔 — a lighthouse,\nlong exposure\x00\xff"
	files, _ := draw(t, Request{Prompt: prompt, Width: 40, Height: 30, Seed: -5, HasSeed: true})
	kinds, bodies := pngChunks(t, files[0])
	want := map[string]bool{
		"tEXtSoftware\x00Afterimage demo": true,
		"tEXtSeed\x00-5":                  true,
		"iTXtDescription\x00\x00\x00\x00\x00灯塔 — a lighthouse,\nlong exposure\uFFFD": true,
	}
	for i, kind := range kinds {
		delete(want, kind+string(bodies[i]))
	}
	for missing := range want {
		t.Errorf("no chunk %q", missing)
	}
	if first, last := kinds[0], kinds[len(kinds)-1]; first != "IHDR" || last != "IEND" {
		t.Errorf("starts with %s, ends with %s", first, last)
	}
}

func TestPNGReaderKeepsTheContract(t *testing.T) {
	s := newSketch(t.Context(), "marble", 1, 300, 400)
	if err := drawMarble(s); err != nil {
		t.Fatal(err)
	}
	want, err := io.ReadAll(newPNGReader(s, "marble", 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := iotest.TestReader(newPNGReader(s, "marble", 1), want); err != nil {
		t.Error(err)
	}
}
