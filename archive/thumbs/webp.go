package thumbs

import (
	"encoding/binary"
	"errors"
	"image"
)

// maxFrame bounds the bytes of one frame that are copied; a file has 64 MiB by
// default.
const maxFrame = 64 << 20

var errNoFrame = errors.New("an animation without a frame")

// firstFrame makes a still WebP of an animation's first frame, since the
// decoder knows no animations, and says where the frame belongs.
func (f *file) firstFrame() (still []byte, at image.Point, err error) {
	frame, err := f.findChunk("ANMF", 12, f.size)
	if err != nil {
		return nil, at, err
	}
	if len(frame) < 16 {
		return nil, at, errNoFrame
	}
	at = image.Pt(2*le24(frame), 2*le24(frame[3:]))
	var body []byte
	var flags byte
	for chunks := frame[16:]; len(chunks) >= 8; {
		end := 8 + int(binary.LittleEndian.Uint32(chunks[4:]))
		end = min(end+end&1, len(chunks))
		switch kind := string(chunks[:4]); kind {
		case "ALPH":
			flags = 0x10
			body = append(body, chunks[:end]...)
		case "VP8 ", "VP8L":
			body = append(body, chunks[:end]...)
			return riff(flags, frame[6:12], body), at, nil
		}
		chunks = chunks[end:]
	}
	return nil, at, errNoFrame
}

// riff puts a frame's chunks into a file of their own. Size is the frame's
// width and height as an ANMF has them, which is as a VP8X has them.
func riff(flags byte, size, body []byte) []byte {
	out := append([]byte("RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00"), flags, 0, 0, 0)
	out = append(append(out, size...), body...)
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out
}

// findChunk reads the first chunk of a kind between off and end.
func (f *file) findChunk(kind string, off, end int64) ([]byte, error) {
	for off+8 <= end {
		head, err := f.bytes(off, 8)
		if err != nil {
			return nil, err
		}
		n := int64(binary.LittleEndian.Uint32(head[4:]))
		if string(head[:4]) == kind {
			if n > min(maxFrame, end-off-8) {
				return nil, errNoFrame
			}
			return f.bytes(off+8, n)
		}
		off += 8 + n + n&1
	}
	return nil, errNoFrame
}

func le24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
