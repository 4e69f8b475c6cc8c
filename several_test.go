//go:build unix

package main

import (
	"database/sql"
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lib/pq"

	"afterimage/records"
)

// several is a database and a store for several instances, with a source whose
// answers the test gives one by one.
type several struct {
	t       *testing.T
	address string // of the database
	db      *sql.DB
	records *records.DB
	store   *gateway
	source  *holding
	user    string
}

func newSeveral(t *testing.T) *several {
	t.Helper()
	t.Parallel()
	s := &several{t: t, address: ownDatabase(t), store: sharedStore(t), source: newHolding(t)}
	var err error
	if s.records, err = records.Open(t.Context(), records.Config{URL: s.address}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.records.Close() })
	if err := s.records.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	u, err := s.records.CreateUser(t.Context(), "ada", adminPassword, records.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.user, s.db = u.ID, openSQL(t, s.address)
	return s
}

// instance starts one more process. A poll of an hour shows that nothing waits
// for it.
func (s *several) instance(extra ...string) *running {
	s.t.Helper()
	env := testEnviron(s.t.TempDir(), "DATABASE_URL="+s.address, "IMAGE_ARCHIVE_POLL_INTERVAL=1h", "IMAGE_ARCHIVE_SWEEP_INTERVAL=1h", s.source.allowed())
	return startProcess(s.t, slices.Concat(env, s.store.env, extra))
}

// imports writes images of which no instance but the database knows.
func (s *several) imports(n int) []records.Image {
	s.t.Helper()
	items := make([]records.ImportItem, n)
	for i := range items {
		items[i] = records.ImportItem{URL: fmt.Sprintf("%s/%d.png", s.source.URL, i)}
	}
	_, images, err := s.records.CreateImport(s.t.Context(), s.user, items, records.Idempotency{})
	if err != nil {
		s.t.Fatal(err)
	}
	return images
}

func (s *several) archived() int {
	s.t.Helper()
	return value[int](s.t, s.db, `SELECT count(*) FROM images WHERE status = 'archived'`)
}

func (s *several) awaitArchived(n int, within time.Duration) time.Duration {
	s.t.Helper()
	return eventually(s.t, within, fmt.Sprintf("%d images archived", n), func() bool { return s.archived() == n })
}

// holding is a source that holds its answers back.
type holding struct {
	*httptest.Server
	asked chan *held

	mu   sync.Mutex
	open bool // answers are given at once
	gets int
}

// held is a request that waits for its answer.
type held struct {
	path   string
	answer chan struct{} // closed: it is given
}

func newHolding(t *testing.T) *holding {
	h := &holding{asked: make(chan *held, 10_000)}
	h.Server = httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		h.mu.Lock()
		open := h.open
		h.gets++
		h.mu.Unlock()
		if !open {
			one := &held{r.URL.Path, make(chan struct{})}
			h.asked <- one
			select {
			case <-one.answer:
			case <-r.Context().Done():
				return
			}
		}
		w.Write(picture(0))
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *holding) allowed() string {
	return "IMAGE_ARCHIVE_ALLOW=" + strings.TrimPrefix(h.URL, "http://")
}

// letGo answers from now on at once.
func (h *holding) letGo() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = true
}

func (h *holding) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.gets
}

// next waits for a request.
func (h *holding) next(t *testing.T) *held {
	t.Helper()
	select {
	case one := <-h.asked:
		return one
	case <-time.After(30 * time.Second):
		t.Fatal("the source was not asked")
		return nil
	}
}

// TestZombie stops an instance in the middle of a transfer until its lease is
// over and another has archived the image, and lets it go on: its settlement
// changes nothing. A queue that settles by the state of a row alone lets it
// complete the run of its successor.
func TestZombie(t *testing.T) {
	s := newSeveral(t)
	tuning := []string{"IMAGE_ARCHIVE_LOCK_TTL=4s", "IMAGE_ARCHIVE_SWEEP_INTERVAL=1s", "IMAGE_ARCHIVE_CONCURRENCY=1"}
	zombie := s.instance(tuning...)
	image := s.imports(1)[0].ID
	first := s.source.next(t)
	other := s.instance(tuning...)
	zombie.signal(syscall.SIGSTOP)

	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the zombie:\n%s\nthe other:\n%s", zombie.out, other.out)
		}
	})
	second := s.source.next(t) // its lease ran out, and the other took over
	close(first.answer)        // which the zombie finds when it wakes up
	zombie.signal(syscall.SIGCONT)
	zombie.out.await(t, "a job ended after its claim was lost; nothing was changed", nil)
	if claim := value[int](t, s.db, `SELECT claim FROM jobs WHERE ref = $1 AND kind = 'archive' AND state = 'running'`, image); claim != 2 {
		t.Errorf("the other's claim is number %d", claim)
	}
	if n := s.archived(); n != 0 {
		t.Error("the zombie archived it")
	}
	close(second.answer)
	other.out.await(t, `msg="image archived"`, nil)
	s.awaitArchived(1, 10*time.Second)
	if n := value[int](t, s.db, `SELECT count(*) FROM image_events WHERE kind = 'archived'`); n != 1 {
		t.Errorf("archived %d times", n)
	}
	if n := value[int](t, s.db, `SELECT count(*) FROM image_events WHERE kind = 'interrupted'`); n != 1 {
		t.Errorf("interrupted %d times", n)
	}
	if n := strings.Count(zombie.out.String(), "its claim was lost"); n != 1 {
		t.Errorf("it was logged %d times:\n%s", n, zombie.out)
	}
	if code := zombie.stop(); code != exitDone {
		t.Errorf("exit code %d", code)
	}
}

