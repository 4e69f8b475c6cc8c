package web

import "strings"

// browser is what people call the browser that names itself so.
func (c Catalogue) browser(agent string) string {
	name, system := "", ""
	for _, row := range [][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"CriOS/", "Chrome"},
		{"Chrome/", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"}} {
		if name == "" && strings.Contains(agent, row[0]) {
			name = row[1]
		}
	}
	for _, row := range [][2]string{{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"},
		{"CrOS", "ChromeOS"}, {"Linux", "Linux"}} {
		if system == "" && strings.Contains(agent, row[0]) {
			system = row[1]
		}
	}
	switch {
	case name == "" && agent == "":
		return c.Text("settings.session.unknown", nil)
	case name == "":
		return cut(agent, 40)
	case system == "":
		return name
	}
	return c.Text("settings.session.on", Args{"browser": name, "system": system})
}
