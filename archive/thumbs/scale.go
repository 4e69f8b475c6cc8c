package thumbs

import (
	"image"
	"image/draw"

	xdraw "golang.org/x/image/draw"
)

// shrink makes the long edge of a picture size pixels, unless it is smaller.
// It averages whole blocks first, which is fast and needs little memory, until
// less than half is left to do for the better filter.
func shrink(m image.Image, size int) *image.RGBA {
	b := m.Bounds()
	block := max(1, max(b.Dx(), b.Dy())/size)
	w, h := Fit(b.Dx(), b.Dy(), size)
	return scale(average(m, max(1, b.Dx()/block), max(1, b.Dy()/block)), w, h)
}

// scale makes a picture w by h with a filter that keeps edges sharp.
func scale(m *image.RGBA, w, h int) *image.RGBA {
	if m.Rect.Dx() == w && m.Rect.Dy() == h {
		return m
	}
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	xdraw.CatmullRom.Scale(out, out.Rect, m, m.Rect, xdraw.Src, nil)
	return out
}

// average makes a picture of w by h blocks, each the mean of its pixels. Only
// a strip of the picture is converted at a time.
func average(m image.Image, w, h int) *image.RGBA {
	b := m.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	strip := image.NewRGBA(image.Rect(0, 0, b.Dx(), b.Dy()/h+1))
	for y := range h {
		top, bottom := y*b.Dy()/h, (y+1)*b.Dy()/h
		part := image.Rect(0, 0, b.Dx(), bottom-top)
		draw.Draw(strip, part, m, b.Min.Add(image.Pt(0, top)), draw.Src)
		averageRow(out.Pix[y*out.Stride:][:4*w], strip, part.Dx(), part.Dy())
	}
	return out
}

// averageRow fills one row of blocks from a strip.
func averageRow(row []byte, strip *image.RGBA, width, height int) {
	w := len(row) / 4
	for x := range w {
		left, right := x*width/w, (x+1)*width/w
		var r, g, b, a uint32
		for y := range height {
			pix := strip.Pix[y*strip.Stride+4*left : y*strip.Stride+4*right]
			for ; len(pix) >= 4; pix = pix[4:] {
				r += uint32(pix[0])
				g += uint32(pix[1])
				b += uint32(pix[2])
				a += uint32(pix[3])
			}
		}
		n := uint32((right - left) * height)
		row[4*x], row[4*x+1], row[4*x+2], row[4*x+3] = mean(r, n), mean(g, n), mean(b, n), mean(a, n)
	}
}

func mean(sum, n uint32) byte { return byte((sum + n/2) / n) }

// turn turns and mirrors a picture as its EXIF orientation asks for.
func turn(m *image.RGBA, orientation int) *image.RGBA {
	if orientation <= 1 || orientation > 8 {
		return m
	}
	w, h := m.Rect.Dx(), m.Rect.Dy()
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	if orientation >= 5 {
		out = image.NewRGBA(image.Rect(0, 0, h, w))
	}
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			sx, sy := origin(x, y, w, h, orientation)
			copy(out.Pix[y*out.Stride+4*x:][:4], m.Pix[sy*m.Stride+4*sx:][:4])
		}
	}
	return out
}

// origin is where a pixel of the turned picture comes from in one of w by h.
func origin(x, y, w, h, orientation int) (sx, sy int) {
	switch orientation {
	case 2: // mirrored
		return w - 1 - x, y
	case 3: // upside down
		return w - 1 - x, h - 1 - y
	case 4:
		return x, h - 1 - y
	case 5:
		return y, x
	case 6: // to be turned right
		return y, h - 1 - x
	case 7:
		return w - 1 - y, h - 1 - x
	case 8: // to be turned left
		return w - 1 - y, x
	}
	return x, y
}
