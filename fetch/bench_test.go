package fetch

import (
	"bytes"
	"io"
	"net/http"
	"testing"
)

// A fetch of 200 KB through the client, against the same GET with none of its checks.
func BenchmarkGet(b *testing.B) {
	image := append(pngFile(8, 6), make([]byte, 200<<10)...)
	s := server(b, func(w http.ResponseWriter, r *http.Request) { w.Write(image) })
	c := client(b, Config{}, s)
	b.Run("guarded", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Get(b.Context(), Source{URL: s.URL + "/a.png?sig=x"}, io.Discard); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			resp, err := http.Get(s.URL + "/a.png?sig=x")
			if err != nil {
				b.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
}

func BenchmarkIdentify(b *testing.B) {
	for name, file := range map[string][]byte{"png": pngFile(600, 600), "jpeg": jpegFile(1024, 1024), "gif": gifFile(100)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				if _, err := Identify(bytes.NewReader(file), int64(len(file)), Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
