// Package web owns what people see: the templates, the styles and scripts, the word lists, and the
// rules by which a state becomes a sentence. It turns plain values into HTML.
//
// It knows no database, no route's rights and no request: who may see what is decided before a view
// is filled.
package web

import (
	"io"
	"net/http"
)

// CSP is the Content-Security-Policy that every page is served under. It allows nothing inline:
// no style attribute, no script text.
const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"connect-src 'self'; font-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// Site is the parsed templates, words and assets. It is safe for concurrent use.
type Site struct{}

// New parses everything once. An error is a mistake in the embedded files.
func New() (*Site, error) { return &Site{}, nil }

// Render writes a whole page: "setup", "setup-expired", "sign-in", "create", "gallery", "image",
// "trash", "settings" or "error", from its view. A page that cannot be rendered writes nothing.
func (s *Site) Render(w io.Writer, lang, page string, data any) error { return nil }

// RenderTiles writes a live fragment for each tile; it replaces the tile of the same id on any page.
func (s *Site) RenderTiles(w io.Writer, lang string, tiles []Tile) error { return nil }

// RenderImage writes the live fragment for the page of one image.
func (s *Site) RenderImage(w io.Writer, lang string, image ImageView) error { return nil }

// Assets serves /assets/{hash}/…: immutable, compressed once.
func (s *Site) Assets() http.Handler { return http.NotFoundHandler() }

// Words gives the catalogue of a language; an unknown one gets English.
func (s *Site) Words(lang string) Catalogue { return Catalogue{} }

// MatchLanguage chooses the language of a page: the user's setting, then the cookie, then
// Accept-Language, then the default of the settings, then English. The result is always one we have.
func (s *Site) MatchLanguage(acceptLanguage, cookie, user, fallback string) string { return "en" }

// Languages are the languages we have, the default first.
func (s *Site) Languages() []string { return nil }

// Args fill the placeholders of a sentence, by name.
type Args map[string]any

// Catalogue is the word list of one language.
type Catalogue struct{}

// Text is the sentence of a key with its placeholders filled. A key we do not have is its own text.
func (c Catalogue) Text(key string, args Args) string { return key }

// Status is the badge of a state without its figures, the API's status_text.
func (c Catalogue) Status(key string) string { return key }

// Reason is the sentence for a reason, the API's reason_text; empty for no reason.
func (c Catalogue) Reason(r Reason) string { return r.Code }
