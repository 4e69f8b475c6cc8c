package fetch

// gifWalk is what the blocks so far have said.
type gifWalk struct {
	*file
	img   Image
	loops bool // the extension that makes an animation repeat
}

// walkGIF follows the blocks of a GIF up to its trailer. What follows is no part of the picture.
// A still picture whose trailer is missing is whole all the same; an animation may lack frames.
func walkGIF(f *file) (Image, error) {
	w := &gifWalk{file: f, img: Image{MIME: "image/gif", Ext: ".gif"}}
	off, err := w.screen()
	if err != nil {
		return Image{}, err
	}
	for {
		b, err := w.bytes(off, 1)
		if err != nil {
			if off == w.size && w.frames == 1 && !w.loops {
				return w.img, nil
			}
			return Image{}, err
		}
		switch b[0] {
		case 0x21:
			off, err = w.extension(off + 1)
		case 0x2c:
			off, err = w.picture(off + 1)
		case 0x3b:
			if w.frames == 0 {
				return Image{}, bad(off, "a GIF without a picture")
			}
			return w.img, nil
		case 0:
			off++ // some writers end blocks twice
		default:
			return Image{}, bad(off, "no GIF block")
		}
		if err != nil {
			return Image{}, err
		}
	}
}

// screen reads the size of the canvas and steps over the palette.
func (w *gifWalk) screen() (int64, error) {
	b, err := w.bytes(0, 13)
	if err != nil {
		return 0, err
	}
	w.img.Width, w.img.Height = le16(b[6:]), le16(b[8:])
	return 13 + paletteSize(b[10]), w.shape(w.img.Width, w.img.Height)
}

// paletteSize is the size of the palette that a block's flags announce.
func paletteSize(flags byte) int64 {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (flags&7 + 1)
}

func (w *gifWalk) extension(off int64) (int64, error) {
	if b, err := w.bytes(off, 13); err == nil && b[0] == 0xff {
		name := string(b[2:13])
		w.loops = w.loops || name == "NETSCAPE2.0" || name == "ANIMEXTS1.0"
	}
	return w.subBlocks(off + 1)
}

func (w *gifWalk) picture(off int64) (int64, error) {
	b, err := w.bytes(off, 9)
	if err != nil {
		return 0, err
	}
	if err := w.frame(le16(b[4:]), le16(b[6:])); err != nil {
		return 0, err
	}
	off += 9 + paletteSize(b[8])
	code, err := w.bytes(off, 1)
	if err != nil {
		return 0, err
	}
	if code[0] < 1 || code[0] > 11 {
		return 0, bad(off, "codes of %d bits", code[0])
	}
	first, err := w.bytes(off+1, 1)
	if err != nil {
		return 0, err
	}
	if first[0] == 0 {
		return 0, bad(off, "a frame without data")
	}
	return w.subBlocks(off + 1)
}

// subBlocks steps over a chain of blocks, each with its length before it, to its empty end.
func (w *gifWalk) subBlocks(off int64) (int64, error) {
	for {
		b, err := w.bytes(off, 1)
		if err != nil {
			return 0, err
		}
		off += 1 + int64(b[0])
		if b[0] == 0 {
			return off, nil
		}
	}
}
