package main

import (
	"bytes"
	"encoding/json"
	goimage "image"
	"image/png"
	"math/rand/v2"
	"testing"
)

// decoded reads what a command printed as JSON.
func decoded[T any](t *testing.T, text []byte, beside string) (v T) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s\n%s", err, text, beside)
	}
	return v
}

// noisePNG is a square picture that does not shrink.
func noisePNG(t *testing.T, side int) []byte {
	t.Helper()
	picture := goimage.NewNRGBA(goimage.Rect(0, 0, side, side))
	for n := range picture.Pix {
		picture.Pix[n] = byte(rand.Uint32() | 1)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
