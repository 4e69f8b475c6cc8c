package web

import (
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// Args fill the placeholders of a sentence, by name. Whole numbers are written with separators; a
// template.HTML goes as it is into a page and as text into an answer.
type Args map[string]any

// Catalogue is the word list of one language. The zero value has no words and tells keys instead.
type Catalogue struct {
	tag   language.Tag
	lang  string
	words map[string]phrase
}

// phrase is one entry: a sentence, or one for each plural form.
type phrase map[string]string

// UnmarshalJSON accepts "text" and {"one": "text", "other": "text"}.
func (p *phrase) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*p = phrase{"other": text}
		return nil
	}
	var forms map[string]string
	if err := json.Unmarshal(b, &forms); err != nil {
		return err
	}
	*p = forms
	return nil
}

// readCatalogues reads every file of the folder locales; the file's name is the language.
func readCatalogues(files fs.FS) (map[string]Catalogue, error) {
	names, err := fs.Glob(files, "locales/*.json")
	if err != nil {
		return nil, fmt.Errorf("list word lists: %w", err)
	}
	all := map[string]Catalogue{}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read word list: %w", err)
		}
		lang := strings.TrimSuffix(path.Base(name), ".json")
		tag, err := language.Parse(lang)
		if err != nil {
			return nil, fmt.Errorf("word list %s: %w", name, err)
		}
		c := Catalogue{tag: tag, lang: lang}
		if err := json.Unmarshal(text, &c.words); err != nil {
			return nil, fmt.Errorf("word list %s: %w", name, err)
		}
		all[lang] = c
	}
	return all, nil
}

// Lang is the language of the words, such as "zh-CN".
func (c Catalogue) Lang() string { return c.lang }

// Text is the sentence of a key with its placeholders filled. A key we do not have is its own text,
// so that a mistake is seen and nothing breaks. The argument "n", when a number, chooses the plural.
func (c Catalogue) Text(key string, args Args) string {
	return c.fill(key, args, func(s string) string { return s })
}

// HTML is Text for a page: everything is escaped but arguments that are HTML already.
func (c Catalogue) HTML(key string, args Args) template.HTML {
	return template.HTML(c.fill(key, args, template.HTMLEscapeString))
}

// Has reports whether there is a sentence for a key.
func (c Catalogue) Has(key string) bool { _, ok := c.words[key]; return ok }

// Status is the word for a state, the API's status_text.
func (c Catalogue) Status(key string) string { return c.Text("status."+key, nil) }

// Reason is the sentence for a reason, the API's reason_text; empty for no reason. It names figures
// where it has them: "The provider had a problem (502)."
func (c Catalogue) Reason(r Reason) string {
	if r.Code == "" {
		return ""
	}
	key := "reason." + r.Code
	if !c.Has(key) {
		key = "reason.unknown"
	}
	if args := c.reasonArgs(r); args != nil && c.Has(key+".with") {
		return c.Text(key+".with", args)
	}
	return c.Text(key, nil)
}

func (c Catalogue) reasonArgs(r Reason) Args {
	switch {
	case r.Code == "source_error" && r.Status != 0:
		return Args{"status": strconv.Itoa(r.Status)}
	case r.Code == "source_too_large" && r.Limit != 0:
		return Args{"limit": c.Bytes(r.Limit)}
	case r.ErrorID != "":
		return Args{"id": r.ErrorID}
	}
	return nil
}

// Provider is the name people know a provider by.
func (c Catalogue) Provider(name string) string {
	if name == "" {
		name = "none"
	}
	if key := "provider." + name; c.Has(key) {
		return c.Text(key, nil)
	}
	return name
}

// fill replaces {name} in the sentence; a placeholder without an argument stays as it is.
func (c Catalogue) fill(key string, args Args, escape func(string) string) string {
	forms, ok := c.words[key]
	if !ok {
		return escape(key)
	}
	text := forms["other"]
	if one, ok := forms[c.pluralOf(args["n"])]; ok {
		text = one
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		name, after, closed := strings.Cut(rest, "}")
		out.WriteString(escape(before))
		if !found || !closed {
			return out.String()
		}
		if value, ok := args[name]; ok {
			out.WriteString(write(value, escape))
		} else {
			out.WriteString(escape("{" + name + "}"))
		}
		text = after
	}
}

// write puts an argument into a sentence.
func write(value any, escape func(string) string) string {
	switch v := value.(type) {
	case template.HTML:
		return string(v)
	case string:
		return escape(v)
	case int:
		return number(int64(v))
	case int64:
		return number(v)
	default:
		return escape(fmt.Sprint(v))
	}
}

var forms = map[plural.Form]string{
	plural.Other: "other", plural.Zero: "zero", plural.One: "one",
	plural.Two: "two", plural.Few: "few", plural.Many: "many",
}

func (c Catalogue) pluralOf(n any) string {
	count, ok := n.(int)
	if !ok {
		return "other"
	}
	return forms[plural.Cardinal.MatchPlural(c.tag, count, 0, 0, 0, 0)]
}

// scriptWords are what the scripts need to say, by key without its prefix.
func (c Catalogue) scriptWords() string {
	words := map[string]any{}
	for key, p := range c.words {
		for _, prefix := range []string{"live.", "dur.", "expiry.", "act.cop", "act.sending", "act.show-", "act.hide-", "create.count", "gallery.loading", "badge.retry_wait.now", "ago", "bulk.n", "box.", "key.", "create.drop", "act.select", "create.from"} {
			if !strings.HasPrefix(key, prefix) {
				continue
			}
			words[key] = p["other"]
			if len(p) > 1 {
				words[key] = p
			}
		}
	}
	text, _ := json.Marshal(words) // strings only: cannot fail
	return string(text)
}

// number writes a whole number with a comma every three digits, as both of our languages do.
func number(n int64) string {
	sign, digits := "", strconv.FormatInt(n, 10)
	if n < 0 {
		sign, digits = digits[:1], digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// languages are the languages of the catalogues, English first.
func languages(all map[string]Catalogue) []string {
	names := slices.Sorted(maps.Keys(all))
	slices.SortStableFunc(names, func(a, b string) int {
		if a == "en" {
			return -1
		}
		if b == "en" {
			return 1
		}
		return 0
	})
	return names
}
