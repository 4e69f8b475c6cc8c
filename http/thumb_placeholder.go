package http

import (
	"fmt"
	"net/http"

	"afterimage/archive/thumbs"
	"afterimage/records"
)

// sendPlaceholder draws something of an image's proportions that cannot be
// taken for the picture. Nobody keeps it, since the picture may come.
func sendPlaceholder(w http.ResponseWriter, i *records.Image, size int) {
	thumbHeaders(w, "image/svg+xml", "no-cache")
	fmt.Fprint(w, placeholder(i.ID, i.Width, i.Height, size))
}

// placeholder is an SVG: a calm wash of the image's own colour, by its id,
// with the outline of a picture in the middle. Colours are attributes, since
// styles in it would be blocked.
func placeholder(id string, width, height, size int) string {
	if width <= 0 || height <= 0 {
		width, height = 1, 1
	}
	width, height = upTo(width, height, size)
	hue := 0
	for _, c := range []byte(id) {
		hue = (hue*31 + int(c)) % 360
	}
	side := min(width, height) / 4 // of the outline
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d">`+
		`<linearGradient id="g" x2="1" y2="1"><stop stop-color="hsl(%[3]d,14%%,72%%)"/><stop offset="1" stop-color="hsl(%[4]d,12%%,60%%)"/></linearGradient>`+
		`<rect width="%[1]d" height="%[2]d" fill="url(#g)"/>`+
		`<svg x="%[5]d" y="%[6]d" width="%[7]d" height="%[7]d" viewBox="0 0 24 24" fill="none" stroke="#fff" stroke-opacity=".55" stroke-width="1.5" stroke-linejoin="round">`+
		`<rect x="3" y="4" width="18" height="16" rx="2"/><circle cx="8.5" cy="9.5" r="1.5"/><path d="m4 18 5-5 3 3 4-5 4 5"/></svg></svg>`,
		width, height, hue, (hue+40)%360, (width-side)/2, (height-side)/2, side)
}

// upTo makes the long edge size pixels, also if it is less.
func upTo(width, height, size int) (w, h int) {
	if long := max(width, height); long < size {
		times := (size + long - 1) / long
		width, height = width*times, height*times
	}
	return thumbs.Fit(width, height, size)
}
