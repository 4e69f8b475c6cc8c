package generate

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// textLimit bounds everything in an answer that is not an image.
const textLimit = 1 << 20

// answerReader takes an images answer apart while it arrives.
type answerReader struct {
	json *jsonStream
	n    int
	emit func(Output) error
	made int
}

// readAnswer hands over the images of {"data":[{"url"|"b64_json"…}…]}. Bytes
// of an image are decoded as emit reads them. maxBytes bounds each image.
func readAnswer(body io.Reader, n int, maxBytes int64, emit func(Output) error) error {
	limit := int64(n)*(maxBytes*2) + textLimit // base64 is 4/3; escapes may add to it
	a := &answerReader{json: newJSONStream(&limitedBody{r: body, left: limit}), n: n, emit: emit}
	if err := a.json.object(a.field); err != nil {
		return answerError(err)
	}
	if a.made < n {
		return &Error{Reason: ReasonProviderError, Detail: fmt.Sprintf("the answer holds %d images of %d", a.made, n)}
	}
	return nil
}

// errTooLarge ends an answer that would never end.
var errTooLarge = errors.New("the answer is too large")

// limitedBody is like io.LimitReader, but its end is an error.
type limitedBody struct {
	r    io.Reader
	left int64
}

func (l *limitedBody) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLarge
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// emitError carries an error of emit through the parser untouched.
type emitError struct{ err error }

func (e emitError) Error() string { return e.err.Error() }

// answerError sorts what can go wrong with a 200: emit's own error is handed
// back; an answer that is no images answer is the provider's fault; one that
// breaks off leaves it open what was made and charged.
func answerError(err error) error {
	if e, ok := errors.AsType[emitError](err); ok {
		return e.err
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if errors.Is(err, errNotJSON) || errors.Is(err, errTooLarge) {
		return &Error{Reason: ReasonProviderError, Detail: "status 200, but " + err.Error() + " (check OPENAI_BASE_URL)", Err: err}
	}
	return &Error{Reason: ReasonUnknownOutcome, Detail: "the answer broke off: " + err.Error(), Err: err}
}

func (a *answerReader) field(key string) error {
	switch key {
	case "data":
		return a.json.array(a.item)
	case "error": // some servers answer 200 with an error
		return a.failed()
	}
	return a.json.skip()
}

func (a *answerReader) failed() error {
	raw, err := a.json.raw(textLimit)
	if err != nil || string(raw) == "null" {
		return err
	}
	return itemError(raw)
}

// itemError sorts an error object that has no status of its own.
func itemError(raw []byte) *Error {
	api, _ := parseAPIError(append(append([]byte(`{"error":`), raw...), '}'))
	e := &Error{Reason: api.reason(), Message: api.Message, Detail: "code " + api.Code}
	if e.Reason == "" {
		e.Reason = ReasonProviderError
	}
	e.Retryable = e.Reason == ReasonThrottled
	return e
}

// item reads one image. Its bytes are handed over as soon as they come, so
// what the server says of it after them is lost.
func (a *answerReader) item(index int) error {
	if index >= a.n {
		return a.json.skip() // more than was asked for
	}
	out := Output{Index: index}
	given := false
	err := a.json.object(func(key string) error {
		if key == "b64_json" && !given || key == "url" && !given && a.json.startsWith(`"data:`) {
			ok, err := a.bytes(out)
			given = given || ok
			return err
		}
		return a.about(key, &out)
	})
	if err != nil || given {
		return err
	}
	if out.URL == "" && out.Err == nil {
		out.Err = &Error{Reason: ReasonProviderError, Detail: "the answer has neither bytes nor a link"}
	}
	if out.Err != nil {
		out.URL = ""
	}
	return a.hand(out)
}

// about reads what is not bytes.
func (a *answerReader) about(key string, out *Output) error {
	switch key {
	case "url", "revised_prompt", "seed", "error":
	default:
		return a.json.skip()
	}
	raw, err := a.json.raw(textLimit)
	if err != nil {
		return err
	}
	switch key {
	case "url":
		out.URL = plain(raw)
	case "revised_prompt":
		out.RevisedPrompt = plain(raw)
	case "seed":
		_ = json.Unmarshal(raw, &out.Seed) // a seed that is no whole number is none
	case "error":
		if string(raw) != "null" {
			out.Err = itemError(raw)
		}
	}
	return nil
}

// bytes hands over an image in base64; false: the value was null or empty.
func (a *answerReader) bytes(out Output) (bool, error) {
	if !a.json.startsWith(`"`) || a.json.startsWith(`""`) {
		return false, a.json.skip()
	}
	dataURL := a.json.startsWith(`"data:`)
	text := a.json.text()
	if dataURL {
		if err := passComma(text); err != nil {
			return true, err
		}
	}
	out.URL, out.Err = "", nil
	out.Body = &imageBody{text: text, decoded: base64.NewDecoder(base64.RawStdEncoding, &base64Text{text})}
	if err := a.hand(out); err != nil {
		return true, err
	}
	_, err := io.Copy(io.Discard, text) // what emit did not want
	return true, err
}

// passComma reads up to the comma before a data URL's contents.
func passComma(r io.Reader) error {
	var c [1]byte
	for range 256 {
		if _, err := io.ReadFull(r, c[:]); err != nil {
			return fmt.Errorf("%w: a data URL without contents", errNotJSON)
		}
		if c[0] == ',' {
			return nil
		}
	}
	return fmt.Errorf("%w: a data URL without contents", errNotJSON)
}

func (a *answerReader) hand(out Output) error {
	a.made++
	if err := a.emit(out); err != nil {
		return emitError{err}
	}
	return nil
}

// imageBody decodes base64 as it is read, and sorts its errors, since they
// come back to us by way of emit.
type imageBody struct {
	text    io.Reader
	decoded io.Reader
}

func (b *imageBody) Read(p []byte) (int, error) {
	n, err := b.decoded.Read(p)
	if _, bad := errors.AsType[base64.CorruptInputError](err); bad {
		return n, &Error{Reason: ReasonProviderError, Detail: "the answer's base64 is broken", Err: err}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && b.ended() {
		return n, &Error{Reason: ReasonProviderError, Detail: "the answer's base64 ends too early", Err: err}
	}
	if err != nil && err != io.EOF {
		return n, answerError(err)
	}
	return n, err
}

// ended says that the JSON string was whole, whatever its contents.
func (b *imageBody) ended() bool {
	_, err := b.text.Read(make([]byte, 1))
	return err == io.EOF
}

// base64Text makes one alphabet of what servers send: the "=" at the end go,
// the URL alphabet becomes the standard one.
type base64Text struct{ r io.Reader }

func (t *base64Text) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	kept := 0
	for _, c := range p[:n] {
		switch c {
		case '=', '\r', '\n', ' ':
			continue
		case '-':
			c = '+'
		case '_':
			c = '/'
		}
		p[kept] = c
		kept++
	}
	return kept, err
}
