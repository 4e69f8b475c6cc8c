package fetch

// cursor reads numbers one after another from a box. After a failure it reads zeros, so that the
// error need only be looked at where it matters.
type cursor struct {
	f   *file
	at  int64
	end int64
	err error
}

func (f *file) cursor(b box) *cursor { return &cursor{f: f, at: b.start, end: b.end} }

// uint reads a number of n bytes, 0 to 8.
func (c *cursor) uint(n int) uint64 {
	if c.err == nil && int64(n) > c.end-c.at {
		c.err = bad(c.at, "a box that ends too early")
	}
	if c.err != nil {
		return 0
	}
	b, err := c.f.bytes(c.at, n)
	if err != nil {
		c.err = err
		return 0
	}
	c.at += int64(n)
	var v uint64
	for _, x := range b {
		v = v<<8 | uint64(x)
	}
	return v
}

func (c *cursor) skip(n int64) {
	if c.err == nil && n > c.end-c.at {
		c.err = bad(c.at, "a box that ends too early")
	}
	if c.err == nil {
		c.at += n
	}
}

// itemData checks that all extents of all items lie inside the file.
func (w *heifWalk) itemData(iloc, idat box) error {
	c := w.cursor(iloc)
	version := c.uint(1)
	c.skip(3)
	sizes := c.uint(2)
	offsetSize, lengthSize, baseSize, indexSize := int(sizes>>12), int(sizes>>8&15), int(sizes>>4&15), int(sizes&15)
	if version == 0 {
		indexSize = 0
	}
	for _, n := range []int{offsetSize, lengthSize, baseSize, indexSize} {
		if n != 0 && n != 4 && n != 8 {
			return bad(iloc.start, "numbers of %d bytes", n)
		}
	}
	wide := wideFrom(2, version)
	for range c.uint(wide) {
		c.skip(int64(wide)) // id
		method := uint64(0)
		if version > 0 {
			method = c.uint(2) & 15
		}
		foreign := c.uint(2) != 0 // data in another file
		base := c.uint(baseSize)
		extents := c.uint(2)
		if offsetSize+lengthSize+indexSize == 0 {
			extents = min(extents, 1) // they are all the same, and cost nothing to write
		}
		for range extents {
			c.skip(int64(indexSize))
			offset, length := c.uint(offsetSize), c.uint(lengthSize)
			if c.err != nil {
				return c.err
			}
			if err := w.extent(method, foreign, base, offset, length, idat); err != nil {
				return err
			}
		}
		if c.err != nil {
			return c.err
		}
	}
	return c.err
}

// extent checks one piece of data. Method 0 counts from the file's start, 1 from idat's.
func (w *heifWalk) extent(method uint64, foreign bool, base, offset, length uint64, idat box) error {
	const far = 1 << 60 // keeps the sum from running over
	if base > far || offset > far || length > far {
		return bad(w.size, "item data beyond all files")
	}
	end := int64(base + offset + length)
	switch {
	case foreign:
		return final(Corrupt, "item data in another file")
	case method == 0 && end > w.size:
		return w.cut(w.size)
	case method == 1 && end > idat.end-idat.start:
		return bad(idat.start, "item data beyond its box")
	}
	return nil
}

// properties finds those of the primary item: its size, how it is turned, its colour profile.
func (w *heifWalk) properties(iprp box) error {
	in, err := w.children(iprp, 0)
	if err != nil {
		return err
	}
	mine, err := w.associated(in["ipma"])
	if err != nil {
		return err
	}
	index := 0
	return w.boxes(in["ipco"].start, in["ipco"].end, false, func(p box) error {
		index++
		if index > len(mine)-1 || !mine[index] {
			return nil
		}
		return w.property(p)
	})
}

// associated marks the properties that belong to the primary item, by their number from 1.
func (w *heifWalk) associated(ipma box) (mine [1 << 10]bool, err error) {
	c := w.cursor(ipma)
	head := c.uint(4)
	version, wideIndex := head>>24, head&1 != 0
	idSize := wideFrom(1, version)
	for range c.uint(4) {
		id := uint32(c.uint(idSize))
		for range c.uint(1) {
			n := c.uint(1) & 0x7f
			if wideIndex {
				n = n<<8 | c.uint(1)
			}
			if id == w.primary && n < uint64(len(mine)) {
				mine[n] = true
			}
		}
		if c.err != nil {
			break
		}
	}
	return mine, c.err
}

func (w *heifWalk) property(p box) error {
	c := w.cursor(p)
	switch p.kind {
	case "ispe":
		c.skip(4)
		w.img.Width, w.img.Height = int(c.uint(4)), int(c.uint(4))
		if c.err != nil {
			return c.err
		}
		w.sized = true
		return w.shape(w.img.Width, w.img.Height)
	case "irot":
		w.turned = c.uint(1)&1 != 0
	case "colr":
		return w.profile(p.end - p.start)
	}
	return c.err
}

// movie reads how many frames an image sequence has, and its size when no item gave one. Tracks of
// films and sounds are no pictures, whatever the brand of the file says.
func (w *heifWalk) movie(moov box) error {
	return w.boxes(moov.start, moov.end, false, func(trak box) error {
		if trak.kind != "trak" {
			return nil
		}
		in, err := w.children(trak, 0)
		if err != nil {
			return err
		}
		if is, err := w.isPictures(in["mdia"]); err != nil || !is {
			return err
		}
		if in["tkhd"].end != 0 && !w.sized {
			if err := w.trackSize(in["tkhd"]); err != nil {
				return err
			}
		}
		return w.samples(in["mdia"])
	})
}

// isPictures says whether the handler of a track's media is that of an image sequence.
func (w *heifWalk) isPictures(mdia box) (bool, error) {
	in, err := w.children(mdia, 0)
	if err != nil || in["hdlr"].end == 0 {
		return false, err
	}
	c := w.cursor(in["hdlr"])
	c.skip(8)
	return c.uint(4) == 'p'<<24|'i'<<16|'c'<<8|'t', c.err
}

// trackSize reads the last two numbers of a track's header: width and height in 16.16.
func (w *heifWalk) trackSize(tkhd box) error {
	if tkhd.end-tkhd.start < 84 {
		return bad(tkhd.start, "a wrong track header")
	}
	b, err := w.bytes(tkhd.end-8, 8)
	if err != nil {
		return err
	}
	w.img.Width, w.img.Height = be16(b), be16(b[4:])
	w.sized = true
	return w.shape(w.img.Width, w.img.Height)
}

// samples counts the frames of one track.
func (w *heifWalk) samples(mdia box) error {
	at := mdia
	for _, kind := range []string{"minf", "stbl", "stsz"} {
		in, err := w.children(at, 0)
		if err != nil {
			return err
		}
		if at = in[kind]; at.end == 0 {
			return nil
		}
	}
	c := w.cursor(at)
	c.skip(8)
	frames := int(c.uint(4))
	if c.err != nil {
		return c.err
	}
	w.frames = max(w.frames, frames) // of several tracks: previews are some of their own
	switch {
	case w.frames > w.lim.Frames:
		return tooLarge("more than %d frames", w.lim.Frames)
	case int64(w.frames)*int64(w.img.Width)*int64(w.img.Height) > w.lim.TotalPixels:
		return tooLarge("more than %d pixels in all frames", w.lim.TotalPixels)
	}
	return nil
}
