package records_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"afterimage/records"
)

func TestUsers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		u, err := w.CreateUser(ctx, " Ada ", "correct horse", records.Member)
		if err != nil || u.Username != "ada" {
			t.Fatalf("created %v, %v", u, err)
		}
		for name, c := range map[string]struct {
			username, password string
			want               error
		}{
			"the same name in upper case is taken":  {"ADA", "correct horse", records.ErrUsernameTaken},
			"a name with a space is refused":        {"a b", "correct horse", records.ErrBadUsername},
			"an empty name is refused":              {"", "correct horse", records.ErrBadUsername},
			"a name of 41 letters is refused":       {strings.Repeat("a", 41), "correct horse", records.ErrBadUsername},
			"a password of 7 is refused":            {"bob", "1234567", records.ErrBadPassword},
			"a password of 257 is refused":          {"bob", strings.Repeat("x", 257), records.ErrBadPassword},
			"a password of 8 characters, not bytes": {"bob", "密码密码密码密", records.ErrBadPassword},
		} {
			t.Run(name, func(t *testing.T) {
				if _, err := w.CreateUser(ctx, c.username, c.password, records.Member); !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			})
		}
		for name, c := range map[string]struct {
			username, password string
			want               error
		}{
			"the right password":            {"Ada", "correct horse", nil},
			"a wrong password":              {"ada", "battery staple", records.ErrWrongPassword},
			"a name that does not exist":    {"eve", "correct horse", records.ErrWrongPassword},
			"a name that PostgreSQL dreads": {"e\x00ve\xff", "correct horse", records.ErrWrongPassword},
			"a password with a NUL":         {"ada", "\x00", records.ErrWrongPassword},
			"an endless password":           {"ada", strings.Repeat("x", 1<<20), records.ErrWrongPassword},
		} {
			t.Run("signing in with "+name, func(t *testing.T) {
				if _, err := w.Authenticate(ctx, c.username, c.password); !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			})
		}
		t.Run("a disabled account cannot sign in", func(t *testing.T) {
			token, _, err := w.CreateSession(ctx, u.ID, "")
			if err != nil {
				t.Fatal(err)
			}
			w.Exec(t, `UPDATE users SET disabled_at = ? WHERE id = ?`, w.Now(), u.ID)
			if _, err := w.Authenticate(ctx, "ada", "correct horse"); !errors.Is(err, records.ErrWrongPassword) {
				t.Errorf("password: %v", err)
			}
			if _, err := w.SessionUser(ctx, token); !errors.Is(err, records.ErrNotFound) {
				t.Errorf("session: %v", err)
			}
		})
		if list, err := w.Users(ctx); err != nil || len(list) != 1 {
			t.Errorf("the list is %v, %v", list, err)
		}
	})
}

