package http

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"afterimage/records"
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

	noticeCanceled  = "notice.canceled"
	noticeNotCancel = "notice.cancel.not"
	noticeNothing   = "notice.nothing"
	noticeNotEmpty  = "notice.trash.count"
	noticeVerified  = "notice.verified"
	noticeDamaged   = "notice.damaged"
)

// notices are all that a cookie may name: it comes from outside.
var notices = []string{noticeAccepted, noticeSaved, noticePassword, noticeRevoked, noticeTrashed, noticeRestored,
	noticeDeleted, noticeRetried, noticeNotRetry, noticeSignedOut, noticeHookTest, noticeHookOn, noticeHookDeleted,
	noticeRevived, noticePaused, noticeResumed, noticeCanceled, noticeNotCancel, noticeNothing, noticeNotEmpty, noticeVerified, noticeDamaged,
	"notice.bulk.trash", "notice.bulk.restore", "notice.bulk.delete", "notice.bulk.favorite", "notice.bulk.unfavorite", "notice.bulk.retry"}

// notice is one with a figure, and with the images that Undo brings back.
type notice struct {
	key  string
	n    int
	undo []string
}

// redirect sends a browser on after a form, with a notice for the next page;
// empty is none.
func (s *Server) redirect(w http.ResponseWriter, r *http.Request, to, key string) {
	s.redirectSaying(w, r, to, notice{key: key})
}

func (s *Server) redirectSaying(w http.ResponseWriter, r *http.Request, to string, said notice) {
	if said.key != "" {
		value := fmt.Sprintf("%s:%d:%s", said.key, said.n, strings.Join(said.undo, "."))
		http.SetCookie(w, s.cookie(noticeCookie, value, noticeSeconds))
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// takeNotice returns the notice that waits, and forgets it.
func (s *Server) takeNotice(w http.ResponseWriter, r *http.Request) (said notice) {
	c, err := r.Cookie(noticeCookie)
	if err != nil {
		return notice{}
	}
	http.SetCookie(w, s.cookie(noticeCookie, "", -1))
	key, rest, _ := strings.Cut(c.Value, ":")
	n, undo, _ := strings.Cut(rest, ":")
	if !slices.Contains(notices, key) {
		return notice{}
	}
	said.key = key
	said.n, _ = strconv.Atoi(n)
	for id := range strings.SplitSeq(undo, ".") {
		if records.IsID(id) {
			said.undo = append(said.undo, id)
		}
	}
	return said
}

// message is a notice as a page shows it; nil is none.
func message(said notice) *web.Message {
	if said.key == "" || said.key == noticeAccepted {
		return nil
	}
	bad := []string{noticeNotRetry, noticeNotCancel, noticeNothing, noticeNotEmpty, noticeDamaged}
	return &web.Message{Key: said.key, Args: web.Args{"n": said.n}, Bad: slices.Contains(bad, said.key), Undo: strings.Join(said.undo, ".")}
}
