package archive

import (
	"strings"

	"afterimage/archive/thumbs"
	"afterimage/records"
)

const (
	images     = "images/"
	thumbnails = "thumbs/"
	quarantine = "quarantine/" // + the day it was put there + the key it had
	probes     = "check-"      // what storage's check writes and deletes
)

// ours reports whether a key is below one of our prefixes.
func ours(key string) bool {
	return strings.HasPrefix(key, images) || strings.HasPrefix(key, thumbnails) || strings.HasPrefix(key, sidecars)
}

// idOf is the image that an object of ours belongs to; empty if its key is not
// as we make them.
func idOf(key string) string {
	_, rest, _ := strings.Cut(key, "/")
	name := rest[strings.LastIndexByte(rest, '/')+1:]
	if len(name) <= idLen || !records.IsID(name[:idLen]) || !strings.HasPrefix(rest, dated(name[:idLen])) {
		return ""
	}
	return name[:idLen]
}

// idLen is the length of an id.
const idLen = 32

// keysOf are the objects that an archived image should have.
func keysOf(k records.Kept) []string {
	keys := []string{k.ObjectKey}
	if k.Thumb == records.ThumbJPEG || k.Thumb == records.ThumbPNG {
		for _, size := range thumbs.Sizes(k.Width, k.Height) {
			keys = append(keys, thumbKey(k.ID, k.Thumb, size))
		}
	}
	return append(keys, sidecarPrefix(k.ID)+k.Sidecar+".json")
}
