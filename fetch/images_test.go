package fetch

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
)

// The pictures of the tests are made here. Those without an encoder in the standard library have a
// right structure around data that nobody decodes.

func drawn(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetNRGBA(x, y, color.NRGBA{uint8(x * 7), uint8(y * 13), uint8(x * y), 255})
		}
	}
	return m
}

func encoded(encode func(*bytes.Buffer) error) []byte {
	var b bytes.Buffer
	if err := encode(&b); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func pngFile(w, h int) []byte {
	return encoded(func(b *bytes.Buffer) error { return png.Encode(b, drawn(w, h)) })
}

func jpegFile(w, h int) []byte {
	return encoded(func(b *bytes.Buffer) error { return jpeg.Encode(b, drawn(w, h), nil) })
}

func grayJPEG(w, h int) []byte {
	return encoded(func(b *bytes.Buffer) error { return jpeg.Encode(b, image.NewGray(image.Rect(0, 0, w, h)), nil) })
}

func gifFile(frames int) []byte {
	g := &gif.GIF{}
	for range frames {
		g.Image = append(g.Image, image.NewPaletted(image.Rect(0, 0, 8, 6), color.Palette{color.Black, color.White}))
		g.Delay = append(g.Delay, 10)
	}
	return encoded(func(b *bytes.Buffer) error { return gif.EncodeAll(b, g) })
}

// ---- PNG ----

func pngChunk(kind string, data ...byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	b = append(append(b, kind...), data...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

func u32s(v ...uint32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.BigEndian.AppendUint32(b, x)
	}
	return b
}

func pngHeader(w, h uint32) []byte {
	return append([]byte("\x89PNG\r\n\x1a\n"), pngChunk("IHDR", append(u32s(w, h), 8, 6, 0, 0, 0)...)...)
}

func deflated(b []byte) []byte {
	return encoded(func(out *bytes.Buffer) error {
		z := zlib.NewWriter(out)
		z.Write(b)
		return z.Close()
	})
}

// pngWith puts chunks behind IHDR.
func pngWith(chunks ...[]byte) []byte {
	p := pngFile(8, 6)
	return slices.Concat(p[:33], slices.Concat(chunks...), p[33:])
}

func apngFile(frames int) []byte {
	data := deflated(make([]byte, (8*4+1)*6))
	out := pngHeader(8, 6)
	out = append(out, pngChunk("acTL", u32s(uint32(frames), 0)...)...)
	seq := uint32(0)
	for i := range frames {
		control := append(u32s(seq, 8, 6, 0, 0), 0, 1, 0, 10, 0, 0)
		out = append(out, pngChunk("fcTL", control...)...)
		seq++
		if i == 0 {
			out = append(out, pngChunk("IDAT", data...)...)
			continue
		}
		out = append(out, pngChunk("fdAT", append(u32s(seq), data...)...)...)
		seq++
	}
	return append(out, pngChunk("IEND")...)
}

// ---- JPEG ----

// jpegWith puts a segment behind SOI.
func jpegWith(marker byte, data []byte) []byte {
	j := jpegFile(16, 8)
	seg := append([]byte{0xff, marker, byte((len(data) + 2) >> 8), byte(len(data) + 2)}, data...)
	return slices.Concat(j[:2], seg, j[2:])
}

func exifOf(orientation byte) []byte {
	return []byte("Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" + string(orientation) + "\x00\x00\x00\x00\x00\x00")
}

// progressive claims that a JPEG is one.
func progressive(b []byte) []byte { return bytes.Replace(b, []byte{0xff, 0xc0}, []byte{0xff, 0xc2}, 1) }

// ---- WebP ----

func riffChunk(kind string, data []byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(kind), uint32(len(data)))
	b = append(b, data...)
	return append(b, make([]byte, len(b)&1)...)
}

func webpFile(chunks ...[]byte) []byte {
	body := slices.Concat(append([][]byte{[]byte("WEBP")}, chunks...)...)
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

func vp8(w, h uint16) []byte {
	b := []byte{0x50, 0, 0, 0x9d, 0x01, 0x2a}
	b = binary.LittleEndian.AppendUint16(b, w)
	return riffChunk("VP8 ", append(binary.LittleEndian.AppendUint16(b, h), 1, 2, 3, 4))
}

func vp8l(w, h uint32) []byte {
	return riffChunk("VP8L", append(binary.LittleEndian.AppendUint32([]byte{0x2f}, (w-1)|(h-1)<<14), 9, 9))
}

func le24of(v int) []byte { return []byte{byte(v), byte(v >> 8), byte(v >> 16)} }

func vp8x(flags byte, w, h int) []byte {
	return riffChunk("VP8X", slices.Concat([]byte{flags, 0, 0, 0}, le24of(w-1), le24of(h-1)))
}

func anmf(x, y, w, h int, data []byte) []byte {
	return riffChunk("ANMF", slices.Concat(le24of(x/2), le24of(y/2), le24of(w-1), le24of(h-1), []byte{9, 0, 0, 0}, data))
}

// ---- AVIF and HEIC ----

func mediaBox(kind string, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return slices.Concat(u32s(uint32(len(body)+8)), []byte(kind), body)
}

type heif struct {
	major, item   string
	w, h          uint32
	turn          byte   // quarters
	profile       int    // bytes
	data, claimed int    // bytes of the item: in the file, and as iloc says
	moov          []byte // in addition
}

func (x heif) file() []byte {
	ftyp := mediaBox("ftyp", []byte(x.major), u32s(0), []byte("mif1"))
	meta := func(offset uint32) []byte {
		return mediaBox("meta", u32s(0),
			mediaBox("hdlr", u32s(0, 0), []byte("pict"), make([]byte, 13)),
			mediaBox("pitm", u32s(0), []byte{0, 1}),
			mediaBox("iinf", u32s(0), []byte{0, 1}, mediaBox("infe", u32s(2<<24), []byte{0, 1, 0, 0}, []byte(x.item), []byte{0})),
			mediaBox("iloc", u32s(0), []byte{0x44, 0, 0, 1, 0, 1, 0, 0, 0, 1}, u32s(offset, uint32(x.claimed))),
			mediaBox("iprp",
				mediaBox("ipco",
					mediaBox("ispe", u32s(0, x.w, x.h)),
					mediaBox("irot", []byte{x.turn}),
					mediaBox("colr", []byte("prof"), make([]byte, x.profile))),
				mediaBox("ipma", u32s(0, 1), []byte{0, 1, 3, 1, 2, 3})))
	}
	offset := uint32(len(ftyp) + len(meta(0)) + 8)
	return slices.Concat(ftyp, meta(offset), mediaBox("mdat", make([]byte, x.data)), x.moov)
}

func avifFile() []byte {
	return heif{major: "avif", item: "av01", w: 64, h: 48, data: 99, claimed: 99}.file()
}

// avisMoov says that a sequence has so many frames.
func avisMoov(frames uint32) []byte { return moovOf("pict", frames) }

// moovOf describes one track, as of pictures ("pict") or of a film ("vide").
func moovOf(handler string, frames uint32) []byte {
	tkhd := mediaBox("tkhd", make([]byte, 76), u32s(64<<16, 48<<16))
	return mediaBox("moov", mediaBox("trak", tkhd, mediaBox("mdia",
		mediaBox("hdlr", u32s(0, 0), []byte(handler), make([]byte, 13)),
		mediaBox("minf", mediaBox("stbl", mediaBox("stsz", u32s(0, 0, frames)))))))
}

// ---- BMP ----

func bmpFile(w, h int32) []byte {
	row := (w*24 + 31) / 32 * 4
	b := append([]byte("BM"), make([]byte, 52)...)
	binary.LittleEndian.PutUint32(b[10:], 54)
	binary.LittleEndian.PutUint32(b[14:], 40)
	binary.LittleEndian.PutUint32(b[18:], uint32(w))
	binary.LittleEndian.PutUint32(b[22:], uint32(h))
	b[26], b[28] = 1, 24
	return append(b, make([]byte, row*max(h, -h))...)
}

// ---- what is no image ----

var notImages = map[string][]byte{
	"an SVG":             []byte("<?xml version='1.0'?>\n<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"),
	"an HTML page":       []byte("\ufeff <!DOCTYPE html><title>Just a moment...</title>"),
	"an XML document":    []byte("<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>"),
	"JSON":               []byte(`{"detail":"not found"}` + strings.Repeat(" ", 10)),
	"text":               []byte("BMW is a maker of cars, and this is a text"),
	"a PDF":              []byte("%PDF-1.7\n%\xe2\xe3\xcf\xd3 and so on"),
	"a ZIP archive":      append([]byte("PK\x03\x04"), make([]byte, 40)...),
	"a gzip file":        append([]byte("\x1f\x8b\x08"), make([]byte, 40)...),
	"a TIFF":             append([]byte("II*\x00\x08\x00\x00\x00"), make([]byte, 40)...),
	"an icon":            append([]byte("\x00\x00\x01\x00\x01\x00"), make([]byte, 40)...),
	"a JPEG XL":          append([]byte("\xff\x0a"), make([]byte, 40)...),
	"a video":            mediaBox("ftyp", []byte("isom"), u32s(512), []byte("isommp42")),
	"a video or sound":   append([]byte("RIFF\x24\x00\x00\x00AVI LIST"), make([]byte, 40)...),
	"no known image for": bytes.Repeat([]byte{0, 1, 2, 0xfe}, 16),
}
