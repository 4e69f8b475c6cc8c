package thumbs_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"golang.org/x/image/bmp"

	"afterimage/fetch"
)

// The pictures of the tests are made here; there is no encoder for WebP.

var (
	red   = color.NRGBA{220, 30, 30, 255}
	green = color.NRGBA{30, 200, 30, 255}
	blue  = color.NRGBA{30, 30, 220, 255}
	white = color.NRGBA{240, 240, 240, 255}
	clear = color.NRGBA{}
)

// corners is a picture with a colour in each quarter: red and green above,
// blue and white below.
func corners(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	quarters := []color.NRGBA{red, green, blue, white}
	for y := range h {
		for x := range w {
			m.SetNRGBA(x, y, quarters[y*2/h*2+x*2/w])
		}
	}
	return m
}

func filled(w, h int, c color.Color) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.Set(x, y, c)
		}
	}
	return m
}

func pngOf(m image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func bmpOf(m image.Image) []byte {
	var b bytes.Buffer
	if err := bmp.Encode(&b, m); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// jpegOf is a JPEG with an EXIF orientation.
func jpegOf(m image.Image, orientation byte) []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 95}); err != nil {
		panic(err)
	}
	body := append([]byte("Exif\x00\x00"), exif(orientation)...)
	segment := append([]byte{0xff, 0xe1, 0, byte(len(body) + 2)}, body...)
	return append(append([]byte{0xff, 0xd8}, segment...), b.Bytes()[2:]...)
}

// exif says how a picture is to be turned, and nothing else.
func exif(orientation byte) []byte {
	return append([]byte("MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00"), orientation, 0, 0, 0, 0, 0, 0)
}

// gifOf is an animation of w by h; each frame is a red square of 4 pixels, one
// further right than the last.
func gifOf(w, h, frames int) []byte {
	g := &gif.GIF{Config: image.Config{Width: w, Height: h, ColorModel: color.Palette{clear, red}}}
	for n := range frames {
		m := image.NewPaletted(image.Rect(n*4, 0, n*4+4, 4), color.Palette{clear, red})
		for i := range m.Pix {
			m.Pix[i] = 1
		}
		g.Image, g.Delay = append(g.Image, m), append(g.Delay, 10)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, g); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// vp8l is a lossless picture of one colour: five codes of one symbol each, so
// that the pixels need no bits at all.
func vp8l(w, h int, c color.NRGBA) []byte {
	var bits uint64
	var n int
	out := []byte{0x2f}
	put := func(v uint64, size int) {
		bits |= v << n
		for n += size; n >= 8; n -= 8 {
			out, bits = append(out, byte(bits)), bits>>8
		}
	}
	put(uint64(w-1), 14)
	put(uint64(h-1), 14)
	put(1, 1) // there is transparency
	put(0, 3+3)
	for _, symbol := range []byte{c.G, c.R, c.B, c.A, 0} {
		put(0b101, 3) // simple, one symbol, of 8 bits
		put(uint64(symbol), 8)
	}
	put(0, 7+8)
	return out
}

func riff(chunks ...[]byte) []byte {
	out := append([]byte("RIFF\x00\x00\x00\x00WEBP"), bytes.Join(chunks, nil)...)
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out
}

func chunk(kind string, body ...byte) []byte {
	out := append(binary.LittleEndian.AppendUint32([]byte(kind), uint32(len(body))), body...)
	if len(body)%2 == 1 {
		out = append(out, 0)
	}
	return out
}

// webpOf is an animation of w by h whose frames have a colour each and are
// half as large, in the right lower corner.
func webpOf(w, h int, frames ...color.NRGBA) []byte {
	u24 := func(v int) []byte { return []byte{byte(v), byte(v >> 8), byte(v >> 16)} }
	canvas := append(u24(w-1), u24(h-1)...)
	chunks := [][]byte{chunk("VP8X", append([]byte{2, 0, 0, 0}, canvas...)...), chunk("ANIM", 0, 0, 0, 0, 0, 0)}
	for _, c := range frames {
		head := bytes.Join([][]byte{u24(w / 4), u24(h / 4), u24(w/2 - 1), u24(h/2 - 1), u24(100), {0}}, nil)
		chunks = append(chunks, chunk("ANMF", append(head, chunk("VP8L", vp8l(w/2, h/2, c)...)...)...))
	}
	return riff(chunks...)
}

// spoiled is a PNG whose structure is right and whose pixels are not.
func spoiled() []byte {
	file := pngOf(corners(64, 48))
	at := bytes.Index(file, []byte("IDAT"))
	size := int(binary.BigEndian.Uint32(file[at-4:]))
	for i := at + 10; i < at+4+size; i++ {
		file[i] ^= 0x55
	}
	binary.BigEndian.PutUint32(file[at+4+size:], crc32.ChecksumIEEE(file[at:at+4+size]))
	return file
}

// identify says what a file of the tests is.
func identify(t testing.TB, file []byte) fetch.Image {
	t.Helper()
	what, err := fetch.Identify(bytes.NewReader(file), int64(len(file)), fetch.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return what
}
