package thumbs_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"testing"

	"afterimage/archive/thumbs"
)

// iccOf is what is looked at of a colour profile.
func iccOf(space, description string, size int) []byte {
	icc := make([]byte, size)
	binary.BigEndian.PutUint32(icc, uint32(size))
	copy(icc[12:], "mntr"+space)
	copy(icc[36:], "acsp")
	copy(icc[128:], description)
	return icc
}

func jpegWith(icc []byte, part int) []byte {
	file := jpegOf(corners(64, 48), 1)
	var segments []byte
	parts := slices.Collect(slices.Chunk(icc, part))
	for n, b := range slices.Backward(parts) { // in the wrong order
		body := append([]byte{'I', 'C', 'C', '_', 'P', 'R', 'O', 'F', 'I', 'L', 'E', 0, byte(n + 1), byte(len(parts))}, b...)
		segments = append(append(segments, 0xff, 0xe2, byte((len(body)+2)>>8), byte(len(body)+2)), body...)
	}
	return slices.Insert(file, 2, segments...)
}

// pngWith puts a chunk behind a PNG's first one.
func pngWith(file []byte, kind string, body []byte) []byte {
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	chunk = append(append(chunk, kind...), body...)
	return slices.Insert(file, 33, binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))...)
}

func pngWithProfile(file, icc []byte) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write(icc)
	z.Close()
	return pngWith(file, "iCCP", append([]byte("wide\x00\x00"), b.Bytes()...))
}

func webpWith(icc []byte) []byte {
	return riff(chunk("VP8X", 0x30, 0, 0, 0, 63, 0, 0, 47, 0, 0), chunk("ICCP", icc...), chunk("VP8L", vp8l(64, 48, blue)...))
}

// carried is the profile that a thumbnail has, as a reader of its own finds it.
func carried(t *testing.T, format string, data []byte) []byte {
	t.Helper()
	if format == "jpg" {
		_, rest, found := bytes.Cut(data, []byte("ICC_PROFILE\x00\x01\x01"))
		if !found {
			return nil
		}
		at := len(data) - len(rest)
		return rest[:int(binary.BigEndian.Uint16(data[at-16:]))-16]
	}
	_, rest, found := bytes.Cut(data, []byte("iCCPicc\x00\x00"))
	if !found {
		return nil
	}
	z, err := zlib.NewReader(bytes.NewReader(rest))
	if err != nil {
		t.Fatal(err)
	}
	icc, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return icc
}

// A picture in more colours than sRGB looks pale without its profile.
func TestAThumbnailKeepsTheColourProfile(t *testing.T) {
	wide := iccOf("RGB ", "Display P3", 548)
	large := iccOf("RGB ", "some printer", 40<<10)
	for _, c := range []struct {
		name string
		file []byte
		want []byte
	}{
		{"of a JPEG", jpegWith(wide, 1000), wide},
		{"of a JPEG in parts", jpegWith(wide, 100), wide},
		{"of a PNG", pngWithProfile(pngOf(corners(64, 48)), wide), wide},
		{"of a PNG that is transparent in part", pngWithProfile(pngOf(filled(64, 48, clear)), wide), wide},
		{"of a WebP", webpWith(wide), wide},
		{"but not that of sRGB, which all take for granted", jpegWith(iccOf("RGB ", "sRGB IEC61966-2.1", 300), 1000), nil},
		{"but not one for gray, since a thumbnail is in RGB", jpegWith(iccOf("GRAY", "dots", 300), 1000), nil},
		{"but not one that would make it large", jpegWith(large, 60_000), nil},
		{"but not a large one of a PNG", pngWithProfile(pngOf(corners(64, 48)), large), nil},
		{"but not a large one of a WebP", webpWith(large), nil},
		{"but not one that is cut", jpegWith(wide[:500], 1000), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			what := identify(t, c.file)
			set, err := thumbs.New(0).Make(t.Context(), bytes.NewReader(c.file), int64(len(c.file)), what)
			if err != nil {
				t.Fatal(err)
			}
			opened(t, set, what) // decoders still take it
			for _, thumb := range set.Thumbs {
				if got := carried(t, set.Format, thumb.Data); !bytes.Equal(got, c.want) {
					t.Errorf("the profile has %d bytes, want %d", len(got), len(c.want))
				}
			}
		})
	}
}
