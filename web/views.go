package web

import "time"

// Layout is what every page carries; each view embeds it.
type Layout struct {
	// Theme is "light" or "dark"; empty follows the system.
	Theme string
	// User is the name of who is signed in; empty shows no navigation.
	User    string
	IsAdmin bool
	// Nav is the current entry: "create", "gallery", "trash" or "settings".
	Nav string
	// Path is the page's own path and query, to come back to after a change of language.
	Path string
	// Notice is shown once above the page; nil is none.
	Notice *Message
	// Alarms stand above every page for as long as they are so. They are for administrators.
	Alarms []Message
	// LiveURL is the event stream of the page, such as "/live?since=42"; empty is none.
	// The browser replaces since by the id of the last event when it connects again.
	LiveURL string
	// Zone is where the page's times are told; nil is UTC. Scripts tell them again in the browser's zone.
	Zone *time.Location
}

// Message is a sentence of the catalogue, by its key.
type Message struct {
	Key  string
	Args Args
	Bad  bool
	// Undo are the ids of images that can be restored, joined by dots; empty is nothing to undo.
	Undo string
}

// FieldError says what is wrong with one field of a form. Field is the name the field is sent under;
// empty concerns the whole form.
type FieldError struct {
	Field string
	Key   string
	Args  Args
}

// SetupView is the page "setup".
type SetupView struct {
	Layout
	Token    string // from the link, sent back with the form
	Username string // as typed before
	Errors   []FieldError
	// Providers and Storage say what the settings say; they are not changed here.
	Providers []SettingNote
	Storage   []SettingNote
}

// SettingNote is one thing that the settings decided.
type SettingNote struct {
	// Name is a provider such as "demo", or a store: "disk" or "s3".
	Name string
	// Detail is where or what, such as "./data/objects". No secrets.
	Detail string
	// From is the variable that says so, such as "S3_BUCKET"; empty is the default.
	From string
}

// SignInView is the page "sign-in".
type SignInView struct {
	Layout
	Username string
	To       string // where to go afterwards; a path on this site
	Ended    bool   // a session ended while its page was open
	Errors   []FieldError
}

// CreateView is the page "create".
type CreateView struct {
	Layout
	Form   CreateForm
	Errors []FieldError
	Models []ModelChoice
	Recent []string // prompts used before, newest first
	Tiles  []Tile   // the newest images, newest first
	// IdempotencyKey makes a form that is sent twice one request; new for every page.
	IdempotencyKey string
	// Accepted is set when the page follows a form that was accepted; the kept draft is then dropped.
	Accepted bool
	// MaxPrompt is in characters; 0 is 4000. MaxCount is images a request; 0 is 4.
	MaxPrompt, MaxCount int
}

// CreateForm is what the form of the page "create" sends: prompt, negative_prompt, model, size, n, seed,
// from (an image to start from), upload (another one, as a file) and opt.NAME for each option.
type CreateForm struct {
	Prompt, NegativePrompt string
	Model                  string // "provider/model"
	Size                   string // "1024x1024"
	Seed                   string
	Count                  int // 0 is 1
	Options                map[string]string
	// From is the image of one's own to start from; nil is none.
	From *Tile
}

// ModelChoice is one model to choose, with what it takes.
type ModelChoice struct {
	Provider, Model string
	// Sizes are "1024x1024" and so on; empty offers the usual ones up to MaxSide.
	Sizes    []string
	AutoSize bool
	MaxSide  int
	MaxN     int // 0: no limit of its own
	// MaxInputs is how many images it can start from; 0 is none.
	MaxInputs            int
	NegativePrompt, Seed bool
	Options              []Option
}

// Option is a setting of a model: one of Values, a number, or words.
type Option struct {
	Name     string
	Values   []string
	Min, Max float64
}

// GalleryView is the page "gallery".
type GalleryView struct {
	Layout
	Find
	Tiles []Tile // newest first; the page groups them by day
	// Counts are of all that match the search but for its status.
	Counts Counts
	// Providers are those to choose from.
	Providers []string
	// Wall is "rows" or "squares".
	Wall string
	// Selecting shows the boxes to tick.
	Selecting bool
	Now       time.Time
	// OlderURL is the next page; empty is the end.
	OlderURL string
}

// Counts are the figures beside the filters of the gallery.
type Counts struct{ All, Progress, Archived, Failed int }

// Tile is one image on a wall, made or not.
type Tile struct {
	ID     string
	Prompt string
	// Status is a key of the API, such as "retry_wait".
	Status string
	// Reason says why, while it waits or after it failed.
	Reason Reason
	// Attempt is the one that runs, or the last that failed.
	Attempt, MaxAttempts int
	// CanRetry: POST /i/{id}/retry makes sense: it fetches again, or sooner.
	CanRetry bool
	// Secured: the bytes are safe on this machine, not yet in the store.
	Secured bool
	// Thumbs are the thumbnails there are, by size; none while they are not made.
	Thumbs []Thumb
	// Placeholder is a thumbhash in base64, from which a script draws what stands for the picture until
	// it is there; empty is a neutral square.
	Placeholder string
	// Ahead is how many wait before it, while queued.
	Ahead         int
	StartedAt     time.Time // of the generation or the attempt that runs
	NextAttemptAt time.Time
	SourceExpires time.Time
	CreatedAt     time.Time
	TrashedAt     time.Time
	// Width and Height are those of the image or, until then, those asked for; 0 is a square.
	Width, Height int
	Favorite      bool
}

