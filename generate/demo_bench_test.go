package generate

import (
	"io"
	"slices"
	"testing"
)

// BenchmarkDemo draws each scene at 1024x1024 and packs it as PNG: the whole
// work of one image, on one core.
func BenchmarkDemo(b *testing.B) {
	for _, name := range slices.Sorted(slices.Values(sceneOrder)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			seed := int64(0)
			for b.Loop() {
				s := newSketch(b.Context(), "benchmark", seed, 1024, 1024)
				if err := scenes[name](s); err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, newPNGReader(s, "benchmark", seed)); err != nil {
					b.Fatal(err)
				}
				seed++
			}
		})
	}
}