// TestFrozenInstanceIsOvertaken by its silence alone, though it holds its lock
// and its lease: within 35 s.
func TestFrozenInstanceIsOvertaken(t *testing.T) {
	if os.Getenv("TEST_LONG") == "" {
		t.Skip("left out: it takes 35 s (make test-long does it)")
	}
	s := newSeveral(t)
	frozen := s.instance()
	s.imports(1)
	s.source.next(t)
	s.instance()
	frozen.signal(syscall.SIGSTOP)
	defer frozen.signal(syscall.SIGCONT)
	s.source.letGo()
	took := s.awaitArchived(1, 40*time.Second)
	t.Logf("overtaken after %v", took)
	if took < 25*time.Second || took > 35*time.Second {
		t.Errorf("overtaken after %v", took)
	}
}

// TestDeadInstanceIsOvertaken within 5 s, long before its lease is over.
func TestDeadInstanceIsOvertaken(t *testing.T) {
	s := newSeveral(t)
	dies := s.instance("IMAGE_ARCHIVE_CONCURRENCY=4")
	s.imports(4)
	for range 4 {
		s.source.next(t)
	}
	other := s.instance()
	// Who has just started takes nothing over for a while; and first it learns
	// whether it can.
	<-time.After(5 * time.Second)
	s.source.letGo()
	dies.kill()
	took := s.awaitArchived(4, 20*time.Second)
	t.Logf("archived %v after the kill", took)
	if took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	other.out.await(t, "work of an instance that ended was taken over", nil)
	if n := value[int](t, s.db, `SELECT count(*) FROM images WHERE attempt <> 1`); n != 0 {
		t.Errorf("an attempt was counted for %d images", n)
	}
}

// TestAllConnectionsTerminated, as a database restart or an impatient operator
// does: work in the middle is settled, what is enqueued afterwards is found,
// and nobody takes over from the living, all within 5 s.
func TestAllConnectionsTerminated(t *testing.T) {
	s := newSeveral(t)
	instances := []*running{s.instance(), s.instance()}
	s.imports(4) // two slots each
	var running []*held
	for range 4 {
		running = append(running, s.source.next(t))
	}
	<-time.After(4 * time.Second) // both hold their locks, and may take over
	mustExec(t, s.db, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	began := time.Now()
	s.source.letGo()
	for _, one := range running {
		close(one.answer)
	}
	for range 20 { // our own connections were ended, too
		if s.records.Ping(t.Context()) == nil {
			break
		}
	}
	s.imports(6)
	s.awaitArchived(10, 30*time.Second)
	took := time.Since(began)
	t.Logf("went on within %v", took)
	if took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if n := value[int](t, s.db, `SELECT count(*) FROM image_events WHERE kind = 'interrupted'`); n != 0 {
		t.Errorf("%d images were taken from instances that live", n)
	}
	for _, r := range instances {
		if code := r.stop(); code != exitDone {
			t.Errorf("exit code %d:\n%s", code, r.out)
		}
	}
}

// TestOneNotificationATransaction: each takes a lock that the whole database
// shares, so a thousand rows must not send a thousand.
func TestOneNotificationATransaction(t *testing.T) {
	s := newSeveral(t)
	listener := pq.NewListener(s.address, time.Second, time.Second, nil)
	t.Cleanup(func() { listener.Close() })
	if err := listener.Listen("afterimage_jobs"); err != nil {
		t.Fatal(err)
	}
	s.imports(1000)
	mustExec(t, s.db, `SELECT pg_notify('afterimage_jobs', 'the end')`)
	var heard []string
	for len(heard) == 0 || heard[len(heard)-1] != "the end" {
		select {
		case n := <-listener.Notify:
			heard = append(heard, n.Extra)
		case <-time.After(10 * time.Second):
			t.Fatalf("heard only %q", heard)
		}
	}
	// The kind, and where in the queue the first of the rows stands.
	if len(heard) != 2 || !strings.HasPrefix(heard[0], "archive 1 ") {
		t.Errorf("heard %d notifications: %q", len(heard), heard)
	}
}

// TestOtherInstanceWakesAtTheCommit: nobody polls for an hour.
func TestOtherInstanceWakesAtTheCommit(t *testing.T) {
	s := newSeveral(t)
	s.source.letGo()
	s.instance()
	s.imports(1) // by this process, which archives nothing
	s.awaitArchived(1, 20*time.Second)
	s.imports(1)
	took := s.awaitArchived(2, 20*time.Second)
	t.Logf("archived after %v", took)
	if took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}

// signal sends a signal to a process.
func (r *running) signal(s os.Signal) {
	r.t.Helper()
	if err := r.process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}
