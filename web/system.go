package web

import (
	"io"
	"time"
)

// SystemView is the page "system": what the settings say, and whether it works.
type SystemView struct {
	Layout
	Store       TestedSetting
	StorePaused string    // the reason; empty: it takes images
	StoreSince  time.Time // when it was paused
	Providers   []TestedSetting
	Settings    []Setting

	Tested string // "store" or a provider that was just tested
	Result *TestResult
}

// TestedSetting is a provider or a store with what there is to say about it.
type TestedSetting struct {
	SettingNote
	Address string // of the store, for people
	CanTest bool
}

// TestResult is how a test ended.
type TestResult struct {
	Took   time.Duration
	Found  string // by the test, in English; empty: nothing
	Failed string // why; empty: it did not
}

// Setting is one variable with its value as it may be seen.
type Setting struct {
	Section, Name, Value, Origin string
	Unset                        string // what happens without a value
	Help                         string
}

// Changed reports whether somebody has set it.
func (s Setting) Changed() bool { return s.Origin != "default" }

// Sections are the settings by their headings, in order.
func (v SystemView) Sections() [][]Setting {
	var all [][]Setting
	for n, s := range v.Settings {
		if n == 0 || s.Section != v.Settings[n-1].Section {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], s)
	}
	return all
}

// RenderDesk writes the live fragment of the page "ops".
func (s *Site) RenderDesk(w io.Writer, lang string, desk OpsView) error {
	return execute(w, s.pages[s.have(lang)][""], "live-desk", desk)
}
