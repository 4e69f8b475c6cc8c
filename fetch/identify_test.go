package fetch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestIdentify(t *testing.T) {
	half := func(b []byte) []byte { return b[:len(b)/2] }
	patch := func(b []byte, at int, with ...byte) []byte {
		b = slices.Clone(b)
		copy(b[at:], with)
		return b
	}
	gifCut := func(frames int) []byte { g := gifFile(frames); return g[:len(g)-1] }
	junk := []byte("<script>alert(1)</script>")
	const passing, final = false, true

	tests := []struct {
		name string
		file []byte
		want Image // for images
		// or else
		reason string
		final  bool
	}{
		{name: "a PNG", file: pngFile(8, 6), want: Image{MIME: "image/png", Ext: ".png", Width: 8, Height: 6}},
		{name: "an APNG counts its frames", file: apngFile(3), want: Image{MIME: "image/png", Ext: ".png", Width: 8, Height: 6, Frames: 3}},
		{name: "a PNG with a page behind its end is the PNG", file: append(pngFile(8, 6), junk...), want: Image{MIME: "image/png", Ext: ".png", Width: 8, Height: 6}},
		{name: "a PNG with a wrong checksum in a text is shown everywhere", file: pngWith(patch(pngChunk("tEXt", []byte("a\x00b")...), 8, 'x')), want: Image{MIME: "image/png", Ext: ".png", Width: 8, Height: 6}},
		{name: "a PNG with a small profile and text", file: pngWith(pngChunk("iCCP", append([]byte("p\x00\x00"), deflated(make([]byte, 999))...)...), pngChunk("iTXt", append([]byte("k\x00\x01\x00en\x00k\x00"), deflated(make([]byte, 999))...)...)), want: Image{MIME: "image/png", Ext: ".png", Width: 8, Height: 6}},
		{name: "half a PNG may be whole next time", file: half(pngFile(8, 6)), reason: Corrupt, final: passing},
		{name: "a PNG without its last chunk", file: pngFile(8, 6)[:len(pngFile(8, 6))-12], reason: Corrupt, final: passing},
		{name: "a PNG with a flipped bit", file: patch(pngFile(8, 6), 45, 0xaa, 0x55), reason: Corrupt, final: final},
		{name: "a PNG without data", file: append(pngHeader(8, 6), pngChunk("IEND")...), reason: Corrupt, final: final},
		{name: "a PNG that begins with another chunk", file: append(pngFile(8, 6)[:8:8], pngChunk("IEND")...), reason: Corrupt, final: final},
		{name: "a PNG without width", file: pngHeader(0, 6), reason: Corrupt, final: final},
		{name: "a PNG that claims 50,000 pixels a side", file: pngHeader(50000, 50000), reason: TooLarge, final: final},
		{name: "a PNG that claims 400 million pixels", file: pngHeader(20000, 20000), reason: TooLarge, final: final},
		{name: "a PNG whose profile inflates to 8 MiB", file: pngWith(pngChunk("iCCP", append([]byte("p\x00\x00"), deflated(make([]byte, 8<<20))...)...)), reason: TooLarge, final: final},
		{name: "a PNG whose text inflates to 2 MiB", file: pngWith(pngChunk("zTXt", append([]byte("k\x00\x00"), deflated(make([]byte, 2<<20))...)...)), reason: TooLarge, final: final},
		{name: "a PNG whose texts together inflate to 1.2 MiB", file: pngWith(bytes.Repeat(pngChunk("iTXt", append([]byte("k\x00\x01\x00\x00\x00"), deflated(make([]byte, 600<<10))...)...), 2)), reason: TooLarge, final: final},
		{name: "an APNG of 1,001 frames", file: apngFile(1001), reason: TooLarge, final: final},

		{name: "a PNG that is turned is shown upright", file: pngWith(pngChunk("eXIf", exifOf(6)[6:]...)), want: Image{MIME: "image/png", Ext: ".png", Width: 6, Height: 8, Orientation: 6}},
		{name: "a JPEG", file: jpegFile(16, 8), want: Image{MIME: "image/jpeg", Ext: ".jpg", Width: 16, Height: 8}},
		{name: "a JPEG that is turned is shown upright", file: jpegWith(0xe1, exifOf(6)), want: Image{MIME: "image/jpeg", Ext: ".jpg", Width: 8, Height: 16, Orientation: 6}},
		{name: "a JPEG without end marker that has all its blocks", file: jpegFile(130, 70)[:len(jpegFile(130, 70))-2], want: Image{MIME: "image/jpeg", Ext: ".jpg", Width: 130, Height: 70}},
		{name: "a grey JPEG without end marker that has all its blocks", file: grayJPEG(33, 9)[:len(grayJPEG(33, 9))-2], want: Image{MIME: "image/jpeg", Ext: ".jpg", Width: 33, Height: 9}},
		{name: "a JPEG with half an end marker", file: jpegFile(130, 70)[:len(jpegFile(130, 70))-1], want: Image{MIME: "image/jpeg", Ext: ".jpg", Width: 130, Height: 70}},
		{name: "a JPEG that lacks its last blocks", file: jpegFile(130, 70)[:len(jpegFile(130, 70))-12], reason: Corrupt, final: passing},
		{name: "half a JPEG", file: half(jpegFile(130, 70)), reason: Corrupt, final: passing},
		{name: "a progressive JPEG without end marker may lack scans", file: progressive(jpegFile(16, 8)[:len(jpegFile(16, 8))-2]), reason: Corrupt, final: passing},
		{name: "a JPEG with a film behind its end is the JPEG", file: append(jpegFile(16, 8), mediaBox("ftyp", []byte("isom"))...), want: Image{MIME: "image/jpeg", Ext: ".jpg", Width: 16, Height: 8}},
		{name: "a JPEG of nothing but an end", file: append([]byte("\xff\xd8\xff\xfe\x00\x04ab\xff\xd9"), 0, 0, 0), reason: Corrupt, final: final},
		{name: "a JPEG with 5 MiB of profile", file: slices.Concat([]byte("\xff\xd8"), bytes.Repeat(jpegWith(0xe2, append([]byte("ICC_PROFILE\x00"), make([]byte, 65000)...))[2:65018], 81), jpegFile(16, 8)[2:]), reason: TooLarge, final: final},

		{name: "a GIF", file: gifFile(1), want: Image{MIME: "image/gif", Ext: ".gif", Width: 8, Height: 6}},
		{name: "an animated GIF", file: gifFile(3), want: Image{MIME: "image/gif", Ext: ".gif", Width: 8, Height: 6, Frames: 3}},
		{name: "a GIF with an archive behind its end is the GIF", file: append(gifFile(1), notImages["a ZIP archive"]...), want: Image{MIME: "image/gif", Ext: ".gif", Width: 8, Height: 6}},
		{name: "a still GIF without trailer is whole", file: gifCut(1), want: Image{MIME: "image/gif", Ext: ".gif", Width: 8, Height: 6}},
		{name: "an animated GIF without trailer may lack frames", file: gifCut(2), reason: Corrupt, final: passing},
		{name: "half a GIF", file: half(gifFile(1)), reason: Corrupt, final: passing},
		{name: "a GIF of 1,001 frames", file: gifFile(1001), reason: TooLarge, final: final},
		{name: "a GIF with an unknown block", file: patch(gifFile(1), len(gifFile(1))-1, 0x55), reason: Corrupt, final: final},
		{name: "a GIF without frames", file: append(gifFile(1)[:10:10], 0, 0, 0, 0x3b), reason: Corrupt, final: final},

		{name: "a lossy WebP", file: webpFile(vp8(64, 48)), want: Image{MIME: "image/webp", Ext: ".webp", Width: 64, Height: 48}},
		{name: "a lossless WebP", file: webpFile(vp8l(64, 48)), want: Image{MIME: "image/webp", Ext: ".webp", Width: 64, Height: 48}},
		{name: "an extended WebP", file: webpFile(vp8x(0, 64, 48), riffChunk("ICCP", make([]byte, 9)), vp8(64, 48)), want: Image{MIME: "image/webp", Ext: ".webp", Width: 64, Height: 48}},
		{name: "an animated WebP", file: webpFile(vp8x(2, 64, 48), riffChunk("ANIM", make([]byte, 6)), anmf(0, 0, 64, 48, vp8(64, 48)), anmf(2, 2, 8, 8, vp8l(8, 8))), want: Image{MIME: "image/webp", Ext: ".webp", Width: 64, Height: 48, Frames: 2}},
		{name: "half a WebP", file: half(webpFile(vp8(64, 48))), reason: Corrupt, final: passing},
		{name: "a WebP without its last byte", file: webpFile(vp8(64, 48))[:33], reason: Corrupt, final: passing},
		{name: "a WebP whose picture is not its canvas", file: webpFile(vp8x(0, 64, 48), vp8(64, 47)), reason: Corrupt, final: final},
		{name: "a WebP with a frame outside", file: webpFile(vp8x(2, 64, 48), anmf(2, 0, 64, 48, vp8(64, 48))), reason: Corrupt, final: final},
		{name: "a WebP without a picture", file: webpFile(riffChunk("EXIF", make([]byte, 20))), reason: Corrupt, final: final},
		{name: "a WebP that claims 16,384 pixels a side", file: webpFile(vp8l(16384, 16384)), reason: TooLarge, final: final},
		{name: "a WebP with 5 MiB of profile", file: webpFile(vp8x(0, 64, 48), riffChunk("ICCP", make([]byte, 5<<20)), vp8(64, 48)), reason: TooLarge, final: final},

		{name: "an AVIF", file: avifFile(), want: Image{MIME: "image/avif", Ext: ".avif", Width: 64, Height: 48}},
		{name: "an AVIF that is turned", file: heif{major: "avif", item: "av01", w: 64, h: 48, turn: 1, data: 9, claimed: 9}.file(), want: Image{MIME: "image/avif", Ext: ".avif", Width: 48, Height: 64}},
		{name: "an AVIF sequence", file: heif{major: "avis", item: "av01", w: 64, h: 48, data: 9, claimed: 9, moov: avisMoov(5)}.file(), want: Image{MIME: "image/avif", Ext: ".avif", Width: 64, Height: 48, Frames: 5}},
		{name: "a HEIC", file: heif{major: "heic", item: "hvc1", w: 64, h: 48, data: 9, claimed: 9}.file(), want: Image{MIME: "image/heic", Ext: ".heic", Width: 64, Height: 48}},
		{name: "half an AVIF", file: half(avifFile()), reason: Corrupt, final: passing},
		{name: "an AVIF without its last byte", file: avifFile()[:len(avifFile())-1], reason: Corrupt, final: passing},
		{name: "an AVIF whose item is longer than the file", file: heif{major: "avif", item: "av01", w: 64, h: 48, data: 9, claimed: 99}.file(), reason: Corrupt, final: passing},
		{name: "an AVIF that claims 60,000 pixels", file: heif{major: "avif", item: "av01", w: 60000, h: 48}.file(), reason: TooLarge, final: final},
		{name: "an AVIF sequence of 5,000 frames", file: heif{major: "avis", item: "av01", w: 8, h: 8, moov: avisMoov(5000)}.file(), reason: TooLarge, final: final},
		{name: "an AVIF with 5 MiB of profile", file: heif{major: "avif", item: "av01", w: 64, h: 48, profile: 5 << 20}.file(), reason: TooLarge, final: final},
		{name: "an image box around another codec", file: heif{major: "mif1", item: "jpeg", w: 64, h: 48}.file(), reason: NotImage, final: final},

		{name: "a film with the brand of an AVIF", file: slices.Concat(mediaBox("ftyp", []byte("avif"), u32s(0), []byte("iso2")), mediaBox("mdat", make([]byte, 99)), moovOf("vide", 5)), reason: NotImage, final: final},
		{name: "a media file with the brand of an AVIF and nothing to see", file: slices.Concat(mediaBox("ftyp", []byte("mif1"), u32s(0)), mediaBox("mdat", make([]byte, 99))), reason: NotImage, final: final},
		{name: "a sequence without a still picture", file: slices.Concat(mediaBox("ftyp", []byte("avis"), u32s(0)), mediaBox("mdat", make([]byte, 99)), moovOf("pict", 5)), want: Image{MIME: "image/avif", Ext: ".avif", Width: 64, Height: 48, Frames: 5}},

		{name: "a BMP", file: bmpFile(9, 5), want: Image{MIME: "image/bmp", Ext: ".bmp", Width: 9, Height: 5}},
		{name: "a BMP from the top", file: bmpFile(9, -5), want: Image{MIME: "image/bmp", Ext: ".bmp", Width: 9, Height: 5}},
		{name: "half a BMP", file: half(bmpFile(9, 5)), reason: Corrupt, final: passing},
		{name: "a BMP that claims 2 billion rows", file: patch(bmpFile(9, 5), 22, 0, 0, 0, 0x80), reason: TooLarge, final: final},
		{name: "a BMP of an unknown compression", file: patch(bmpFile(9, 5), 30, 9), reason: Corrupt, final: final},

		{name: "nothing", file: nil, reason: NotImage, final: passing},
		{name: "the first bytes of a PNG", file: pngFile(8, 6)[:6], reason: Corrupt, final: passing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Identify(bytes.NewReader(tt.file), int64(len(tt.file)), Limits{})
			wantError(t, err, tt.reason, tt.final)
			if tt.reason != "" {
				return
			}
			tt.want.Frames, tt.want.Orientation = max(tt.want.Frames, 1), max(tt.want.Orientation, 1)
			tt.want.Animated = tt.want.Frames > 1
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestIdentifyNamesWhatIsNoImage(t *testing.T) {
	for name, b := range notImages {
		_, err := Identify(bytes.NewReader(b), int64(len(b)), Limits{})
		if e := wantError(t, err, NotImage, true); !strings.HasPrefix(e.Detail, name) {
			t.Errorf("got %q, want %q", e.Detail, name)
		}
	}
}

// Every cut of every format must be found, wherever it falls: a half picture in the store is the
// second most common loss in public reports. Only a GIF or JPEG may miss its last bytes.
func TestIdentifyFindsEveryCut(t *testing.T) {
	files := map[string][]byte{
		"png": pngFile(8, 6), "apng": apngFile(3), "jpeg": jpegFile(40, 24), "gif": gifFile(2),
		"webp": webpFile(vp8x(2, 64, 48), anmf(0, 0, 64, 48, vp8(64, 48))), "avif": avifFile(), "bmp": bmpFile(9, 5),
	}
	spare := map[string]int{"jpeg": 2}
	for name, b := range files {
		for n := range len(b) - spare[name] {
			if img, err := Identify(bytes.NewReader(b[:n]), int64(n), Limits{}); err == nil {
				t.Errorf("%s: %d of %d bytes passed as %+v", name, n, len(b), img)
			}
		}
	}
}

// A walker that read beyond its window once must still see the right bytes: segments of 60 KB are
// longer than the window.
func TestIdentifyStepsOverLongSegments(t *testing.T) {
	j := jpegWith(0xe1, make([]byte, 60000))
	if _, err := Identify(bytes.NewReader(j), int64(len(j)), Limits{}); err != nil {
		t.Error(err)
	}
	j = j[:len(j)-2]
	if _, err := Identify(bytes.NewReader(j), int64(len(j)), Limits{}); err != nil {
		t.Error("without end marker:", err)
	}
}

func TestIdentifyKeepsTheReadersError(t *testing.T) {
	broken := errors.New("disk on fire")
	_, err := Identify(readerAt(func([]byte, int64) (int, error) { return 0, broken }), 100, Limits{})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, ok := errors.AsType[*Error](err); ok {
		t.Error("our own disk's failure was blamed on the source")
	}
}

type readerAt func([]byte, int64) (int, error)

func (f readerAt) ReadAt(b []byte, off int64) (int, error) { return f(b, off) }

// A file that claims much must cost little: the walkers hold one window, whatever the size.
func TestIdentifyDoesNotAllocateForTheFile(t *testing.T) {
	big := pngWith(pngChunk("IDAT", append([]byte{0x78, 0x9c}, make([]byte, 8<<20)...)...))
	var r io.ReaderAt = bytes.NewReader(big)
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Identify(r, int64(len(big)), Limits{}); err != nil {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if allocated > 16<<10 {
		t.Errorf("8 MiB took %d bytes", allocated)
	}
}

// An iloc whose numbers have no size could make billions of extents of nothing.
func TestIdentifyIsNotHeldByEmptyExtents(t *testing.T) {
	b := avifFile()
	i := bytes.Index(b, []byte("iloc"))
	binary.BigEndian.PutUint16(b[i+8:], 0)
	binary.BigEndian.PutUint16(b[i+10:], 0xffff)
	Identify(bytes.NewReader(b), int64(len(b)), Limits{})
}
