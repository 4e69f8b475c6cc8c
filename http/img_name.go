package http

import (
	"context"
	"net/url"
	"strings"
	"unicode"

	"afterimage/records"
)

// attachment is a Content-Disposition (RFC 6266): the name as it is for who
// reads RFC 5987, and in ASCII before it for who does not.
func attachment(name string) string {
	ascii := strings.Map(func(c rune) rune {
		if c > unicode.MaxASCII {
			return '_'
		}
		return c
	}, name)
	value := `attachment; filename="` + ascii + `"`
	if ascii != name {
		value += "; filename*=UTF-8''" + url.PathEscape(name)
	}
	return value
}

// fileName is {user}-{date}-{prompt}-{id}.{ext}. All of it are letters, digits,
// dots, dashes and underscores, some 200 bytes at most.
func (s *Server) fileName(ctx context.Context, i *records.Image) string {
	name := "afterimage"
	if u, err := s.DB.User(ctx, i.UserID); err == nil {
		name = u.Username
	}
	_, ext, _ := strings.Cut(i.MIME, "/")
	if ext == "jpeg" {
		ext = "jpg"
	}
	parts := []string{name, i.CreatedAt.Format("2006-01-02"), slug(i.Prompt), i.ID + "." + ext}
	return strings.ReplaceAll(strings.Join(parts, "-"), "--", "-")
}

const (
	slugLength = 40  // characters
	slugBytes  = 120 // file systems take 255 for the whole name
)

// slug is the first words of a prompt as every file system takes them.
func slug(prompt string) string {
	var b strings.Builder
	n := 0
	for _, c := range prompt {
		if n++; n > slugLength || b.Len()+len(string(c)) > slugBytes {
			break
		}
		if unicode.In(c, unicode.Letter, unicode.Digit, unicode.Mark) {
			b.WriteRune(c)
		} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}
