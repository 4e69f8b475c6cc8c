package records

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"strings"
	"time"
)

// idEncoding keeps the order of the bytes and needs no escaping in a URL, a
// file name or an object key.
var idEncoding = base32.HexEncoding.WithPadding(base32.NoPadding)

// idLen is the length of every id: 160 bits at 5 bits a character.
const idLen = 32

// NewID returns 32 lower-case characters: the second it was made, so that new
// rows stand together in an index, and 128 random bits, so that nobody can
// guess the address of an image.
func NewID() string {
	var b [20]byte
	binary.BigEndian.PutUint32(b[:4], uint32(time.Now().Unix()))
	rand.Read(b[4:]) // never fails, by its documentation
	return lower(idEncoding.EncodeToString(b[:]))
}

// IDTime is the second in which an id of NewID was made, so that what belongs
// to an id can be kept by date and found again by the id alone. For any other
// text it is the zero time.
func IDTime(id string) time.Time {
	if !IsID(id) {
		return time.Time{}
	}
	b, err := idEncoding.DecodeString(strings.ToUpper(id))
	if err != nil {
		return time.Time{}
	}
	return time.Unix(int64(binary.BigEndian.Uint32(b)), 0).UTC()
}

// orderedID returns an id for a job or an event: 64 bits of time, which sort
// in the order of the calls within a transaction, and 96 random bits.
func (t *tx) orderedID() string {
	var b [20]byte
	t.ids++
	binary.BigEndian.PutUint64(b[:8], uint64(t.now.UnixNano()+t.ids))
	rand.Read(b[8:])
	return lower(idEncoding.EncodeToString(b[:]))
}

// IsID reports whether s has the form of an id. It saves a query for addresses
// that cannot exist.
func IsID(s string) bool {
	if len(s) != idLen {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'v') {
			return false
		}
	}
	return true
}

func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + ('a' - 'A')
		}
	}
	return string(b)
}
