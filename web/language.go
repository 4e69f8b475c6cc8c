package web

import "golang.org/x/text/language"

// MatchLanguage chooses the language of a page: the user's setting, then the cookie, then
// Accept-Language, then the default of the settings, then English. The result is always one we have,
// so any of them may be nonsense from outside. "zh", "zh-Hans" and "zh-SG" are zh-CN.
func (s *Site) MatchLanguage(acceptLanguage, cookie, user, fallback string) string {
	for _, wish := range []string{user, cookie, acceptLanguage, fallback} {
		if lang, ok := s.match(wish); ok {
			return lang
		}
	}
	return s.languages[0]
}

// match finds the language for one wish, a tag or a whole Accept-Language.
func (s *Site) match(wish string) (string, bool) {
	const longest = 200 // a header can be a megabyte; nobody lists so many languages
	if wish == "" || len(wish) > longest {
		return "", false
	}
	tags, _, err := language.ParseAcceptLanguage(wish)
	if err != nil || len(tags) == 0 {
		return "", false
	}
	_, index, confidence := s.matcher.Match(tags...)
	return s.languages[index], confidence >= language.Low
}

// Languages are the languages we have, the default first.
func (s *Site) Languages() []string { return s.languages }

func newMatcher(names []string) language.Matcher {
	var tags []language.Tag
	for _, name := range names {
		tags = append(tags, language.Make(name))
	}
	return language.NewMatcher(tags)
}
