package generate

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
)

// pngReader is a PNG file made while it is read, so that a large picture is
// never held a second time. image/png can write no text chunks.
type pngReader struct {
	sketch *sketch
	out    bytes.Buffer
	packed bytes.Buffer
	zip    *zlib.Writer
	y      int
	last   bool
}

// idatSize is how many packed bytes make a chunk.
const idatSize = 64 << 10

func newPNGReader(s *sketch, prompt string, seed int64) *pngReader {
	r := &pngReader{sketch: s}
	r.zip, _ = zlib.NewWriterLevel(&r.packed, zlib.BestSpeed) // the level exists

	r.out.WriteString("\x89PNG\r\n\x1a\n")
	header := binary.BigEndian.AppendUint32(nil, uint32(s.w))
	header = binary.BigEndian.AppendUint32(header, uint32(s.h))
	r.chunk("IHDR", append(header, 8, 2, 0, 0, 0)) // 8 bits, true colour
	r.chunk("sRGB", []byte{0})
	r.chunk("tEXt", []byte("Software\x00Afterimage demo"))
	r.chunk("tEXt", []byte("Seed\x00"+strconv.FormatInt(seed, 10)))
	// iTXt is UTF-8: keyword, not packed, no language, no translated keyword.
	r.chunk("iTXt", []byte("Description\x00\x00\x00\x00\x00"+cleanText(prompt)))
	return r
}

// cleanText drops what a PNG text may not hold.
func cleanText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// Read makes as many rows as it needs to have something to give.
func (r *pngReader) Read(p []byte) (int, error) {
	for r.out.Len() == 0 {
		if r.last {
			return 0, io.EOF
		}
		if err := r.advance(); err != nil {
			return 0, err
		}
	}
	return r.out.Read(p)
}

// advance packs rows until a chunk is full or the picture ends.
func (r *pngReader) advance() error {
	s := r.sketch
	line := make([]byte, 1+3*s.w)
	for r.packed.Len() < idatSize && r.y < s.h {
		filterRow(line, s.pix[3*s.w*r.y:3*s.w*(r.y+1)])
		if _, err := r.zip.Write(line); err != nil {
			return err
		}
		r.y++
	}
	if r.y == s.h {
		if err := r.zip.Close(); err != nil {
			return err
		}
		r.last = true
	}
	r.chunk("IDAT", r.packed.Bytes())
	r.packed.Reset()
	if r.last {
		r.chunk("IEND", nil)
	}
	return nil
}

// filterRow stores each byte as the difference from the pixel to the left
// (filter 1): with grain, the dearer filters gain nothing.
func filterRow(line, pix []byte) {
	line[0] = 1
	copy(line[1:], pix[:3])
	for i := 3; i < len(pix); i++ {
		line[i+1] = pix[i] - pix[i-3]
	}
}

func (r *pngReader) chunk(kind string, data []byte) {
	var n [4]byte
	binary.BigEndian.PutUint32(n[:], uint32(len(data)))
	r.out.Write(n[:])
	sum := crc32.NewIEEE()
	w := io.MultiWriter(&r.out, sum)
	_, _ = io.WriteString(w, kind) // neither a buffer nor a hash fails
	_, _ = w.Write(data)
	binary.BigEndian.PutUint32(n[:], sum.Sum32())
	r.out.Write(n[:])
}
