package fetch

import (
	"bytes"
	"compress/zlib"
	"io"
	"sync"
)

// maxTexts bounds how often the inflater is started for one file.
const maxTexts = 1000

// colourProfile inflates an ICC profile, to count it.
func (w *pngWalk) colourProfile(at, size int64) error {
	skip, err := w.past(at, size, 1)
	if err != nil || skip < 0 {
		return err
	}
	n := w.inflated(at+skip+1, size-skip-1, w.lim.Profile)
	return w.profile(n)
}

// compressedText inflates a text, to count it.
func (w *pngWalk) compressedText(kind string, at, size int64) error {
	skip, err := w.past(at, size, 1) // the keyword
	if err != nil || skip < 0 {
		return err
	}
	if kind == "iTXt" {
		if size-skip < 2 {
			return nil
		}
		flag, err := w.bytes(at+skip, 1)
		if err != nil || flag[0] != 1 {
			return err
		}
		texts, err := w.past(at+skip+2, size-skip-2, 2) // language and translated keyword
		if err != nil || texts < 0 {
			return err
		}
		skip += 1 + texts
	}
	if w.texts++; w.texts > maxTexts {
		return tooLarge("more than %d compressed texts", maxTexts)
	}
	w.text += w.inflated(at+skip+1, size-skip-1, w.lim.Text-w.text)
	if w.text > w.lim.Text {
		return tooLarge("text of more than %d bytes, inflated", w.lim.Text)
	}
	return nil
}

// past gives the offset behind the count-th zero byte, -1 when there is none. Keywords are short:
// what does not end soon is left to whoever reads it.
func (w *pngWalk) past(at, size int64, count int) (int64, error) {
	b, err := w.bytes(at, int(min(size, 512)))
	if err != nil {
		return 0, err
	}
	skip := 0
	for range count {
		i := bytes.IndexByte(b[skip:], 0)
		if i < 0 {
			return -1, nil
		}
		skip += i + 1
	}
	return int64(skip), nil
}

var inflaters sync.Pool // of io.ReadCloser by zlib

// inflated counts the bytes that come out of compressed data, up to one more than limit. Damage
// ends the count: decoders skip such a chunk.
func (w *pngWalk) inflated(at, size, limit int64) int64 {
	if size <= 0 {
		return 0
	}
	src := io.NewSectionReader(w.r, at, size)
	z, ok := inflaters.Get().(io.ReadCloser)
	if ok {
		if z.(zlib.Resetter).Reset(src, nil) != nil {
			return 0
		}
	} else {
		var err error
		if z, err = zlib.NewReader(src); err != nil {
			return 0
		}
	}
	defer inflaters.Put(z)
	n, _ := io.CopyN(io.Discard, z, limit+1)
	return n
}
