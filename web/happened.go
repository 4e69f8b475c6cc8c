package web

// Happened is the line of "What happened" for an event, the text in the API's
// list of events.
func (c Catalogue) Happened(e Event) string { return c.happened(e) }
