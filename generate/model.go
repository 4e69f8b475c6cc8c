package generate

// Model is one model of a provider, its limits, and what a form for it has to
// ask. A limit of 0 is not known; the provider itself is then the judge.
type Model struct {
	// Name is what the provider calls it: "demo", "gpt-image-1".
	Name string

	// Sizes are the sizes it makes, as "1024x1024", the default first.
	// Default empty: any width and height up to MaxSide.
	Sizes []string

	// AutoSize says that the provider can choose the size itself ("auto").
	AutoSize bool

	// MaxSide is the longest side in pixels.
	MaxSide int

	// SideStep divides both sides: 16 allows 1024 and 1040. Default 1.
	SideStep int

	// MaxRatio is how many times the short side the long one may be.
	MaxRatio int

	// MaxN is how many images one request may ask for.
	MaxN int

	// PerCall is how many images one call makes; the job splits a request that
	// asks for more. Default MaxN.
	PerCall int

	// MaxPrompt is the longest prompt, in characters (not bytes).
	MaxPrompt int

	// NegativePrompt and Seed say that it takes them; else they are ignored.
	NegativePrompt, Seed bool

	// MaxInputs is how many images it can start from. Default 0: words only.
	MaxInputs int

	// MaxInputBytes bounds each of them.
	MaxInputBytes int64

	// InputTypes are the MIME types that they may have. Default: any image.
	InputTypes []string

	// Mask says that a mask can tell which part of the first image to change:
	// a PNG of its size, transparent there.
	Mask bool

	// MaxPartials is how many unfinished pictures it can show on the way.
	MaxPartials int

	// BytesOnly says that an answer holds the image itself and never a link,
	// as of the gpt-image models.
	BytesOnly bool

	// Options are its further settings, in the order of a form.
	Options []Option
}

// Option is a setting of a model, sent in Request.Params under its Name.
type Option struct {
	// Name is the provider's own: "quality", "steps".
	Name string

	// Values are what it may be, the default first. Empty: a number from Min to
	// Max, or free text if both are 0.
	Values []string

	// Min and Max bound a number.
	Min, Max float64
}

// Option returns the named option.
func (m Model) Option(name string) (Option, bool) {
	for _, o := range m.Options {
		if o.Name == name {
			return o, true
		}
	}
	return Option{}, false
}
