package intake

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"
)

// readJSON reads values one after the other: a line each, an array, or written
// over several lines. A line that is broken does not hide the next ones.
func readJSON(r *bufio.Reader) iter.Seq[Item] {
	return func(yield func(Item) bool) {
		n := 0
		for {
			n++
			line, err := r.ReadBytes('\n')
			if len(bytes.TrimSpace(line)) > 0 {
				if !json.Valid(line) && n == 1 { // not a value a line
					readValues(io.MultiReader(bytes.NewReader(line), r), yield)
					return
				}
				if !each(n, line, yield) {
					return
				}
			}
			if err == io.EOF {
				return
			}
			if err != nil || len(line) > maxLine {
				yield(Item{Line: n, Err: errors.Join(err, errors.New("the line cannot be read"))})
				return
			}
		}
	}
}

// readValues reads a stream of values, or one array, a value at a time. After
// an error nothing more can be understood.
func readValues(r io.Reader, yield func(Item) bool) {
	b := bufio.NewReader(r)
	dec := json.NewDecoder(b)
	if start, _ := b.Peek(1); len(start) > 0 && start[0] == '[' {
		dec.Token() // the bracket that was just seen
	}
	for n := 1; dec.More(); n++ {
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			yield(Item{Line: n, Err: fmt.Errorf("this is no JSON: %w", err)})
			return
		}
		if !each(n, value, yield) {
			return
		}
	}
}

// record is everything that an object may say of images.
type record struct {
	URL            string         `json:"url"`
	B64            string         `json:"b64_json"`
	Prompt         string         `json:"prompt"`
	Revised        string         `json:"revised_prompt"`
	NegativePrompt string         `json:"negative_prompt"`
	Provider       string         `json:"provider"`
	Model          string         `json:"model"`
	Params         map[string]any `json:"params"`
	CreatedAt      time.Time      `json:"created_at"`
	Created        int64          `json:"created"` // OpenAI's, in seconds

	ID       string `json:"id"` // these of our exports
	Owner    string `json:"owner"`
	File     string `json:"file"`
	SHA256   string `json:"sha256"`
	Status   string `json:"status"`
	Favorite bool   `json:"favorite"`
	Version  int    `json:"version"`

	Items    []json.RawMessage `json:"items"`    // as our API takes them
	Data     []json.RawMessage `json:"data"`     // OpenAI's answer
	Request  json.RawMessage   `json:"request"`  // a log of both
	Response json.RawMessage   `json:"response"` // perhaps with a body in it
	Body     json.RawMessage   `json:"body"`
}

// each gives the items of one value. It reports whether to go on.
func each(line int, value []byte, yield func(Item) bool) bool {
	value = bytes.TrimSpace(value)
	if len(value) > 0 && value[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(value, &list); err != nil {
			return yield(Item{Line: line, Err: fmt.Errorf("this is no JSON: %w", err)})
		}
		return eachOf(line, list, record{}, yield)
	}
	return object(line, value, record{}, yield)
}

func eachOf(line int, list []json.RawMessage, about record, yield func(Item) bool) bool {
	for _, value := range list {
		if !object(line, value, about, yield) {
			return false
		}
	}
	return true
}

// object gives the items of one object. About is what is known of them from
// what is around it.
func object(line int, value []byte, about record, yield func(Item) bool) bool {
	var url string
	if json.Unmarshal(value, &url) == nil { // a list of addresses
		return yield(Item{Line: line, URL: url})
	}
	// What is not in the object keeps what is known from around it.
	r := record{Prompt: about.Prompt, NegativePrompt: about.NegativePrompt, Provider: about.Provider, Model: about.Model, Created: about.Created}
	if err := json.Unmarshal(value, &r); err != nil {
		return yield(Item{Line: line, Err: fmt.Errorf("this is no JSON of an image: %w", err)})
	}
	for _, inner := range []json.RawMessage{r.Request, r.Body} { // what was asked for
		if len(inner) > 0 && inner[0] == '{' {
			asked := struct {
				*record
				Body json.RawMessage `json:"body"`
			}{record: &r}
			json.Unmarshal(inner, &asked)
			if len(asked.Body) > 0 {
				json.Unmarshal(asked.Body, &r)
			}
		}
	}
	switch {
	case len(r.Items) > 0:
		return eachOf(line, r.Items, r, yield)
	case len(r.Data) > 0:
		return eachOf(line, r.Data, r, yield)
	case len(r.Response) > 0 && r.Response[0] == '{':
		r.Request = nil
		return object(line, r.Response, r, yield)
	case len(r.Body) > 0 && r.Body[0] == '{' && r.URL == "" && r.B64 == "":
		return object(line, r.Body, r, yield)
	case r.Version > 0 && r.File == "" && r.SHA256 != "" || r.Version > 0 && r.Status != "" && r.File == "":
		return true // an export's line of an image without bytes
	}
	return yield(r.item(line))
}

func (r *record) item(line int) Item {
	i := Item{Line: line, URL: strings.TrimSpace(r.URL), Prompt: r.Prompt, NegativePrompt: r.NegativePrompt, Provider: r.Provider,
		Model: r.Model, Params: r.Params, CreatedAt: r.CreatedAt}
	if i.Prompt == "" {
		i.Prompt = r.Revised
	}
	if i.CreatedAt.IsZero() && r.Created > 0 {
		i.CreatedAt = time.Unix(r.Created, 0).UTC()
	}
	switch {
	case r.File != "":
		i.File, i.ID, i.Owner, i.SHA256, i.Favorite, i.URL = r.File, r.ID, r.Owner, r.SHA256, r.Favorite, ""
	case i.URL != "":
	case r.B64 != "":
		data, err := base64.StdEncoding.DecodeString(r.B64)
		if err != nil {
			return Item{Line: line, Err: fmt.Errorf("b64_json: %w", err)}
		}
		i.Data = data
	default:
		return Item{Line: line, Err: errors.New("there is neither url nor b64_json")}
	}
	return i
}
