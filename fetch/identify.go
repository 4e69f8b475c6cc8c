package fetch

import (
	"cmp"
	"io"
)

// Image is what a file is by its bytes.
type Image struct {
	MIME string // "image/png"
	Ext  string // ".png"

	Width, Height int  // pixels as shown, after turning
	Orientation   int  // EXIF 1 to 8: how to turn the stored pixels; 1 when the file does not say
	Animated      bool // more than one frame
	Frames        int
}

// Limits bound what a file may claim to be. A zero field means its default.
type Limits struct {
	Pixels      int64 // width times height; default 100 million
	Side        int   // width or height; default 32,768
	Frames      int   // default 1,000
	TotalPixels int64 // of all frames together; default 400 million
	Profile     int64 // bytes of ICC profile, inflated; default 4 MiB
	Text        int64 // bytes of text, inflated; default 1 MiB
}

var defaultLimits = Limits{Pixels: 100e6, Side: 32768, Frames: 1000, TotalPixels: 400e6, Profile: 4 << 20, Text: 1 << 20}

func (l Limits) withDefaults() Limits {
	return Limits{
		Pixels:      cmp.Or(l.Pixels, defaultLimits.Pixels),
		Side:        cmp.Or(l.Side, defaultLimits.Side),
		Frames:      cmp.Or(l.Frames, defaultLimits.Frames),
		TotalPixels: cmp.Or(l.TotalPixels, defaultLimits.TotalPixels),
		Profile:     cmp.Or(l.Profile, defaultLimits.Profile),
		Text:        cmp.Or(l.Text, defaultLimits.Text),
	}
}

// Identify says what a whole file of size bytes is. It walks the structure and never decodes
// pixels; memory does not grow with the file. The error is an *Error: NotImage, Corrupt (Final
// unless the file is merely cut short: that may pass) or TooLarge; or r's own error, wrapped.
func Identify(r io.ReaderAt, size int64, lim Limits) (Image, error) {
	return identify(r, size, lim.withDefaults())
}
