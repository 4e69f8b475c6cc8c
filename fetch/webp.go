package fetch

// webpWalk is what the chunks so far have said.
type webpWalk struct {
	*file
	img      Image
	extended bool // VP8X has given the canvas
	animated bool
}

// walkWebP follows the chunks of a WebP up to the size that its RIFF header gives. What follows is
// no part of the picture.
func walkWebP(f *file) (Image, error) {
	w := &webpWalk{file: f, img: Image{MIME: "image/webp", Ext: ".webp"}}
	b, err := w.bytes(0, 12)
	if err != nil {
		return Image{}, err
	}
	end := 8 + int64(le32(b[4:]))
	if end > w.size {
		return Image{}, w.cut(w.size)
	}
	if err := w.chunks(12, end, w.chunk); err != nil {
		return Image{}, err
	}
	if w.frames == 0 {
		return Image{}, bad(end, "a WebP without a picture")
	}
	return w.img, nil
}

// chunks visits the chunks between off and end.
func (w *webpWalk) chunks(off, end int64, visit func(kind string, at, size int64) error) error {
	for off+8 <= end {
		b, err := w.bytes(off, 8)
		if err != nil {
			return err
		}
		kind, size := string(b[:4]), int64(le32(b[4:]))
		if size > end-off-8 {
			return bad(off, "chunk %q is longer than what holds it", kind)
		}
		if err := visit(kind, off+8, size); err != nil {
			return err
		}
		off += 8 + size + size&1
	}
	return nil
}

func (w *webpWalk) chunk(kind string, at, size int64) error {
	switch kind {
	case "VP8X":
		return w.canvas(at, size)
	case "VP8 ", "VP8L":
		if w.animated || w.frames > 0 {
			return nil // readers take the first picture
		}
		return w.still(kind, at, size)
	case "ANMF":
		if w.animated {
			return w.animationFrame(at, size)
		}
	case "ICCP":
		return w.profile(size)
	}
	return nil
}

func (w *webpWalk) canvas(at, size int64) error {
	if size < 10 || w.extended || w.frames > 0 {
		return bad(at, "a wrong VP8X")
	}
	b, err := w.bytes(at, 10)
	if err != nil {
		return err
	}
	w.extended, w.animated = true, b[0]&2 != 0
	w.img.Width, w.img.Height = le24(b[4:])+1, le24(b[7:])+1
	return w.shape(w.img.Width, w.img.Height)
}

func (w *webpWalk) still(kind string, at, size int64) error {
	width, height, err := w.bitstream(kind, at, size)
	if err != nil {
		return err
	}
	if w.extended && (width != w.img.Width || height != w.img.Height) {
		return bad(at, "a picture of another size than its canvas")
	}
	w.img.Width, w.img.Height = width, height
	return w.frame(width, height)
}

func (w *webpWalk) animationFrame(at, size int64) error {
	if size < 16 {
		return bad(at, "a wrong ANMF")
	}
	b, err := w.bytes(at, 16)
	if err != nil {
		return err
	}
	x, y, width, height := 2*le24(b), 2*le24(b[3:]), le24(b[6:])+1, le24(b[9:])+1
	if x+width > w.img.Width || y+height > w.img.Height {
		return bad(at, "a frame outside the picture")
	}
	if err := w.frame(width, height); err != nil {
		return err
	}
	found := false
	err = w.chunks(at+16, at+size, func(kind string, at, size int64) error {
		if found || kind != "VP8 " && kind != "VP8L" {
			return nil
		}
		found = true
		fw, fh, err := w.bitstream(kind, at, size)
		if err == nil && (fw != width || fh != height) {
			err = bad(at, "a frame of another size than it says")
		}
		return err
	})
	if err == nil && !found {
		err = bad(at, "a frame without data")
	}
	return err
}

// bitstream reads the size of a picture from the head of its data.
func (w *webpWalk) bitstream(kind string, at, size int64) (width, height int, err error) {
	if kind == "VP8L" {
		return w.lossless(at, size)
	}
	if size < 10 {
		return 0, 0, bad(at, "too little data")
	}
	b, err := w.bytes(at, 10)
	if err != nil {
		return 0, 0, err
	}
	if b[0]&1 != 0 || string(b[3:6]) != "\x9d\x01\x2a" {
		return 0, 0, bad(at, "no VP8 key frame")
	}
	if int64(le24(b)>>5) > size-10 {
		return 0, 0, bad(at, "less VP8 data than it says")
	}
	return le16(b[6:]) & 0x3fff, le16(b[8:]) & 0x3fff, nil
}

func (w *webpWalk) lossless(at, size int64) (width, height int, err error) {
	if size < 5 {
		return 0, 0, bad(at, "too little data")
	}
	b, err := w.bytes(at, 5)
	if err != nil {
		return 0, 0, err
	}
	bits := le32(b[1:])
	if b[0] != 0x2f || bits>>29 != 0 {
		return 0, 0, bad(at, "no VP8L picture")
	}
	return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1, nil
}
