// Package intake reads lists of images that somebody wants to keep: addresses,
// CSV, JSON, logs of an OpenAI-compatible API, and our own exports. It owns
// their forms. It does not fetch, and does not know what becomes of an item.
package intake

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"
)

// Item is one image of a list, or a line that is none.
type Item struct {
	Line           int // where it stands, from 1
	URL            string
	Data           []byte // the bytes themselves, where the list has them
	File           string // of an export: where the bytes lie in it
	ID             string // of an export
	Owner          string // of an export
	Prompt         string
	NegativePrompt string
	Provider       string
	Model          string
	Params         map[string]any
	CreatedAt      time.Time // zero: not known
	Favorite       bool
	SHA256         string // of an export
	Err            error  // what is wrong with the line; the rest is empty then
}

// maxLine bounds a line: a log may have several images in it, as base64.
const maxLine = 256 << 20

// Read finds out what form a list has and gives its items in order. Lists of
// any length take the memory of a line.
func Read(r io.Reader) iter.Seq[Item] {
	b := bufio.NewReaderSize(r, 64<<10)
	b.Discard(len(bom(b)))
	start, _ := b.Peek(b.Size())
	switch first := bytes.TrimSpace(start); {
	case bytes.IndexByte(start, 0) >= 0:
		return func(yield func(Item) bool) {
			yield(Item{Line: 1, Err: errors.New("this is no list of images: it is not text in UTF-8")})
		}
	case len(first) > 0 && (first[0] == '{' || first[0] == '['):
		return readJSON(b)
	case isCSV(first):
		return readCSV(b)
	}
	return readURLs(b)
}

// bom is the mark that some programs write in front of UTF-8.
func bom(b *bufio.Reader) []byte {
	mark := []byte("\xef\xbb\xbf")
	if start, _ := b.Peek(len(mark)); bytes.Equal(start, mark) {
		return mark
	}
	return nil
}

// readURLs takes an address a line. Empty lines, and those that begin with #,
// are passed over.
func readURLs(r io.Reader) iter.Seq[Item] {
	return func(yield func(Item) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxLine)
		n := 0
		for lines.Scan() {
			n++
			text := strings.TrimSpace(lines.Text())
			if text == "" || text[0] == '#' {
				continue
			}
			if !yield(Item{Line: n, URL: text}) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Item{Line: n + 1, Err: err})
		}
	}
}

// columns are the names that a CSV's header may have.
var columns = map[string][]string{
	"url":             {"url", "image_url", "image", "link", "src", "source"},
	"prompt":          {"prompt", "title", "description"},
	"negative_prompt": {"negative_prompt"},
	"provider":        {"provider"},
	"model":           {"model"},
}

// isCSV reports whether the first line names a column of addresses.
func isCSV(start []byte) bool {
	line, _, _ := bytes.Cut(start, []byte("\n"))
	for name := range strings.FieldsFuncSeq(string(line), func(c rune) bool { return strings.ContainsRune(",;\t\"\r", c) }) {
		if slices.Contains(columns["url"], strings.ToLower(strings.TrimSpace(name))) {
			return true
		}
	}
	return false
}

// readCSV reads a table with a header, separated by commas, semicolons or tabs.
func readCSV(r *bufio.Reader) iter.Seq[Item] {
	return func(yield func(Item) bool) {
		start, _ := r.Peek(r.Size())
		table := csv.NewReader(r)
		table.Comma, table.FieldsPerRecord, table.LazyQuotes = separator(start), -1, true
		header, err := table.Read()
		if err != nil {
			yield(Item{Line: 1, Err: err})
			return
		}
		place := places(header)
		for {
			row, err := table.Read()
			if err == io.EOF {
				return
			}
			line, _ := table.FieldPos(0)
			get := func(column string) string {
				n, there := place[column]
				if !there || n >= len(row) {
					return ""
				}
				return strings.TrimSpace(row[n])
			}
			item := Item{Line: line, URL: get("url"), Prompt: get("prompt"), NegativePrompt: get("negative_prompt"),
				Provider: get("provider"), Model: get("model")}
			switch {
			case err != nil:
				item = Item{Line: line, Err: err}
			case item.URL == "":
				item = Item{Line: line, Err: fmt.Errorf("there is no address in the column %s", header[place["url"]])}
			}
			if !yield(item) {
				return
			}
		}
	}
}

// separator is what stands most often in the first line.
func separator(start []byte) rune {
	line, _, _ := bytes.Cut(start, []byte("\n"))
	best := ','
	for _, c := range ";\t" {
		if bytes.Count(line, []byte(string(c))) > bytes.Count(line, []byte(string(best))) {
			best = c
		}
	}
	return best
}

func places(header []string) map[string]int {
	place := map[string]int{}
	for n, name := range header {
		for column, names := range columns {
			if _, taken := place[column]; !taken && slices.Contains(names, strings.ToLower(strings.TrimSpace(name))) {
				place[column] = n
			}
		}
	}
	return place
}
