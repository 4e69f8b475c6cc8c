package fetch

import (
	"hash/crc32"
	"slices"
)

// pngWalk is what the chunks so far have said.
type pngWalk struct {
	*file
	img           Image
	colour        byte
	palette, data bool // PLTE and IDAT have come
	animated      bool // acTL has come before the data
}

// walkPNG checks every chunk of a PNG or APNG up to IEND. What follows IEND is no part of the
// picture and does no harm. A wrong CRC in a chunk that decoders may skip is let pass: such files
// are shown everywhere, and came from the source that way.
func walkPNG(f *file) (Image, error) {
	w := &pngWalk{file: f, img: Image{MIME: "image/png", Ext: ".png"}}
	for off := int64(len(pngSignature)); ; {
		head, err := w.bytes(off, 8)
		if err != nil {
			return Image{}, err
		}
		size, kind := int64(be32(head)), string(head[4:])
		if size > 1<<31-1 || !isChunkName(kind) {
			return Image{}, bad(off, "no PNG chunk")
		}
		if size+12 > w.size-off {
			return Image{}, w.cut(off)
		}
		if w.img.Width == 0 && kind != "IHDR" {
			return Image{}, bad(off, "a PNG without IHDR")
		}
		if err := w.checksum(off, size, kind); err != nil {
			return Image{}, err
		}
		if err := w.chunk(kind, off+8, size); err != nil {
			return Image{}, err
		}
		off += size + 12
		if kind == "IEND" {
			if !w.data {
				return Image{}, bad(off, "a PNG without IDAT")
			}
			if w.img.Orientation >= 5 {
				w.img.Width, w.img.Height = w.img.Height, w.img.Width
			}
			return w.img, nil
		}
	}
}

func isChunkName(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

// checksum compares the CRC over kind and data with the one that follows them.
func (w *pngWalk) checksum(off, size int64, kind string) error {
	critical := kind[0]&0x20 == 0 || slices.Contains([]string{"acTL", "fcTL", "fdAT"}, kind)
	if !critical {
		return nil
	}
	sum := uint32(0)
	for at, end := off+4, off+8+size; at < end; {
		b, err := w.some(at)
		if err != nil {
			return err
		}
		b = b[:min(int64(len(b)), end-at)]
		sum = crc32.Update(sum, crc32.IEEETable, b)
		at += int64(len(b))
	}
	want, err := w.bytes(off+8+size, 4)
	if err != nil {
		return err
	}
	if be32(want) != sum {
		return bad(off, "chunk %s has a wrong checksum", kind)
	}
	return nil
}

// chunk looks into the chunks that say something about size or hide something large.
func (w *pngWalk) chunk(kind string, at, size int64) error {
	switch kind {
	case "IHDR":
		return w.header(at, size)
	case "PLTE":
		w.palette = true
	case "IDAT":
		return w.imageData(at, size)
	case "acTL":
		w.animated = !w.data
	case "fcTL":
		return w.frameControl(at, size)
	case "iCCP":
		return w.colourProfile(at, size)
	case "eXIf":
		return w.exif(at, size)
	case "zTXt", "iTXt":
		return w.compressedText(kind, at, size)
	}
	return nil
}

// pngDepths are the bits a sample may have, by colour type.
var pngDepths = map[byte][]byte{0: {1, 2, 4, 8, 16}, 2: {8, 16}, 3: {1, 2, 4, 8}, 4: {8, 16}, 6: {8, 16}}

func (w *pngWalk) header(at, size int64) error {
	if size != 13 || w.img.Width != 0 {
		return bad(at, "a wrong IHDR")
	}
	b, err := w.bytes(at, 13)
	if err != nil {
		return err
	}
	width, height := be32(b), be32(b[4:])
	if !slices.Contains(pngDepths[b[9]], b[8]) || b[10] != 0 || b[11] != 0 || b[12] > 1 {
		return bad(at, "IHDR says what no PNG is")
	}
	if width > 1<<31-1 || height > 1<<31-1 {
		return bad(at, "IHDR has a wrong size")
	}
	w.colour, w.img.Width, w.img.Height = b[9], int(width), int(height)
	return w.shape(w.img.Width, w.img.Height)
}

func (w *pngWalk) imageData(at, size int64) error {
	if w.colour == 3 && !w.palette {
		return bad(at, "a palette picture without palette")
	}
	if !w.data && size >= 2 {
		b, err := w.bytes(at, 2)
		if err != nil {
			return err
		}
		if b[0]&0x0f != 8 || be16(b)%31 != 0 {
			return bad(at, "IDAT is not compressed data")
		}
	}
	w.data = w.data || size > 0
	return nil
}

func (w *pngWalk) frameControl(at, size int64) error {
	if !w.animated {
		return nil // decoders skip it then
	}
	if size != 26 {
		return bad(at, "a wrong fcTL")
	}
	b, err := w.bytes(at, 26)
	if err != nil {
		return err
	}
	width, height, x, y := int64(be32(b[4:])), int64(be32(b[8:])), int64(be32(b[12:])), int64(be32(b[16:]))
	if x+width > int64(w.img.Width) || y+height > int64(w.img.Height) {
		return bad(at, "a frame outside the picture")
	}
	return w.frame(int(width), int(height))
}

// exif reads how the picture is to be turned, which browsers do if it comes before the pixels.
func (w *pngWalk) exif(at, size int64) error {
	if w.data || w.img.Orientation != 0 {
		return nil
	}
	b, err := w.bytes(at, int(min(size, 32<<10)))
	if err != nil {
		return err
	}
	w.img.Orientation = exifOrientation(b)
	return nil
}
