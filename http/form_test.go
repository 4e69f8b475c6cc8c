package http_test

import (
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var (
	tagForm     = regexp.MustCompile(`(?s)<form[^>]*>.*?</form>`)
	tagInput    = regexp.MustCompile(`<input[^>]*>`)
	tagTextarea = regexp.MustCompile(`(?s)<textarea[^>]*>(.*?)</textarea>`)
	tagSelect   = regexp.MustCompile(`(?s)<select[^>]*>.*?</select>`)
	tagOption   = regexp.MustCompile(`<option[^>]*>`)
	attribute   = regexp.MustCompile(`([a-z-]+)(?:="([^"]*)")?`)
)

// attributes reads those of a tag's first line; one without a value is there.
func attributes(tag string) map[string]string {
	all := map[string]string{}
	open, _, _ := strings.Cut(tag, ">")
	for _, m := range attribute.FindAllStringSubmatch(open, -1) {
		all[m[1]] = html.UnescapeString(m[2])
	}
	return all
}

// fill takes a form of the page by its action, as a browser without scripts
// would send it, and changes some fields.
func (a answer) fill(action string, pairs ...string) url.Values {
	a.t.Helper()
	for _, form := range tagForm.FindAllString(a.body, -1) {
		attrs := attributes(form)
		if attrs["action"] != action || attrs["method"] != "post" {
			continue
		}
		values := fieldsOf(form)
		for n := 0; n+1 < len(pairs); n += 2 {
			if _, ok := values[pairs[n]]; !ok {
				a.t.Fatalf("the form %s has no field %s", action, pairs[n])
			}
			values.Set(pairs[n], pairs[n+1])
		}
		return values
	}
	a.t.Fatalf("%s has no form %s: %s", a.Request.URL.Path, action, firstBytes(a.body))
	return nil
}

func fieldsOf(form string) url.Values {
	values := url.Values{}
	for _, tag := range tagInput.FindAllString(form, -1) {
		attrs := attributes(tag)
		_, checked := attrs["checked"]
		if attrs["name"] == "" || slices.Contains([]string{"checkbox", "radio"}, attrs["type"]) && !checked {
			continue
		}
		values.Add(attrs["name"], attrs["value"])
	}
	for _, m := range tagTextarea.FindAllStringSubmatch(form, -1) {
		values.Add(attributes(m[0])["name"], html.UnescapeString(m[1]))
	}
	for _, tag := range tagSelect.FindAllString(form, -1) {
		options := tagOption.FindAllString(tag, -1)
		chosen := max(0, slices.IndexFunc(options, func(o string) bool { _, ok := attributes(o)["selected"]; return ok }))
		values.Add(attributes(tag)["name"], attributes(options[chosen])["value"])
	}
	return values
}

// sendForm sends what fill returned.
func (v *visitor) sendForm(path string, values url.Values) answer {
	v.w.t.Helper()
	return v.send("POST", path, strings.NewReader(values.Encode()), "Content-Type: application/x-www-form-urlencoded",
		"Origin: "+v.w.url)
}
