package http

import (
	"context"
	"net/http"

	"github.com/go-chi/chi/v5"

	"afterimage/records"
	"afterimage/web"
)

// Describe gives the data of a webhook's message: what GET answers for the same
// thing, in the person's language.
func (s *Server) Describe(ctx context.Context, userID, event, ref string) (any, error) {
	user, err := s.DB.User(ctx, userID)
	if err != nil {
		return nil, err
	}
	lang := s.Site.MatchLanguage("", "", user.Language, s.DefaultLanguage)
	switch event {
	case records.HookGenerationFailed:
		g, images, err := s.DB.Generation(ctx, userID, ref)
		if err != nil {
			return nil, err
		}
		return s.generationIn(lang, g, images), nil
	case records.HookImportFinished:
		return s.DB.Import(ctx, userID, ref)
	case records.HookDigest:
		d, err := s.DB.Digest(ctx, userID, ref)
		if err != nil {
			return nil, err
		}
		return s.digestJSON(lang, d), nil
	case records.HookTest:
		return map[string]string{"text": s.Site.Words(lang).Text("hook.test.text", nil)}, nil
	}
	i, err := s.DB.Image(ctx, userID, ref)
	if err != nil {
		return nil, err
	}
	return s.imageIn(lang, i), nil
}

// digestJSON is a person's day as programs see it, with the page's words.
type digestJSON struct {
	records.Digest
	URL  string   `json:"url"` // of its page
	Text []string `json:"text"`
}

func (s *Server) digestJSON(lang string, d *records.Digest) digestJSON {
	return digestJSON{*d, s.BaseURL + "/digest/" + d.Day, s.digestView(lang, d).Lines(s.Site.Words(lang))}
}

func (s *Server) digestView(lang string, d *records.Digest) web.DigestDay {
	words := s.Site.Words(lang)
	v := web.DigestDay{Day: d.Day, Made: d.Data.Made, Kept: d.Data.Kept, Bytes: d.Data.Bytes, Failed: d.Data.Failed, Unknown: d.Data.Unknown,
		Waiting: d.Data.Waiting, Expiring: d.Data.Expiring, Purging: d.Data.Purging, HooksOff: d.Data.HooksOff, From: d.From.Time, To: d.To.Time}
	for code, n := range d.Data.Reasons {
		v.Reasons = append(v.Reasons, web.DigestReason{Text: words.Reason(web.Reason{Code: code}), N: n})
	}
	v.Sort()
	return v
}

func (s *Server) listDigests(w http.ResponseWriter, r *http.Request) {
	limit, err := limitOf(r)
	var digests []records.Digest
	if err == nil {
		digests, err = s.DB.Digests(r.Context(), viewerOf(r).user.ID, limit)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	items := make([]digestJSON, len(digests))
	for n := range digests {
		items[n] = s.digestJSON(s.language(r), &digests[n])
	}
	writeJSON(w, http.StatusOK, list[digestJSON]{items})
}

// usageDays is how far back the usage is told.
const usageDays = 30

func (s *Server) usageAnswer(w http.ResponseWriter, r *http.Request) {
	days, err := s.DB.UsageOf(r.Context(), viewerOf(r).user.ID, usageDays)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if days == nil {
		days = []records.Usage{}
	}
	writeJSON(w, http.StatusOK, list[records.Usage]{days})
}

func (s *Server) getImport(w http.ResponseWriter, r *http.Request) {
	summary, err := s.DB.Import(r.Context(), viewerOf(r).user.ID, chi.URLParam(r, "id"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeTagged(w, r, summary)
}