// Each round has two people with the same link, and two with different links
// of two instances that started together.
func TestSetupByTwoAtOnceMakesOneAdministrator(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		for name, links := range map[string]func(a, b string) []string{
			"with one link":  func(_, b string) []string { return []string{b, b} },
			"with two links": func(a, b string) []string { return []string{a, b} },
		} {
			t.Run(name, func(t *testing.T) {
				w.Exec(t, `DELETE FROM users`)
				first, err := w.NewSetupToken(ctx)
				if err != nil {
					t.Fatal(err)
				}
				var row struct {
					Hash      string       `db:"hash"`
					CreatedAt records.Time `db:"created_at"`
					ExpiresAt records.Time `db:"expires_at"`
				}
				w.Get(t, &row, `SELECT hash, created_at, expires_at FROM setup_tokens`)
				second, err := w.NewSetupToken(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if err := w.CheckSetupToken(ctx, first); !errors.Is(err, records.ErrSetupToken) {
					t.Errorf("the earlier link still works: %v", err)
				}
				// As when two instances make one at the same moment.
				w.Exec(t, `INSERT INTO setup_tokens VALUES (?, ?, ?)`, row.Hash, row.CreatedAt, row.ExpiresAt)

				var wait sync.WaitGroup
				errs := make([]error, 2)
				for n, token := range links(first, second) {
					wait.Go(func() { _, errs[n] = w.Setup(ctx, token, []string{"ada", "bob"}[n], "correct horse") })
				}
				wait.Wait()
				won := slices.IndexFunc(errs, func(err error) bool { return err == nil })
				if won < 0 || !errors.Is(errs[1-won], records.ErrSetupToken) {
					t.Errorf("the two got %v", errs)
				}
				if n := w.count(`SELECT count(*) FROM users WHERE role = 'admin'`); n != 1 {
					t.Errorf("there are %d administrators", n)
				}
				if needs, err := w.NeedsSetup(ctx); err != nil || needs {
					t.Errorf("setup is needed: %v, %v", needs, err)
				}
			})
		}
		t.Run("after the administrator exists a link is refused", func(t *testing.T) {
			token, err := w.NewSetupToken(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Setup(ctx, token, "eve", "correct horse"); !errors.Is(err, records.ErrSetupDone) {
				t.Errorf("got %v", err)
			}
		})
		t.Run("a bad password does not use the link up", func(t *testing.T) {
			w.Exec(t, `DELETE FROM users`)
			token, err := w.NewSetupToken(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Setup(ctx, token, "ada", "short"); !errors.Is(err, records.ErrBadPassword) {
				t.Errorf("got %v", err)
			}
			if err := w.CheckSetupToken(ctx, token); err != nil {
				t.Errorf("the link: %v", err)
			}
		})
		t.Run("an expired link is refused", func(t *testing.T) {
			token, err := w.NewSetupToken(ctx)
			if err != nil {
				t.Fatal(err)
			}
			w.Exec(t, `UPDATE setup_tokens SET expires_at = ?`, w.Now().Add(-time.Second))
			if err := w.CheckSetupToken(ctx, token); !errors.Is(err, records.ErrSetupToken) {
				t.Errorf("check: %v", err)
			}
			if _, err := w.Setup(ctx, token, "ada", "correct horse"); !errors.Is(err, records.ErrSetupToken) {
				t.Errorf("setup: %v", err)
			}
		})
	})
}

func TestSessions(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, ada := t.Context(), w.person("ada")
		in := func() string {
			token, _, err := w.CreateSession(ctx, ada, "Firefox \xff"+strings.Repeat("é", 300))
			if err != nil {
				t.Fatal(err)
			}
			return token
		}
		out := func(what, token string) {
			t.Helper()
			if _, err := w.SessionUser(ctx, token); !errors.Is(err, records.ErrNotFound) {
				t.Errorf("%s: still signed in (%v)", what, err)
			}
		}
		kept, other := in(), in()
		if u, err := w.SessionUser(ctx, kept); err != nil || u.ID != ada {
			t.Fatalf("signed in as %v, %v", u, err)
		}
		out("a token of nobody", "x")
		out("no token", "")
		if err := w.SetPassword(ctx, ada, "another password", kept); err != nil {
			t.Fatal(err)
		}
		out("another session after a change of password", other)
		if _, err := w.SessionUser(ctx, kept); err != nil {
			t.Errorf("the session that changed the password: %v", err)
		}
		if _, err := w.Authenticate(ctx, "ada", "another password"); err != nil {
			t.Errorf("the new password: %v", err)
		}
		if err := w.DeleteSession(ctx, kept); err != nil {
			t.Fatal(err)
		}
		out("after signing out", kept)
		old := in()
		w.Exec(t, `UPDATE sessions SET expires_at = ?`, w.Now())
		out("an expired session", old)
		in()
		if n := w.count(`SELECT count(*) FROM sessions`); n != 1 {
			t.Errorf("%d sessions are left, want only the one that works", n)
		}
	})
}

