package fetch

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// format is what the first bytes of a file say it is.
type format struct {
	name string                     // for people: "a PDF"
	walk func(*file) (Image, error) // nil: not kept
}

var (
	pngSignature = []byte("\x89PNG\r\n\x1a\n")

	formatPNG  = format{"a PNG", walkPNG}
	formatJPEG = format{"a JPEG", walkJPEG}
	formatGIF  = format{"a GIF", walkGIF}
	formatWebP = format{"a WebP", walkWebP}
	formatHEIF = format{"an AVIF or HEIC", walkHEIF}
	formatBMP  = format{"a BMP", walkBMP}
)

// refused are signatures of what is never kept, so that a refusal can say what came.
var refused = []struct{ magic, name string }{
	{"%PDF", "a PDF"},
	{"PK\x03\x04", "a ZIP archive"},
	{"\x1f\x8b", "a gzip file"},
	{"Rar!", "a RAR archive"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive"},
	{"II*\x00", "a TIFF, which is not kept"},
	{"MM\x00*", "a TIFF, which is not kept"},
	{"II+\x00", "a TIFF, which is not kept"},
	{"MM\x00+", "a TIFF, which is not kept"},
	{"\x00\x00\x01\x00", "an icon, which is not kept"},
	{"\x00\x00\x02\x00", "a cursor, which is not kept"},
	{"\xff\x0a", "a JPEG XL, which is not kept"},
	{"\x00\x00\x00\x0cJXL ", "a JPEG XL, which is not kept"},
	{"8BPS", "a Photoshop file"},
	{"\x1a\x45\xdf\xa3", "a video"},
	{"OggS", "a video or sound"},
	{"RIFF", "a video or sound"},
	{"ID3", "a sound"},
}

// sniff says what b, the start of a file, begins.
func sniff(b []byte) format {
	switch {
	case bytes.HasPrefix(b, pngSignature):
		return formatPNG
	case bytes.HasPrefix(b, []byte("\xff\xd8\xff")):
		return formatJPEG
	case bytes.HasPrefix(b, []byte("GIF87a")), bytes.HasPrefix(b, []byte("GIF89a")):
		return formatGIF
	case len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP":
		return formatWebP
	case len(b) >= 16 && string(b[4:8]) == "ftyp":
		if isHEIF(b) {
			return formatHEIF
		}
		return format{name: "a video"}
	case isBMP(b):
		return formatBMP
	}
	for _, r := range refused {
		if bytes.HasPrefix(b, []byte(r.magic)) {
			return format{name: r.name}
		}
	}
	return format{name: sniffText(b)}
}

func sniffText(b []byte) string {
	s := strings.ToLower(string(b[:min(len(b), sniffLen)]))
	s = strings.TrimSpace(strings.TrimPrefix(s, "\ufeff"))
	switch {
	case strings.Contains(s, "<svg"):
		return "an SVG, which can hold scripts"
	case strings.HasPrefix(s, "<!doctype html"), strings.Contains(s, "<html"), strings.Contains(s, "<head"), strings.Contains(s, "<script"):
		return "an HTML page"
	case strings.HasPrefix(s, "<"):
		return "an XML document"
	case strings.HasPrefix(s, "{"), strings.HasPrefix(s, "["):
		return "JSON"
	case isText(wholeRunes(b)):
		return "text"
	}
	return "no known image format"
}

// judgeStart refuses by its first bytes what is no image that we keep.
func judgeStart(b []byte, secrets []string) error {
	f := sniff(b)
	if f.walk != nil {
		return nil
	}
	if len(b) < 12 && !isText(b) {
		return passing(Corrupt, fmt.Sprintf("only %d bytes", len(b)))
	}
	detail := f.name
	if text := describe(b, secrets); text != "" {
		detail += ": " + text
	}
	return final(NotImage, detail)
}

// isHEIF tells images from videos, which begin with the same box.
func isHEIF(b []byte) bool {
	end := max(8, min(len(b), int(be32(b)), 256)) // the box, as far as it is here
	brands := b[8:end]
	for i := 0; i+4 <= len(brands); i += 4 {
		if i != 4 && slices.Contains(heifBrands, string(brands[i:i+4])) { // 4: the minor version
			return true
		}
	}
	return false
}

var heifBrands = []string{"avif", "avis", "heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"}

// isBMP looks beyond the two letters, with which many a text begins.
func isBMP(b []byte) bool {
	return len(b) >= 18 && b[0] == 'B' && b[1] == 'M' && be32(b[6:]) == 0 &&
		slices.Contains([]uint32{12, 40, 52, 56, 64, 108, 124}, le32(b[14:]))
}
