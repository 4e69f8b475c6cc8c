package fetch

import "time"

// Expiry reads from a link when it dies.
func Expiry(rawURL string) (time.Time, bool) { return time.Time{}, false }
