package web

import (
	"cmp"
	"slices"
	"time"
)

// DigestView is the page "digest".
type DigestView struct {
	Layout
	Days []DigestDay // newest first; the one that was asked for alone
	// Hour is when it comes; -1: the person wants none.
	Hour int
	One  bool // one day is shown, not all
}

// DigestDay is a person's day.
type DigestDay struct {
	Day      string // as 2006-01-02
	From, To time.Time
	Made     int
	Kept     int
	Bytes    int64
	Failed   int
	Reasons  []DigestReason // of the failed
	Unknown  int
	Waiting  int
	Expiring int // of the waiting: their source is about to die
	Purging  int // in the trash, about to be deleted
	HooksOff int
}

// DigestReason is how many failed for one reason.
type DigestReason struct {
	Text string
	N    int
}

// Sort puts the most frequent reason first.
func (d *DigestDay) Sort() {
	slices.SortFunc(d.Reasons, func(a, b DigestReason) int { return cmp.Or(b.N-a.N, cmp.Compare(a.Text, b.Text)) })
}

// Lines tell the day in sentences, the most urgent first.
func (d DigestDay) Lines(c Catalogue) []string {
	var lines []string
	add := func(key string, n int, args Args) {
		if n == 0 {
			return
		}
		if args == nil {
			args = Args{}
		}
		args["n"] = n
		lines = append(lines, c.Text(key, args))
	}
	add("digest.expiring", d.Expiring, nil)
	add("digest.purging", d.Purging, nil)
	add("digest.hooks", d.HooksOff, nil)
	add("digest.made", d.Made, nil)
	add("digest.kept", d.Kept, Args{"bytes": c.Bytes(d.Bytes)})
	add("digest.failed", d.Failed, nil)
	for _, r := range d.Reasons {
		add("digest.reason", r.N, Args{"reason": r.Text})
	}
	add("digest.unknown", d.Unknown, nil)
	add("digest.waiting", d.Waiting, nil)
	if len(lines) == 0 {
		lines = []string{c.Text("digest.quiet", nil)}
	}
	return lines
}

// UsageDay is a line of the usage: one day and one provider.
type UsageDay struct {
	Day, Provider            string
	Images, Archived, Failed int
	Bytes                    int64
}

// Webhook is a line of the list of webhooks.
type Webhook struct {
	ID, URL      string
	Events       []string
	DeliveredAt  time.Time
	FailingSince time.Time
	DisabledAt   time.Time
	Reason       string // of the last failure
}

// WebhookForm is what the form for a new webhook sends: url, events (repeated).
type WebhookForm struct {
	URL    string
	Events []string
}

// HookEvents are those to choose from.
func (v SettingsView) HookEvents() []string {
	return []string{"image.archived", "image.failed", "image.expiring", "generation.failed", "import.finished", "digest"}
}

// Hours are those of a day.
func (v SettingsView) Hours() []int {
	hours := make([]int, 24)
	for n := range hours {
		hours[n] = n
	}
	return hours
}

// WantsEvent reports whether an event is ticked in the form for a new webhook.
func (v SettingsView) WantsEvent(event string) bool {
	if v.WebhookForm.URL == "" && len(v.WebhookForm.Events) == 0 {
		return event == "image.archived" || event == "image.failed"
	}
	return slices.Contains(v.WebhookForm.Events, event)
}

// WebhookView is the page "webhook": one webhook and what was sent to it.
type WebhookView struct {
	Layout
	Webhook
	Deliveries []Delivery // newest first
}

// Delivery is a line of what was sent.
type Delivery struct {
	Event, State, Error string
	Attempt, Status     int
	CreatedAt           time.Time
}

// JobsView is the page "jobs", for operators.
type JobsView struct {
	Layout
	Wrong   []Alarm // what is wrong, at length
	Kinds   []JobKind
	Reasons []JobReason
}

// Alarm is something that is wrong.
type Alarm struct {
	Name, Detail string
	Since        time.Time
}

// JobKind is the queue of one kind.
type JobKind struct {
	Kind                               string
	Waiting, Ready, Running, Held, Off int
	PausedAt                           time.Time
	PausedBy                           string
	CanPause                           bool
}

// JobReason is how many jobs say the same.
type JobReason struct {
	Kind, State, Reason, Last string
	N                         int
	CanRevive                 bool
}
