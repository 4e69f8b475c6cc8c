package records_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"afterimage/records"
	"afterimage/records/recordstest"
)

// Twenty writers on two instances commit in whatever order their delays give,
// while ten pollers follow. Each must end with exactly the present state. On
// SQLite, where there is one instance, both are the same.
func TestEveryPollerEndsWithThePresentState(t *testing.T) {
	changes := 600
	if os.Getenv("TEST_LONG") != "" {
		changes = 100_000
	}
	each(t, func(t *testing.T, w *world) {
		other := w.another()
		f := &followers{world: w, instances: []*records.DB{w.DB, other.DB}}
		for n := range 3 {
			user := w.person(fmt.Sprint("person", n))
			f.users = append(f.users, user)
			f.images = append(f.images, w.imports(user, 20))
		}
		f.left.Store(int64(changes))
		var writers, pollers sync.WaitGroup
		for n := range 20 {
			writers.Go(func() { f.write(n) })
		}
		done := make(chan struct{})
		for n := range 10 {
			pollers.Go(func() { f.poll(n, done) })
		}
		writers.Wait()
		close(done)
		pollers.Wait()
		t.Logf("%d changes by 20 writers, %d parts read by 10 pollers; each ended with the present state", changes, f.parts.Load())
	})
}

// another is a second instance on the world's database, which hears of the
// first and is heard.
func (w *world) another() *world {
	w.t.Helper()
	if !w.Postgres() {
		return w
	}
	second := &world{DB: recordstest.Open(w.t, w.config), Raw: w.Raw, t: w.t, config: w.config}
	for _, db := range []*records.DB{w.DB, second.DB} {
		var listening sync.WaitGroup
		listening.Go(func() { db.Listen(w.t.Context(), slog.New(slog.DiscardHandler)) })
		w.t.Cleanup(listening.Wait)
	}
	return second
}

type followers struct {
	*world
	instances []*records.DB
	users     []string
	images    [][]records.Image
	left      atomic.Int64
	parts     atomic.Int64
}

func (f *followers) write(n int) {
	db, random := f.instances[n%2], rand.New(rand.NewPCG(uint64(n), 8))
	for f.left.Add(-1) >= 0 {
		who := random.IntN(len(f.users))
		user, image := f.users[who], f.images[who][random.IntN(20)].ID
		var err error
		switch random.IntN(20) {
		case 0:
			err = db.DeleteImage(f.t.Context(), user, image)
		case 1:
			_, _, err = db.CreateImport(f.t.Context(), user, []records.ImportItem{{URL: "https://a.example/"}}, records.Idempotency{})
		default:
			err = db.MarkSlowly(f.t.Context(), user, image, time.Duration(random.IntN(2000))*time.Microsecond)
		}
		if err != nil && !errors.Is(err, records.ErrNotFound) {
			f.t.Error(err)
			return
		}
	}
}

// poll follows one person on one instance until nobody writes any more, and
// then to the end.
func (f *followers) poll(n int, done <-chan struct{}) {
	w := &world{DB: f.instances[n%2], Raw: f.Raw, t: f.t, config: f.config}
	user, known, since := f.users[n%len(f.users)], map[string]records.Image{}, int64(0)
	for writing := true; writing; {
		select {
		case <-done:
			writing = false
		case <-time.After(time.Millisecond):
		}
		since = w.follow(user, since, 7, known)
		f.parts.Add(1)
	}
	// The last notification may still be on its way, which is what a second
	// without one is for.
	deadline := time.After(10 * time.Second)
	for !f.complete(user, known) {
		select {
		case <-deadline:
			f.t.Errorf("a poller of %s ended with another state than the present one", user)
			return
		case <-time.After(50 * time.Millisecond):
			since = w.follow(user, since, 7, known)
		}
	}
}

func (f *followers) complete(user string, known map[string]records.Image) bool {
	w := &world{DB: f.DB, Raw: f.Raw, t: f.t, config: f.config}
	present := w.list(user, records.ImageFilter{Limit: 200_000})
	if len(present) != len(known) {
		return false
	}
	for _, i := range present {
		if k, ok := known[i.ID]; !ok || k.Seq != i.Seq || k.Favorite != i.Favorite {
			return false
		}
	}
	return true
}

// What one instance changes is told to those who wait at another one, and not
// to itself a second time.
func TestAChangeIsToldToOtherInstances(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if !w.Postgres() {
			t.Skip("on SQLite there is one instance")
		}
		told := make(chan string, 100)
		second := recordstest.Open(t, w.config)
		second.OnChange(func(user string) { told <- user })
		for _, db := range []*records.DB{w.DB, second} {
			var listening sync.WaitGroup
			listening.Go(func() { db.Listen(t.Context(), slog.New(slog.DiscardHandler)) })
			t.Cleanup(listening.Wait)
		}
		ada := w.person("ada")
		deadline := time.After(20 * time.Second)
		w.imports(ada, 1) // the other one may not listen yet: then again
		for {
			select {
			case user := <-told:
				if user == ada {
					return
				}
			case <-time.After(time.Second):
				w.imports(ada, 1)
			case <-deadline:
				t.Fatal("the other instance was not told")
			}
		}
	})
}
