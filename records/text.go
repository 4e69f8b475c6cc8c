package records

import "strings"

// validText is s without what PostgreSQL cannot keep in TEXT: NUL and bytes
// that are not UTF-8. It is for what others sent us; what a person typed is
// refused instead.
func validText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}
