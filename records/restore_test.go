package records_test

import (
	"errors"
	"testing"

	"afterimage/records"
)

// Whoever was the administrator before the database was lost has an account
// with their images again, and no password.
func TestSetupTakesARestoredAccountOver(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, restored := t.Context(), w.person("ada") // without a password
		image := w.imports(restored, 1)[0]
		token, err := w.NewSetupToken(ctx)
		if err != nil {
			t.Fatal(err)
		}
		u, err := w.Setup(ctx, token, "Ada", "correct horse")
		if err != nil || u.ID != restored || u.Role != records.Admin {
			t.Fatalf("the administrator is %+v, %v", u, err)
		}
		if _, err := w.Image(ctx, u.ID, image.ID); err != nil {
			t.Error(err)
		}
		if _, err := w.CreateUser(ctx, "ada", "another horse", records.Member); !errors.Is(err, records.ErrUsernameTaken) {
			t.Errorf("once more: %v", err)
		}
		if signed, err := w.Authenticate(ctx, "ada", "correct horse"); err != nil || signed.ID != restored {
			t.Errorf("signing in: %+v, %v", signed, err)
		}
	})
}

func TestNobodySignsInWithoutAPassword(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.person("ada")
		for _, password := range []string{"", "correct horse"} {
			if _, err := w.Authenticate(t.Context(), "ada", password); !errors.Is(err, records.ErrWrongPassword) {
				t.Errorf("with %q: %v", password, err)
			}
		}
	})
}

// One image that is not the same, and nothing is restored.
func TestRestoreRefusesWhatIsNotTheSame(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		there := w.importItems(w.person("ada"), records.ImportItem{URL: "https://source.example/a.png", Prompt: "a"})[0]
		same := records.Restorable{Image: there, Origin: records.Origin{Owner: "ada", ImportedAt: there.CreatedAt}}
		other := func(change func(*records.Restorable)) []records.Restorable {
			k := same
			change(&k)
			return []records.Restorable{k}
		}
		for _, c := range []struct {
			name string
			list []records.Restorable
			same bool
		}{
			{"the same", []records.Restorable{same}, true},
			{"the same with other marks", other(func(k *records.Restorable) { k.Favorite, k.TrashedAt = true, w.Now() }), true},
			{"nothing", nil, false},
			{"another image", other(func(k *records.Restorable) { k.ID = records.NewID() }), false},
			{"another owner", other(func(k *records.Restorable) { k.Owner = "bob" }), false},
			{"another prompt", other(func(k *records.Restorable) { k.Prompt = "b" }), false},
			{"another import", other(func(k *records.Restorable) { id := records.NewID(); k.ImportID = &id }), false},
			{"other parameters", other(func(k *records.Restorable) { k.Params = records.Params{"seed": 1.0} }), false},
			{"other bytes", other(func(k *records.Restorable) { k.SHA256 = "ab" }), false},
		} {
			t.Run(c.name, func(t *testing.T) {
				r, err := w.Restore(t.Context(), "", "zz", c.list)
				_, differs := errors.AsType[*records.NotTheSameError](err)
				if differs == c.same || c.same && (err != nil || r != records.Restored{Same: 1}) {
					t.Errorf("restored %+v, %v", r, err)
				}
			})
		}
		if _, err := w.UserByName(t.Context(), "bob"); !errors.Is(err, records.ErrNotFound) {
			t.Error("a refused restore made an account")
		}
	})
}