// Reason is a stable code with what its sentence can name.
type Reason struct {
	Code    string
	Status  int    // HTTP status of a source_error
	Limit   int64  // bytes, of source_too_large
	ErrorID string // of internal
	// Detail is for operators and shown to administrators only.
	Detail string
}

// ImageView is the page "image".
type ImageView struct {
	Layout
	Tile
	NegativePrompt  string
	Provider, Model string
	Seed            int64
	HasSeed         bool
	Took            time.Duration // of the generation; 0 unknown
	ProviderMessage string        // the provider's words on a failure
	MIME            string
	Bytes           int64
	SHA256          string // hex
	ArchivedAt      time.Time
	Events          []Event // oldest first
	PrevURL         string  // newer image, and
	NextURL         string  // older one; empty at the ends
	// CanEdit: some model can start from an image.
	CanEdit bool
	// BaseURL is the site's own address, for the curl line.
	BaseURL string
	// IdempotencyKey makes Recreate and Try again one request even when sent twice.
	IdempotencyKey string
}

// Event is a line of "What happened". Kind is one of accepted, imported, generating, generated,
// generate_failed, unknown, canceled, attempt_failed, paused, archived, archive_failed, retried,
// interrupted, verified, damaged, trashed, restored.
type Event struct {
	At      time.Time
	Kind    string
	Attempt int
	Reason  Reason
	Took    time.Duration
	Bytes   int64
}

// TrashView is the page "trash".
type TrashView struct {
	Layout
	Tiles     []Tile
	Total     int
	Bytes     int64
	Retention time.Duration // 0: nothing is deleted by itself
	OlderURL  string
	Now       time.Time
	// Wall and Selecting are as in GalleryView.
	Wall      string
	Selecting bool
}

// DeleteView is the page "delete", which asks before anything is deleted for ever.
type DeleteView struct {
	Layout
	IDs  []string
	N    int
	All  bool // all of the trash, in place of IDs
	Back string
}

// ImportView is the page "import": the form, or what became of one that was sent.
type ImportView struct {
	Layout
	// URLs and Prompt are as typed.
	URLs, Prompt string
	Errors       []FieldError
	// IdempotencyKey makes a form that is sent twice one import.
	IdempotencyKey string
	// ID is that of an import; empty shows the form.
	ID                            string
	Total, Archived, Failed, Open int
	Tiles                         []Tile // the failures first
}

// SettingsView is the page "settings".
type SettingsView struct {
	Layout
	// Language is as chosen; empty follows the browser. The theme chosen is the layout's.
	Language string
	Errors   []FieldError // fields: current_password, new_password, name, scopes
	Keys     []APIKey
	// NewKey is a key just made, shown this once.
	NewKey  *NewKey
	KeyForm KeyForm
	Now     time.Time

	Webhooks    []Webhook
	WebhookForm WebhookForm
	// NewSecret is the secret of a webhook just made or rotated, shown this
	// once; empty is none.
	NewSecret string
	// DigestHour is of the person's day; -1: no digest. TimeZone is empty for UTC.
	DigestHour int
	TimeZone   string
	Usage      []UsageDay // newest first

	// Sessions are where the person is signed in. People and what belongs to them are for
	// administrators.
	Sessions []Session
	People   []Person
	Invited  string   // a username as typed before
	NewLink  *NewLink // just made, shown this once
}

// Session is a place where somebody is signed in.
type Session struct {
	ID, Browser string
	CreatedAt   time.Time
	Current     bool
}

// Person is a line of the list of accounts.
type Person struct {
	ID, Name            string
	Admin, Disabled, Me bool
}

// NewLink is a link to choose a password with.
type NewLink struct{ Name, URL string }

// ResetView is the page "reset"; without a token the link does not work any more.
type ResetView struct {
	Layout
	Token, Username string
	Errors          []FieldError // field: password
}

// APIKey is a line of the list of keys.
type APIKey struct {
	ID, Name, Prefix string
	Scopes           []string
	CreatedAt        time.Time
	LastUsedAt       time.Time // zero: never
	ExpiresAt        time.Time // zero: never
}

// NewKey is a key just made.
type NewKey struct{ Name, Secret, BaseURL string }

// KeyForm is what the form for a new key sends: name, scopes (repeated), expires ("", "30d", "1y").
type KeyForm struct {
	Name    string
	Scopes  []string // empty: images:read
	Expires string
}

// ErrorView is the page "error".
type ErrorView struct {
	Layout
	// Code is an HTTP status; those without words of their own are told as 400 or 500.
	Code int
	// ErrorID finds the error in the log; empty is none.
	ErrorID    string
	RetryAfter time.Duration
}

// DocsView is the page "docs": the API's description. Its texts are in English, as the API is.
type DocsView struct {
	Layout
	BaseURL    string
	Operations []Operation
	Types      []Type
	Codes      []Term
}

// Operation is one route of the API.
type Operation struct {
	Method, Path, Scope, Summary string
	Query                        []Term
	Body, Answer                 string // names of types; empty: none
	Status                       int
}

// Type is what a request or an answer has.
type Type struct {
	Name   string
	Fields []Term
}

// Term is a word and what it means.
type Term struct{ Name, Detail, About string }
