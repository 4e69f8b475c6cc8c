package generate

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

// eventReader takes a stream of events apart while it arrives. Images are in
// the events; which image an event is about is not said, so those that are
// complete are counted.
type eventReader struct {
	lines    *bufio.Reader
	json     *jsonStream
	n        int
	maxBytes int64
	emit     func(Output) error
	made     int
	ended    bool // "[DONE]"
}

// readEvents hands over the images of an event stream, and the unfinished ones
// as such. A stream that ends before all images were complete leaves it open
// what was made and charged.
func readEvents(body io.Reader, n int, maxBytes int64, emit func(Output) error) error {
	limit := int64(n)*(maxBytes*2)*4 + textLimit // three unfinished ones beside each
	lines := bufio.NewReaderSize(&limitedBody{r: body, left: limit}, 32<<10)
	e := &eventReader{lines: lines, json: newJSONStream(lines), n: n, maxBytes: maxBytes, emit: emit}
	kind := ""
	for !e.ended {
		field, err := e.field()
		if err == io.EOF {
			break
		}
		if err == nil {
			kind, err = e.line(field, kind)
		}
		if err != nil {
			return answerError(err)
		}
	}
	if e.made < n {
		return &Error{Reason: ReasonUnknownOutcome, Detail: fmt.Sprintf("the stream ended with %d images of %d", e.made, n)}
	}
	return nil
}

// field reads up to a line's colon; an empty one is the end of a line.
func (e *eventReader) field() (string, error) {
	var name []byte
	for len(name) < 100 {
		c, err := e.lines.ReadByte()
		switch {
		case err == io.EOF && len(name) > 0:
			return "", io.ErrUnexpectedEOF
		case err != nil:
			return "", err
		case c == '\n':
			return "", nil
		case c == ':' && len(name) == 0:
			return "comment", nil
		case c == ':':
			return string(name), nil
		case c != '\r':
			name = append(name, c)
		}
	}
	return "", fmt.Errorf("%w: no event", errNotJSON)
}

// line reads a line's value and returns the kind of the events that follow.
func (e *eventReader) line(field, kind string) (string, error) {
	if field == "" {
		return kind, nil
	}
	if field == "data" {
		if c, err := e.json.next(); err != nil || c == '{' {
			if err != nil {
				return "", err
			}
			return "", e.event(kind)
		}
	}
	text, err := e.lines.ReadString('\n')
	if err != nil && err != io.EOF {
		return "", err
	}
	text = strings.TrimSpace(text)
	e.ended = field == "data" && text == "[DONE]"
	if field == "event" {
		return text, nil
	}
	return kind, nil
}

// event reads one event. Its kind is in the line before it, or in its type; if
// that comes only after the bytes, they are held until then.
func (e *eventReader) event(kind string) error {
	out, held := Output{Index: e.made}, []byte(nil)
	err := e.json.object(func(key string) error {
		switch key {
		case "type":
			raw, err := e.json.raw(textLimit)
			kind = plain(raw)
			return err
		case "error":
			raw, err := e.json.raw(textLimit)
			if err != nil || string(raw) == "null" {
				return err
			}
			return itemError(raw)
		case "partial_image_index":
			raw, err := e.json.raw(textLimit)
			_, _ = fmt.Sscan(string(raw), &out.PartialIndex)
			return err
		case "b64_json":
			if !strings.HasSuffix(kind, ".completed") || !e.json.startsWith(`"`) {
				raw, err := e.json.raw(int(min(e.maxBytes*2, 1<<30)))
				held = raw
				return err
			}
			return e.complete(out, e.json.text())
		}
		return e.json.skip()
	})
	if err != nil || held == nil {
		return err
	}
	text := strings.NewReader(plain(held))
	if strings.HasSuffix(kind, ".completed") {
		return e.complete(out, text)
	}
	if !strings.Contains(kind, "partial") {
		return nil
	}
	out.Partial, out.Body = true, base64.NewDecoder(base64.RawStdEncoding, &base64Text{text})
	return e.hand(out)
}

// complete hands over a finished image.
func (e *eventReader) complete(out Output, text io.Reader) error {
	if out.Index < e.n {
		e.made++
		out.Body = &imageBody{text: text, decoded: base64.NewDecoder(base64.RawStdEncoding, &base64Text{text})}
		if err := e.hand(out); err != nil {
			return err
		}
	}
	_, err := io.Copy(io.Discard, text) // what emit did not want
	return err
}

func (e *eventReader) hand(out Output) error {
	if err := e.emit(out); err != nil {
		return emitError{err}
	}
	return nil
}
