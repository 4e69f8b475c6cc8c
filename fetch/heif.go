package fetch

import "slices"

// box is one box of an ISO media file: its kind, and where its content lies.
type box struct {
	kind       string
	start, end int64
}

// boxes visits the boxes between off and end. outer: end is the file's, and a box that needs more
// means that the file was cut.
func (f *file) boxes(off, end int64, outer bool, visit func(box) error) error {
	for off+8 <= end {
		b, err := f.bytes(off, 8)
		if err != nil {
			return err
		}
		size, kind, head := int64(be32(b)), string(b[4:8]), int64(8)
		switch size {
		case 0: // to the end
			size = end - off
		case 1:
			if b, err = f.bytes(off, 16); err != nil {
				return err
			}
			size, head = int64(be32(b[8:]))<<32|int64(be32(b[12:])), 16
		}
		if size < head {
			return bad(off, "box %q is too short", kind)
		}
		if size > end-off {
			if outer {
				return f.cut(off)
			}
			return bad(off, "box %q is longer than what holds it", kind)
		}
		if err := visit(box{kind, off + head, off + size}); err != nil {
			return err
		}
		off += size
	}
	return nil
}

// children maps the first box of each kind inside b, after skip bytes.
func (f *file) children(b box, skip int64) (map[string]box, error) {
	found := map[string]box{}
	err := f.boxes(b.start+skip, b.end, false, func(c box) error {
		if _, again := found[c.kind]; !again && len(found) < 64 {
			found[c.kind] = c
		}
		return nil
	})
	return found, err
}

// heifWalk is what the boxes so far have said.
type heifWalk struct {
	*file
	img     Image
	primary uint32 // id of the item that is shown
	kind    string // of that item: av01, hvc1, grid
	turned  bool   // a quarter, so that width and height change places
	sized   bool
}

// walkHEIF reads what an AVIF or HEIC says about its primary item, and checks that every box and
// every piece of item data lies inside the file.
func walkHEIF(f *file) (Image, error) {
	w := &heifWalk{file: f}
	var ftyp, meta, moov box
	err := w.boxes(0, w.size, true, func(b box) error {
		switch b.kind {
		case "ftyp":
			ftyp = b
		case "meta":
			meta = b
		case "moov":
			moov = b
		}
		return nil
	})
	if err != nil {
		return Image{}, err
	}
	if err := w.brand(ftyp); err != nil {
		return Image{}, err
	}
	if meta.end == 0 && moov.end == 0 {
		if w.size == ftyp.end {
			return Image{}, w.cut(w.size)
		}
		return Image{}, final(NotImage, "a media file without a picture")
	}
	if meta.end != 0 {
		if err := w.meta(meta); err != nil {
			return Image{}, err
		}
	}
	if moov.end != 0 {
		if err := w.movie(moov); err != nil {
			return Image{}, err
		}
	}
	switch {
	case !w.sized && meta.end == 0:
		return Image{}, final(NotImage, "a film")
	case !w.sized:
		return Image{}, bad(meta.start, "no size of the picture")
	}
	if w.turned {
		w.img.Width, w.img.Height = w.img.Height, w.img.Width
	}
	return w.img, nil
}

// brand tells AVIF from HEIC by the brands that the file claims.
func (w *heifWalk) brand(ftyp box) error {
	n := int(min(ftyp.end-ftyp.start, 256))
	b, err := w.bytes(ftyp.start, n)
	if err != nil {
		return err
	}
	w.img = Image{MIME: "image/heic", Ext: ".heic"}
	for i := 0; i+4 <= len(b); i += 4 {
		if i != 4 && slices.Contains([]string{"avif", "avis"}, string(b[i:i+4])) {
			w.img = Image{MIME: "image/avif", Ext: ".avif"}
		}
	}
	return nil
}

// meta reads the items.
func (w *heifWalk) meta(meta box) error {
	in, err := w.children(meta, 4)
	if err != nil {
		return err
	}
	for _, kind := range []string{"pitm", "iinf", "iloc", "iprp"} {
		if in[kind].end == 0 {
			return bad(meta.start, "no box %q", kind)
		}
	}
	if err := w.primaryItem(in["pitm"]); err != nil {
		return err
	}
	if err := w.itemKind(in["iinf"]); err != nil {
		return err
	}
	if err := w.itemData(in["iloc"], in["idat"]); err != nil {
		return err
	}
	return w.properties(in["iprp"])
}

func (w *heifWalk) primaryItem(b box) error {
	c := w.cursor(b)
	version := c.uint(1)
	c.skip(3)
	w.primary = uint32(c.uint(wideFrom(1, version)))
	return c.err
}

// wideFrom is the size of an id or count: two bytes, and four from some version of the box on.
func wideFrom(wide, version uint64) int {
	if version >= wide {
		return 4
	}
	return 2
}

// itemKind looks up what the primary item is; only codecs of images will do.
func (w *heifWalk) itemKind(b box) error {
	c := w.cursor(b)
	version := c.uint(1)
	c.skip(3)
	c.skip(int64(wideFrom(1, version))) // the count: the boxes say it too
	if c.err != nil {
		return c.err
	}
	err := w.boxes(c.at, b.end, false, func(entry box) error {
		e := w.cursor(entry)
		version := e.uint(1)
		e.skip(3)
		if entry.kind != "infe" || version < 2 {
			return e.err
		}
		id := uint32(e.uint(wideFrom(3, version)))
		e.skip(2) // protection
		if kind := e.uint(4); id == w.primary {
			w.kind = string([]byte{byte(kind >> 24), byte(kind >> 16), byte(kind >> 8), byte(kind)})
		}
		return e.err
	})
	if err != nil {
		return err
	}
	switch w.kind {
	case "av01":
		w.img.MIME, w.img.Ext = "image/avif", ".avif"
	case "hvc1", "hev1":
		w.img.MIME, w.img.Ext = "image/heic", ".heic"
	case "grid", "iovl", "iden": // made of other items
	default:
		return final(NotImage, "an image container with content that is not kept")
	}
	return nil
}
