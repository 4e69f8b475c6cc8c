package records_test

import (
	"errors"
	"testing"

	"afterimage/records"
)

func TestADeletedPersonTakesTheirImagesAlong(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, ada, bob := t.Context(), w.person("ada"), w.person("bob")
		w.imports(ada, 130)
		w.asks(ada, 2) // one that has not begun
		w.imports(bob, 1)
		if err := w.DeleteUser(ctx, ada, ""); err != nil {
			t.Fatal(err)
		}
		if n := w.count(`SELECT count(*) FROM images`); n != 1 {
			t.Errorf("%d images are left, want bob's", n)
		}
		if n := w.count(`SELECT count(*) FROM jobs WHERE kind = 'delete' AND user_id = ?`, ada); n != 132 {
			t.Errorf("%d objects are to be deleted, want 132", n)
		}
		if n := w.count(`SELECT count(*) FROM jobs WHERE kind <> 'delete' AND user_id = ?`, ada); n != 0 {
			t.Errorf("%d jobs of hers go on", n)
		}
		if _, err := w.User(ctx, ada); !errors.Is(err, records.ErrNotFound) {
			t.Errorf("the account is there: %v", err)
		}
	})
}

func TestADeletedPersonsImagesAreHandedOver(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, ada, bob := t.Context(), w.person("ada"), w.person("bob")
		images := w.imports(ada, 130)
		g, made := w.asks(ada, 2)
		w.instance("one")
		j := w.claimOne(records.KindArchive)
		before, err := w.History(ctx, bob, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.DeleteUser(ctx, ada, bob); err != nil {
			t.Fatal(err)
		}
		known := map[string]records.Image{}
		w.follow(bob, before.Seq, 50, known)
		if len(known) != 132 || known[images[0].ID].UserID != bob || known[made[0].ID].Status != records.Canceled {
			t.Errorf("bob is told of %d images", len(known))
		}
		if _, mine, err := w.Generation(ctx, bob, g.ID); err != nil || len(mine) != 2 {
			t.Errorf("the generation has %d images: %v", len(mine), err)
		}
		// What was being archived goes on for its new owner.
		if err := w.settles(w.archived(bob, j)); err != nil {
			t.Errorf("the running job: %v", err)
		}
		if err := w.DeleteUser(ctx, bob, bob); !errors.Is(err, records.ErrNotPossible) {
			t.Errorf("to oneself: %v", err)
		}
		if err := w.DeleteUser(ctx, bob, records.NewID()); !errors.Is(err, records.ErrNotFound) {
			t.Errorf("to nobody: %v", err)
		}
	})
}

func TestANewPasswordByALinkWorksOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, ada := t.Context(), w.person("ada")
		session, _, err := w.CreateSession(ctx, ada, "")
		if err != nil {
			t.Fatal(err)
		}
		old, _, err := w.NewResetToken(ctx, ada)
		if err != nil {
			t.Fatal(err)
		}
		token, _, err := w.NewResetToken(ctx, ada)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.ResetPassword(ctx, token, "short"); !errors.Is(err, records.ErrBadPassword) {
			t.Errorf("a short one: %v", err)
		}
		if u, err := w.ResetPassword(ctx, token, "battery staple"); err != nil || u.ID != ada {
			t.Fatalf("the link: %v", err)
		}
		for name, token := range map[string]string{"used": token, "replaced": old, "made up": "x"} {
			if _, err := w.ResetPassword(ctx, token, "battery staple"); !errors.Is(err, records.ErrResetToken) {
				t.Errorf("a link that is %s: %v", name, err)
			}
		}
		if _, err := w.SessionUser(ctx, session); !errors.Is(err, records.ErrNotFound) {
			t.Errorf("the old session goes on: %v", err)
		}
		if _, err := w.Authenticate(ctx, "ada", "battery staple"); err != nil {
			t.Error(err)
		}
		late, _, err := w.NewResetToken(ctx, ada)
		if err != nil {
			t.Fatal(err)
		}
		w.Exec(t, `UPDATE reset_tokens SET expires_at = ?`, w.Now())
		if _, err := w.ResetUser(ctx, late); !errors.Is(err, records.ErrResetToken) {
			t.Errorf("a link from the day before: %v", err)
		}
	})
}
