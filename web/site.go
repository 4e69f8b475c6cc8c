// Package web owns what people see: the templates, the styles and scripts, the word lists, and the
// rules by which a state becomes a sentence. It turns plain values into HTML.
//
// It knows no database, no route's rights and no request: who may see what is decided before a view
// is filled.
package web

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"

	"golang.org/x/text/language"
)

// CSP is the Content-Security-Policy that every page is served under. It allows nothing inline: no
// style attribute, no script text. Images may also come from the servers of these URLs.
func CSP(images ...string) string {
	from := "'self' data: blob:"
	for _, address := range images {
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			from += " " + u.Scheme + "://" + u.Host
		}
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src " + from + "; " +
		"connect-src 'self'; font-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; " +
		"base-uri 'none'; frame-ancestors 'none'"
}

//go:embed templates/*.html static locales
var embedded embed.FS

// Site is the parsed templates, words and assets. It is safe for concurrent use.
type Site struct {
	words     map[string]Catalogue
	languages []string
	matcher   language.Matcher
	assets    *assets
	pages     map[string]map[string]*template.Template // by language, then by page
}

// New parses everything once. An error is a mistake in the embedded files.
func New() (*Site, error) {
	words, err := readCatalogues(embedded)
	if err != nil {
		return nil, err
	}
	static, err := newAssets(embedded, map[string]string{"app.css": ratioCSS()})
	if err != nil {
		return nil, err
	}
	names := languages(words)
	s := &Site{
		words: words, languages: names, matcher: newMatcher(names), assets: static,
		pages: map[string]map[string]*template.Template{},
	}
	for lang, c := range words {
		if s.pages[lang], err = parsePages(embedded, funcs(c, names, static.prefix)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// parsePages makes one set of templates for each page: the shared ones, whose names begin with "_",
// and its own.
func parsePages(files fs.FS, f template.FuncMap) (map[string]*template.Template, error) {
	shared, err := template.New("").Funcs(f).ParseFS(files, "templates/_*.html")
	if err != nil {
		return nil, fmt.Errorf("parse templates: %w", err)
	}
	names, err := fs.Glob(files, "templates/[^_]*.html")
	if err != nil {
		return nil, fmt.Errorf("list templates: %w", err)
	}
	pages := map[string]*template.Template{"": shared}
	for _, name := range names {
		set, err := template.Must(shared.Clone()).ParseFS(files, name)
		if err != nil {
			return nil, fmt.Errorf("parse templates: %w", err)
		}
		pages[strings.TrimSuffix(path.Base(name), ".html")] = set
	}
	return pages, nil
}

// Render writes a whole page: "setup", "setup-expired", "sign-in", "create", "gallery", "image",
// "trash", "settings", "digest", "webhook", "ops", "jobs", "system" or "error", from its view. A page that cannot be rendered writes nothing.
func (s *Site) Render(w io.Writer, lang, page string, data any) error {
	set, ok := s.pages[s.have(lang)][page]
	if !ok || page == "" {
		return fmt.Errorf("render: no page %q", page)
	}
	return execute(w, set, "page", data)
}

// RenderTiles writes the live fragment of each tile, which replaces the tile with the same id on any
// page; a page without that tile counts it as new. Together they are the data of one event of the stream
// at Layout.LiveURL: no event name, an id to come back with as since, and "data: " before each line.
func (s *Site) RenderTiles(w io.Writer, lang string, tiles []Tile) error {
	return execute(w, s.pages[s.have(lang)][""], "live-tiles", tiles)
}

// RenderImage writes the live fragment for the page of one image.
func (s *Site) RenderImage(w io.Writer, lang string, image ImageView) error {
	return execute(w, s.pages[s.have(lang)][""], "live-image", image)
}

// execute renders into memory first, so that a fault leaves no half page behind.
func execute(w io.Writer, set *template.Template, name string, data any) error {
	var page bytes.Buffer
	if err := set.ExecuteTemplate(&page, name, data); err != nil {
		return fmt.Errorf("render: %w", err)
	}
	if _, err := page.WriteTo(w); err != nil {
		return fmt.Errorf("send page: %w", err)
	}
	return nil
}

// Assets serves /assets/{hash}/…: immutable, compressed once.
func (s *Site) Assets() http.Handler { return s.assets }

// Words gives the catalogue of a language; an unknown one gets English.
func (s *Site) Words(lang string) Catalogue { return s.words[s.have(lang)] }

func (s *Site) have(lang string) string {
	if _, ok := s.words[lang]; ok {
		return lang
	}
	return cmp.Or(s.languages[0], "en")
}
