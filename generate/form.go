package generate

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
)

// form is a multipart body of known length whose files are read while it is
// sent: they may be larger than what should be held in memory.
type form struct {
	text   bytes.Buffer // what no part has yet
	writer *multipart.Writer
	parts  []io.Reader
	length int64
	err    error
}

func newForm() *form {
	f := &form{}
	f.writer = multipart.NewWriter(&f.text)
	return f
}

func (f *form) field(name string, value any) {
	if f.err == nil {
		f.err = f.writer.WriteField(name, fmt.Sprint(value))
	}
}

func (f *form) file(name string, p Picture) {
	if f.err != nil {
		return
	}
	_, f.err = f.writer.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {fmt.Sprintf(`form-data; name=%q; filename=%q`, name, p.Name)},
		"Content-Type":        {p.MIME},
	})
	f.cut()
	f.parts = append(f.parts, &lazyFile{open: p.Open})
	f.length += p.Size
}

// cut makes a part of the text so far.
func (f *form) cut() {
	text := bytes.Clone(f.text.Bytes())
	f.text.Reset()
	f.parts = append(f.parts, bytes.NewReader(text))
	f.length += int64(len(text))
}

// done ends the form. Close the body when it was not sent; net/http does so
// when it was.
func (f *form) done() (body io.Reader, length int64, contentType string, err error) {
	if f.err == nil {
		f.err = f.writer.Close()
	}
	f.cut()
	return io.MultiReader(f.parts...), f.length, f.writer.FormDataContentType(), f.err
}

// lazyFile is open from its first byte to its last.
type lazyFile struct {
	open func() (io.ReadCloser, error)
	file io.ReadCloser
}

func (l *lazyFile) Read(p []byte) (n int, err error) {
	if l.file == nil {
		if l.file, err = l.open(); err != nil {
			return 0, fmt.Errorf("open an image to start from: %w", err)
		}
	}
	n, err = l.file.Read(p)
	if err != nil {
		l.file.Close()
	}
	return n, err
}
