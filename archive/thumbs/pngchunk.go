package thumbs

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// afterIHDR is where the first chunk of a PNG has ended.
const afterIHDR = 8 + 12 + 13

// pngChunk puts a chunk behind the first one.
func pngChunk(encoded []byte, kind string, body []byte) []byte {
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	chunk = append(append(chunk, kind...), body...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
	return slices.Insert(encoded, afterIHDR, chunk...)
}

func deflated(b []byte) []byte {
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	z.Write(b) // into memory: cannot fail
	z.Close()
	return out.Bytes()
}
