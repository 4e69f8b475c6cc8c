package thumbs

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
)

// quality keeps a usual picture of 480 pixels under 30 KB.
const quality = 82

// encode writes the thumbnails as JPEG, or all as PNG if the largest lets
// something shine through. Of the original's metadata nothing but its colour
// profile is in them.
func encode(sizes []int, small []*image.RGBA, icc []byte) (Set, error) {
	set := Set{Format: "jpg"}
	if !small[len(small)-1].Opaque() {
		set.Format = "png"
	}
	for n, m := range small {
		var b bytes.Buffer
		var err error
		if set.Format == "png" {
			err = png.Encode(&b, m)
		} else {
			err = jpeg.Encode(&b, m, &jpeg.Options{Quality: quality})
		}
		if err != nil {
			return Set{}, fmt.Errorf("encode a thumbnail: %w", err)
		}
		set.Thumbs = append(set.Thumbs, Thumb{Size: sizes[n], Data: withProfile(b.Bytes(), icc, set.Format)})
	}
	return set, nil
}
