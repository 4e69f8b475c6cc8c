package web

import (
	"net/url"
	"slices"
)

// Find is what the gallery is asked for. It is the query of its address, so
// that a search can be shared and Back leads to it.
type Find struct {
	Query string
	// Status is "", "progress", "archived" or "failed".
	Status   string
	Provider string
	// From and To are days as "2026-11-30", both of them counted in.
	From, To string
	Favorite bool
}

// Values are the parameters that are not empty.
func (f Find) Values() url.Values {
	q := url.Values{}
	for _, p := range f.pairs() {
		if p[1] != "" {
			q.Set(p[0], p[1])
		}
	}
	return q
}

func (f Find) pairs() [][2]string {
	favorite := ""
	if f.Favorite {
		favorite = "1"
	}
	return [][2]string{{"q", f.Query}, {"status", f.Status}, {"provider", f.Provider}, {"from", f.From}, {"to", f.To}, {"favorite", favorite}}
}

// Hidden are the parameters for a form that acts on all that was found.
func (f Find) Hidden() [][2]string {
	return slices.DeleteFunc(f.pairs(), func(p [2]string) bool { return p[1] == "" })
}

// With is the address of the same search with another status.
func (f Find) With(status string) string {
	f.Status = status
	return f.URL("")
}

// URL is the address of the search, with one more parameter that has no value.
func (f Find) URL(also string) string {
	q := f.Values()
	if also != "" {
		q.Set(also, "1")
	}
	if len(q) == 0 {
		return "/"
	}
	return "/?" + q.Encode()
}

// Narrow reports whether the panel of filters has anything in it.
func (f Find) Narrow() bool { return f.Provider != "" || f.From != "" || f.To != "" || f.Favorite }

// Any reports whether anything is asked for at all.
func (f Find) Any() bool { return f != Find{} }
