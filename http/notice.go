package http

import (
	"net/http"
	"slices"

	"afterimage/web"
)

// A notice is what the page after a form says about it, once. It waits in a
// cookie rather than in the address, so that a reload does not say it again.
const (
	noticeCookie  = "notice"
	noticeSeconds = 60

	noticeAccepted  = "accepted" // of a prompt; not a sentence but a mark for the page
	noticeSaved     = "notice.saved"
	noticePassword  = "notice.password"
	noticeRevoked   = "notice.key.revoked"
	noticeTrashed   = "notice.trashed"
	noticeRestored  = "notice.restored"
	noticeDeleted   = "notice.deleted"
	noticeRetried   = "notice.retried"
	noticeNotRetry  = "notice.retry.not"
	noticeSignedOut = "notice.signed-out"

	noticeHookTest    = "notice.hook.test"
	noticeHookOn      = "notice.hook.on"
	noticeHookDeleted = "notice.hook.deleted"
	noticeRevived     = "notice.revived"
	noticePaused      = "notice.paused"
	noticeResumed     = "notice.resumed"
)

// notices are all that a cookie may name: it comes from outside.
var notices = []string{noticeAccepted, noticeSaved, noticePassword, noticeRevoked, noticeTrashed, noticeRestored,
	noticeDeleted, noticeRetried, noticeNotRetry, noticeSignedOut, noticeHookTest, noticeHookOn, noticeHookDeleted,
	noticeRevived, noticePaused, noticeResumed}

// redirect sends a browser on after a form, with a notice for the next page;
// empty is none.
func (s *Server) redirect(w http.ResponseWriter, r *http.Request, to, notice string) {
	if notice != "" {
		http.SetCookie(w, s.cookie(noticeCookie, notice, noticeSeconds))
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// takeNotice returns the notice that waits, and forgets it.
func (s *Server) takeNotice(w http.ResponseWriter, r *http.Request) string {
	c, err := r.Cookie(noticeCookie)
	if err != nil {
		return ""
	}
	http.SetCookie(w, s.cookie(noticeCookie, "", -1))
	if !slices.Contains(notices, c.Value) {
		return ""
	}
	return c.Value
}

// message is a notice as a page shows it; nil is none.
func message(notice string) *web.Message {
	if notice == "" || notice == noticeAccepted {
		return nil
	}
	return &web.Message{Key: notice, Bad: notice == noticeNotRetry}
}
