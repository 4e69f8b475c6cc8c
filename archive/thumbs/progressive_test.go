package thumbs_test

import (
	"image/color"
	"testing"
)

// bits writes what Huffman coders write.
type bits struct {
	out []byte
	v   uint64
	n   int
}

func (b *bits) put(v, n int) {
	b.v, b.n = b.v<<n|uint64(v), b.n+n
	for b.n >= 8 {
		c := byte(b.v >> (b.n - 8))
		b.out, b.n = append(b.out, c), b.n-8
		if c == 0xff {
			b.out = append(b.out, 0)
		}
	}
}

func (b *bits) end() []byte {
	if b.n > 0 {
		b.put(1<<(8-b.n)-1, 8-b.n)
	}
	return b.out
}

// progressive is a gray JPEG of 16 by 8 in three passes: the coarse brightness
// of its dark left and light right half, that there are no details, and the
// last bit of the brightness.
func progressive() []byte {
	file := []byte{0xff, 0xd8, 0xff, 0xdb, 0, 67, 0}
	for range 64 {
		file = append(file, 8) // so that a step of brightness is one of a DC value
	}
	file = append(file, 0xff, 0xc2, 0, 11, 8, 0, 8, 0, 16, 1, 1, 0x11, 0)
	// Symbols 0, 6, 7 of DC and "16 to 31 blocks are done" of AC, in two bits.
	file = append(file, 0xff, 0xc4, 0, 22, 0x00, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 7)
	file = append(file, 0xff, 0xc4, 0, 20, 0x10, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10)
	scan := func(from, to, high, low byte, pixels bits) {
		file = append(file, 0xff, 0xda, 0, 8, 1, 1, 0x00, from, to, high<<4|low)
		file = append(file, pixels.end()...)
	}
	var coarse, none, fine bits
	coarse.put(0b01, 2) // 6 bits: -50, which is dark
	coarse.put(63-50, 6)
	coarse.put(0b10, 2) // 7 bits: 100 more
	coarse.put(100, 7)
	none.put(0b00, 2)
	none.put(0, 1) // two blocks
	fine.put(0b11, 2)
	scan(0, 0, 0, 1, coarse)
	scan(1, 63, 0, 0, none)
	scan(0, 0, 1, 0, fine)
	return append(file, 0xff, 0xd9)
}

func TestAProgressiveJPEGIsDrawn(t *testing.T) {
	format, small := made(t, progressive())
	if format != "jpg" || len(small) != 1 {
		t.Fatalf("it is %d of %s", len(small), format)
	}
	wantAt(t, small[0], .1, .5, color.Gray{128 - 99})
	wantAt(t, small[0], .9, .5, color.Gray{128 + 101})
}
