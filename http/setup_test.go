package http_test

import (
	"strings"
	"sync"
	"testing"
)

func TestSetupLink(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		old, _ := w.NewSetupToken(t.Context())
		token, err := w.NewSetupToken(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b := w.browser()
		b.get("/create").leadsTo("/setup")
		b.get("/sign-in").leadsTo("/setup")
		b.get("/setup?token=" + old).wants(410).has("This link has expired.")
		b.submit("/setup", "token", old, "username", "ann", "password", "correct horse").wants(410)
		b.submit("/setup", "username", "ann", "password", "correct horse").wants(403)
		for _, c := range []struct{ name, username, password, says string }{
			{"no name", "", "correct horse", "Choose a username."},
			{"a name with a space", "ann b", "correct horse", "Use letters, digits"},
			{"no password", "ann", "", "Enter a password."},
			{"a short password", "ann", "short", "at least 8"},
			{"a password of a book", "ann", strings.Repeat("x", 5000), "longer than 256"},
			{"a name with NUL", "ann\x00", "correct horse", "Use letters, digits"},
		} {
			w.run(c.name, func(t *testing.T) {
				b.submit("/setup", "token", token, "username", c.username, "password", c.password).wants(422).has(c.says)
			})
		}
		w.Exec(t, `UPDATE setup_tokens SET expires_at = ?`, w.Now().Add(-1))
		b.get("/setup?token=" + token).wants(410)
		b.submit("/setup", "token", token, "username", "ann", "password", "correct horse").wants(410)
		if needed, err := w.NeedsSetup(t.Context()); err != nil || !needed {
			t.Fatal("something was made by a link that does not work")
		}
	})
}

func TestOfTwoSetupsAtOnceOneWins(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token, err := w.NewSetupToken(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		answers := make([]answer, 2)
		var both sync.WaitGroup
		for n, name := range []string{"ann", "bob"} {
			b := w.browser()
			both.Go(func() {
				answers[n] = b.submit("/setup", "token", token, "username", name, "password", "correct horse")
			})
		}
		both.Wait()
		won, lost := answers[0], answers[1]
		if won.StatusCode != 303 {
			won, lost = lost, won
		}
		won.leadsTo("/create")
		lost.wants(410).has("one use")
		if len(lost.Cookies()) > 0 {
			t.Error("the loser was signed in")
		}
		users, err := w.Users(t.Context())
		if err != nil || len(users) != 1 {
			t.Errorf("there are %d accounts, want 1 (%v)", len(users), err)
		}
	})
}
