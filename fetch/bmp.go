package fetch

// walkBMP computes from the header how long a BMP must be. The size field of its file header is
// not believed: many writers leave it wrong.
func walkBMP(f *file) (Image, error) {
	b, err := f.bytes(0, 26)
	if err != nil {
		return Image{}, err
	}
	offset, header := int64(le32(b[10:])), int64(le32(b[14:]))
	width, height, depth, method, stored := int64(le16(b[18:])), int64(le16(b[20:])), le16(b[24:]), uint32(0), int64(0)
	if header >= 40 {
		if b, err = f.bytes(0, 38); err != nil {
			return Image{}, err
		}
		width, height = int64(int32(le32(b[18:]))), int64(int32(le32(b[22:])))
		depth, method, stored = le16(b[28:]), le32(b[30:]), int64(le32(b[34:]))
	}
	height = max(height, -height) // negative: stored from the top
	img := Image{MIME: "image/bmp", Ext: ".bmp", Width: int(width), Height: int(height)}
	if err := f.shape(img.Width, img.Height); err != nil {
		return Image{}, err
	}
	switch {
	case offset < 14+header:
		return Image{}, bad(10, "pixels inside the header")
	case method == 0 || method == 3 || method == 6: // plain, or with bit masks
		switch depth {
		case 1, 2, 4, 8, 16, 24, 32:
		default:
			return Image{}, bad(28, "%d bits a pixel", depth)
		}
		stored = (width*int64(depth) + 31) / 32 * 4 * height
	case method == 1 || method == 2: // run lengths: only the header knows
		if stored == 0 {
			return Image{}, bad(34, "no size of the pixels")
		}
	default:
		return Image{}, bad(30, "compression %d", method)
	}
	if offset+stored > f.size {
		return Image{}, f.cut(f.size)
	}
	return img, nil
}
