package records

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Prompts are found by parts of words in any script. Neither database's own
// search can do that for Chinese words of two characters, so we cut words into
// grams ourselves and let the database index those: at each character of a
// word that one and the next two, or the next one where it is Chinese,
// Japanese or Korean. What the index finds is then compared as text.

// folded is how prompts are compared: in lower case, and with letters of
// another width or form as the usual ones.
func folded(s string) string { return norm.NFKC.String(strings.ToLower(validText(s))) }

// words are the runs of letters and digits of a folded text.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	})
}

// gramLen is how many characters a gram has that begins with r.
func gramLen(r rune) int {
	if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
		return 2
	}
	return 3
}

// grams are all grams of a folded text, each once. Near the end of a word they
// are shorter.
func grams(text string) []string {
	var list []string
	for _, word := range words(text) {
		runes := []rune(word)
		for n, r := range runes {
			list = append(list, gramText(runes[n:min(n+gramLen(r), len(runes))]))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// gramText writes a gram in letters that every tokenizer leaves alone. A gram
// that begins with another one begins with its text.
func gramText(gram []rune) string {
	text := string(gram)
	if strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return text
	}
	return hex.EncodeToString([]byte(text))
}

// search is what somebody looks for.
type search struct {
	terms    []string // each of them has to be in the prompt
	whole    []string // grams that it must have
	prefixes []string // beginnings of grams that it must have
}

func newSearch(text string) search {
	s := search{terms: strings.Fields(folded(text))}
	for _, term := range s.terms {
		for _, word := range words(term) {
			s.add([]rune(word))
		}
	}
	return s
}

// add takes a part of a word: its whole grams, or if it is shorter than one
// the beginning of a gram.
func (s *search) add(word []rune) {
	found := false
	for n, r := range word {
		if end := n + gramLen(r); end <= len(word) {
			s.whole, found = append(s.whole, gramText(word[n:end])), true
		}
	}
	if !found {
		s.prefixes = append(s.prefixes, gramText(word))
	}
}

// query is the search in the language of the database's index; empty: nothing
// of it is indexed.
func (s *search) query(postgres bool) string {
	and, mark, prefix := ` AND `, `"`, `*`
	if postgres {
		and, mark, prefix = ` & `, `'`, `:*`
	}
	var list []string
	for _, g := range s.whole {
		list = append(list, mark+g+mark)
	}
	for _, g := range s.prefixes {
		list = append(list, mark+g+mark+prefix)
	}
	return strings.Join(list, and)
}

// like is the condition that a column has every term.
func (s *search) like(column string) (condition string, args []any) {
	conditions := make([]string, len(s.terms))
	for n, term := range s.terms {
		conditions[n] = column + ` LIKE ? ESCAPE '!'`
		args = append(args, "%"+likeEscape.Replace(term)+"%")
	}
	return strings.Join(conditions, ` AND `), args
}

// found is a common table expression of the ids of all images that the search
// finds, whoever's they are: join it with a person's.
func (s *search) found(postgres bool) (with string, args []any) {
	like, args := s.like(`text`)
	query := s.query(postgres)
	switch {
	case query == "":
		return `WITH found AS MATERIALIZED (SELECT image_id FROM image_words WHERE ` + like + `)`, args
	case postgres:
		with = `SELECT image_id FROM image_words WHERE grams @@ CAST(? AS tsquery) AND ` + like
	default:
		with = `SELECT image_id FROM image_grams CROSS JOIN image_words ON image_words.num = image_grams.rowid
			WHERE image_grams MATCH ? AND ` + like
	}
	return `WITH found AS MATERIALIZED (` + with + `)`, slices.Concat([]any{query}, args)
}

// likeEscape makes a LIKE pattern mean what it says.
var likeEscape = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// indexPrompts makes images findable, in the transaction that adds them. A
// prompt never changes.
func (t *tx) indexPrompts(images []*Image) error {
	for part := range slices.Chunk(images, changeBatch) {
		var rows, cut [][]any
		for _, i := range part {
			text := folded(i.Prompt)
			if text == "" {
				continue
			}
			rows = append(rows, []any{i.ID, text})
			cut = append(cut, []any{i.ID, strings.Join(grams(text), " ")})
		}
		if err := t.indexRows(rows, cut); err != nil {
			return fmt.Errorf("index prompts: %w", err)
		}
	}
	return nil
}

func (t *tx) indexRows(rows, grams [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	many := func(row string) string { return row + strings.Repeat(`, `+row, len(rows)-1) }
	if t.postgres {
		args := make([]any, 0, 3*len(rows))
		for n := range rows {
			args = append(args, rows[n][0], rows[n][1], grams[n][1])
		}
		_, err := t.exec(`INSERT INTO image_words (image_id, text, grams) VALUES `+
			many(`(?, ?, array_to_tsvector(string_to_array(?, ' ')))`)+` ON CONFLICT DO NOTHING`, args...)
		return err
	}
	_, err := t.exec(`INSERT INTO image_words (image_id, text) VALUES `+many(`(?, ?)`), slices.Concat(rows...)...)
	if err == nil {
		_, err = t.exec(`INSERT INTO image_grams (rowid, grams) VALUES `+
			many(`((SELECT num FROM image_words WHERE image_id = ?), ?)`), slices.Concat(grams...)...)
	}
	return err
}
