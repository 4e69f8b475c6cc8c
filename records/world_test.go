package records_test

import (
	"fmt"
	"testing"
	"time"

	"afterimage/records"
	"afterimage/records/recordstest"
)

// world is one test's database, with the words in which tests speak of it.
type world struct {
	*records.DB
	recordstest.Raw
	t      *testing.T
	config records.Config
}

// each runs a test in a world of its own on SQLite and on PostgreSQL.
func each(t *testing.T, test func(t *testing.T, w *world)) {
	t.Parallel()
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		test(t, &world{DB: recordstest.Open(t, c), Raw: recordstest.OpenRaw(t, c), t: t, config: c})
	})
}

// person adds an account without the cost of hashing a password.
func (w *world) person(name string) string {
	w.t.Helper()
	id := records.NewID()
	w.Exec(w.t, `INSERT INTO users (id, username, password_hash, role, created_at) VALUES (?, ?, '', 'member', ?)`, id, name, w.Now())
	w.Exec(w.t, `INSERT INTO change_heads (user_id, seq) VALUES (?, 0)`, id)
	return id
}

// imports writes n images to be archived.
func (w *world) imports(user string, n int) []records.Image {
	w.t.Helper()
	items := make([]records.ImportItem, n)
	for i := range items {
		items[i] = records.ImportItem{URL: fmt.Sprintf("https://source.example/%d.png", i), Prompt: fmt.Sprint("image ", i)}
	}
	return w.importItems(user, items...)
}

func (w *world) importItems(user string, items ...records.ImportItem) []records.Image {
	w.t.Helper()
	_, images, err := w.CreateImport(w.t.Context(), user, items, records.Idempotency{})
	if err != nil {
		w.t.Fatal(err)
	}
	return images
}

// asks writes a generation of n images.
func (w *world) asks(user string, n int) (*records.Generation, []records.Image) {
	w.t.Helper()
	g, images, err := w.CreateGeneration(w.t.Context(), records.NewGeneration{UserID: user, Provider: "demo", Model: "m", Prompt: "a lighthouse", N: n})
	if err != nil {
		w.t.Fatal(err)
	}
	return g, images
}

// instance registers a process called id, whose spool is called "spool of "+id.
func (w *world) instance(id string) {
	w.t.Helper()
	if _, err := w.StartInstance(w.t.Context(), records.Instance{ID: id, SpoolID: "spool of " + id}); err != nil {
		w.t.Fatal(err)
	}
}

// claims asks for jobs as the instance "one".
func (w *world) claims(kind string, limit int) []records.Job {
	w.t.Helper()
	return w.claimsAs("one", kind, limit)
}

func (w *world) claimsAs(instance, kind string, limit int) []records.Job {
	w.t.Helper()
	_, jobs, err := w.Advance(w.t.Context(), nil, records.ClaimRequest{Kind: kind, Limit: limit, InstanceID: instance,
		SpoolID: "spool of " + instance, TTL: 10 * time.Minute})
	if err != nil {
		w.t.Fatal(err)
	}
	// As work does that takes a while.
	if _, _, err := w.Advance(w.t.Context(), nil, records.ClaimRequest{Show: jobs}); err != nil {
		w.t.Fatal(err)
	}
	return jobs
}

// claimsSuspect asks for one job that has to run alone.
func (w *world) claimsSuspect(instance, kind string) []records.Job {
	w.t.Helper()
	_, jobs, err := w.Advance(w.t.Context(), nil, records.ClaimRequest{Kind: kind, Limit: 1, Suspects: true, InstanceID: instance,
		SpoolID: "spool of " + instance, TTL: 10 * time.Minute})
	if err != nil {
		w.t.Fatal(err)
	}
	return jobs
}

// claimOne claims exactly one job.
func (w *world) claimOne(kind string) records.Job {
	w.t.Helper()
	jobs := w.claims(kind, 1)
	if len(jobs) != 1 {
		w.t.Fatalf("claimed %d %s jobs, want 1", len(jobs), kind)
	}
	return jobs[0]
}

// settles writes one settlement.
func (w *world) settles(s records.Settlement) error {
	w.t.Helper()
	return w.Settle(w.t.Context(), []records.Settlement{s})[0]
}

// archived is the settlement of a job that stored its image.
func (w *world) archived(user string, j records.Job) records.Settlement {
	w.t.Helper()
	i := w.image(user, *j.Ref)
	i.Status, i.ObjectKey, i.MIME, i.Bytes, i.ArchivedAt = records.Archived, "images/"+i.ID+".png", "image/png", 1234, w.Now()
	i.SourceURL = ""
	return records.Settlement{Job: j, Images: []records.ImageChange{{Image: i, Event: &records.Event{Kind: records.EventArchived, Attempt: i.Attempt}}}}
}

func (w *world) image(user, id string) *records.Image {
	w.t.Helper()
	i, err := w.Image(w.t.Context(), user, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return i
}

// job returns the only job about something.
func (w *world) job(ref string) records.Job {
	w.t.Helper()
	jobs, err := w.JobsOf(w.t.Context(), ref)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(jobs) != 1 {
		w.t.Fatalf("%d jobs about %s, want 1", len(jobs), ref)
	}
	return jobs[0]
}

// events are the kinds of what happened to an image, oldest first.
func (w *world) events(user, id string) []string {
	w.t.Helper()
	list, err := w.Events(w.t.Context(), user, id)
	if err != nil {
		w.t.Fatal(err)
	}
	kinds := make([]string, len(list))
	for i, e := range list {
		kinds[i] = e.Kind
	}
	return kinds
}

func (w *world) count(query string, args ...any) int {
	w.t.Helper()
	var n int
	w.Get(w.t, &n, query, args...)
	return n
}

// swept does one round.
func (w *world) swept() records.Swept {
	w.t.Helper()
	s, err := w.Sweep(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}