func TestKeys(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, ada, bob := t.Context(), w.person("ada"), w.person("bob")
		k, secret, err := w.CreateKey(ctx, ada, "ci", []string{records.ScopeImagesWrite}, 0)
		if err != nil {
			t.Fatal(err)
		}
		found, u, err := w.KeyUser(ctx, secret)
		if err != nil || u.ID != ada || found.ID != k.ID || !found.ExpiresAt.IsZero() {
			t.Fatalf("found %v of %v, %v", found, u, err)
		}
		for scope, want := range map[string]bool{records.ScopeImagesRead: true, records.ScopeImagesWrite: true,
			records.ScopeOpsRead: false, records.ScopeOpsWrite: false, "": false} {
			if found.Allows(scope) != want {
				t.Errorf("the key allows %q: %v", scope, !want)
			}
		}
		if n := w.count(`SELECT count(*) FROM api_keys WHERE hash = ? OR name = ? OR prefix = ?`, secret, secret, secret); n != 0 || !strings.HasPrefix(secret, k.Prefix) {
			t.Error("the secret is kept")
		}

		dead := func(what, secret string) {
			t.Helper()
			if _, _, err := w.KeyUser(ctx, secret); !errors.Is(err, records.ErrNotFound) {
				t.Errorf("%s works: %v", what, err)
			}
		}
		dead("a key of nobody", "afi_x")
		dead("no key", "")
		dead("half a key", secret[:20])

		_, brief, err := w.CreateKey(ctx, ada, "brief", []string{records.ScopeOpsWrite}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.KeyUser(ctx, brief); err != nil {
			t.Errorf("a key within its time: %v", err)
		}
		w.Exec(t, `UPDATE api_keys SET expires_at = ? WHERE name = 'brief'`, w.Now())
		dead("an expired key", brief)

		t.Run("use is kept to the minute", func(t *testing.T) {
			if err := w.TouchKey(ctx, found); err != nil {
				t.Fatal(err)
			}
			touched, _, err := w.KeyUser(ctx, secret)
			if err != nil || touched.LastUsedAt.IsZero() {
				t.Fatalf("last used %v, %v", touched.LastUsedAt, err)
			}
			if err := w.TouchKey(ctx, touched); err != nil {
				t.Fatal(err)
			}
			again, _, err := w.KeyUser(ctx, secret)
			if err != nil || again.LastUsedAt != touched.LastUsedAt {
				t.Errorf("written again within a minute: %v, %v", again.LastUsedAt, err)
			}
		})
		t.Run("only its owner revokes it", func(t *testing.T) {
			if err := w.RevokeKey(ctx, bob, k.ID); !errors.Is(err, records.ErrNotFound) {
				t.Errorf("bob: %v", err)
			}
			if err := w.RevokeKey(ctx, ada, k.ID); err != nil {
				t.Errorf("ada: %v", err)
			}
			dead("a revoked key", secret)
			if err := w.RevokeKey(ctx, ada, k.ID); !errors.Is(err, records.ErrNotFound) {
				t.Errorf("twice: %v", err)
			}
			if list, err := w.Keys(ctx, ada); err != nil || len(list) != 1 || list[0].Name != "brief" {
				t.Errorf("the list is %v, %v", list, err)
			}
		})
		for name, scopes := range map[string][]string{"no scope": nil, "an unknown scope": {records.ScopeOpsRead, "root"}} {
			if _, _, err := w.CreateKey(ctx, ada, "x", scopes, 0); !errors.Is(err, records.ErrBadScope) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, name := range []string{"", "  ", strings.Repeat("n", 61), "a\x00b", "\xff"} {
			if _, _, err := w.CreateKey(ctx, ada, name, records.Scopes, 0); !errors.Is(err, records.ErrBadKeyName) {
				t.Errorf("the name %q: %v", name, err)
			}
		}
	})
}

func TestSecretIsSharedByAll(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var wait sync.WaitGroup
		got := make([]string, 6)
		for n := range got {
			wait.Go(func() {
				b, err := w.Secret(t.Context(), "cursor")
				if err != nil || len(b) != 32 {
					t.Errorf("got %d bytes, %v", len(b), err)
				}
				got[n] = string(b)
			})
		}
		wait.Wait()
		if len(slices.Compact(got)) != 1 {
			t.Error("two callers got different secrets")
		}
		if other, err := w.Secret(t.Context(), "sessions"); err != nil || string(other) == got[0] {
			t.Errorf("another name has the same secret, %v", err)
		}
	})
}
