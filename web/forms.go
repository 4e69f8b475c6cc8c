package web

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// usualSizes are offered for a model that makes any size.
var usualSizes = []string{
	"1024x1024", "1536x1024", "1024x1536", "1344x768", "768x1344", "512x512",
}

// Value is what the form sends for the model.
func (m ModelChoice) Value() string { return m.Provider + "/" + m.Model }

// Offered are the sizes to choose from.
func (m ModelChoice) Offered() []string {
	offered := m.Sizes
	if len(offered) == 0 {
		for _, size := range usualSizes {
			if w, h, _ := strings.Cut(size, "x"); m.MaxSide == 0 || pixels(w) <= m.MaxSide && pixels(h) <= m.MaxSide {
				offered = append(offered, size)
			}
		}
	}
	if m.AutoSize {
		offered = append(slices.Clone(offered), "auto")
	}
	return offered
}

func pixels(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// Join is Offered as one attribute for the script that narrows the list.
func (m ModelChoice) Join() string { return strings.Join(m.Offered(), " ") }

// AllSizes are the sizes of all models: without scripts the list cannot follow the model.
func (v CreateView) AllSizes() []string {
	var all []string
	for _, m := range v.Models {
		for _, s := range m.Offered() {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	if v.Form.Size != "" && !slices.Contains(all, v.Form.Size) {
		all = append(all, v.Form.Size)
	}
	return all
}

// PromptLimit is the longest prompt, in characters.
func (v CreateView) PromptLimit() int { return cmp.Or(v.MaxPrompt, 4000) }

// CountLimit is how many images one request may ask for.
func (v CreateView) CountLimit() int { return cmp.Or(v.MaxCount, 4) }

// More reports whether the further options have something in them, or something wrong with them.
func (v CreateView) More() bool {
	return v.Form.NegativePrompt != "" || v.Form.Seed != "" || len(v.Form.Options) > 0 ||
		slices.ContainsFunc(v.Errors, func(e FieldError) bool {
			return e.Field == "seed" || e.Field == "negative_prompt" || strings.HasPrefix(e.Field, "opt.")
		})
}

// Chosen is the model that the form is for.
func (v CreateView) Chosen() ModelChoice {
	for _, m := range v.Models {
		if m.Value() == v.Form.Model {
			return m
		}
	}
	return ModelChoice{}
}

// TakesImages reports whether any model can start from an image.
func (v CreateView) TakesImages() bool {
	return slices.ContainsFunc(v.Models, func(m ModelChoice) bool { return m.MaxInputs > 0 })
}

// Pending reports whether any image on the page is still on its way.
func (v CreateView) Pending() bool { return slices.ContainsFunc(v.Tiles, Tile.Pending) }

// Pending reports whether any image on the page is still on its way.
func (v GalleryView) Pending() bool { return slices.ContainsFunc(v.Tiles, Tile.Pending) }

// Empty reports whether there is no image at all, filters aside.
func (v GalleryView) Empty() bool {
	return len(v.Tiles) == 0 && !v.Find.Any() && v.Counts.All == 0
}

// Found is how many images the list has, all its pages together.
func (v GalleryView) Found() int {
	switch v.Status {
	case "progress":
		return v.Counts.Progress
	case "archived":
		return v.Counts.Archived
	case "failed":
		return v.Counts.Failed
	}
	return v.Counts.All
}

// Pending reports whether anything of the import is still on its way.
func (v ImportView) Pending() bool { return v.Open > 0 }

// Done is how many of the import have ended.
func (v ImportView) Done() int { return v.Total - v.Open }

// ModelValue is the model the image was made with, as POST /create wants it.
func (v ImageView) ModelValue() string { return v.Provider + "/" + v.Model }

// SizeValue is the size of the image, as POST /create wants it.
func (v ImageView) SizeValue() string {
	if v.Width <= 0 || v.Height <= 0 {
		return ""
	}
	return strconv.Itoa(v.Width) + "x" + strconv.Itoa(v.Height)
}

// Words are the words for the error's status; those without their own are told as 400 or 500.
func (v ErrorView) Words() string {
	switch v.Code {
	case 400, 403, 404, 405, 410, 413, 429, 500, 503:
		return strconv.Itoa(v.Code)
	}
	if v.Code < 500 {
		return "400"
	}
	return "500"
}

// Scopes are those a key can have.
func (v SettingsView) Scopes() []string {
	return []string{"images:read", "images:write", "ops:read", "ops:write"}
}

// HasScope reports whether a scope is ticked in the form for a new key.
func (v SettingsView) HasScope(scope string) bool {
	if len(v.KeyForm.Scopes) == 0 {
		return scope == "images:read"
	}
	return slices.Contains(v.KeyForm.Scopes, scope)
}
