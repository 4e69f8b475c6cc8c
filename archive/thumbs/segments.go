package thumbs

import "encoding/binary"

// segments visits those of a JPEG that come before its pixels: the marker, and
// where the body lies. It ends early when visit says so.
func (f *file) segments(visit func(marker byte, off, size int64) (done bool, err error)) error {
	for off := int64(2); ; {
		b, err := f.bytes(off, 4)
		if err != nil {
			return err
		}
		marker := b[1]
		switch {
		case b[0] != 0xff:
			return errNoFrameHeader
		case marker == 0xff: // padding
			off++
			continue
		case marker == 0xda:
			return nil
		}
		size := int64(binary.BigEndian.Uint16(b[2:])) - 2
		if done, err := visit(marker, off+4, size); done || err != nil {
			return err
		}
		off += 4 + size
	}
}

func isStartOfFrame(marker byte) bool {
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc
}
