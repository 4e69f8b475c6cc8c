package web

import (
	"io"
	"testing"
	"time"
)

// The program is to show its first page within 100 ms of its start; New is a part of that.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := New(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGalleryOfSixty(b *testing.B) {
	s, err := New()
	if err != nil {
		b.Fatal(err)
	}
	view := GalleryView{Layout: Layout{User: "admin"}, Tiles: sixtyTiles(), Counts: Counts{All: 60}, Now: time.Now()}
	for b.Loop() {
		if err := s.Render(io.Discard, "en", "gallery", view); err != nil {
			b.Fatal(err)
		}
	}
}
