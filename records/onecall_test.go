package records_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"afterimage/records"
	"afterimage/records/recordstest"
)

// onPostgres runs a test in a world of its own on PostgreSQL.
func onPostgres(t *testing.T, test func(t *testing.T, w *world)) {
	t.Parallel()
	c := recordstest.Postgres(t)
	test(t, &world{DB: recordstest.Open(t, c), Raw: recordstest.OpenRaw(t, c), t: t, config: c})
}

func (w *world) request(limit int) records.ClaimRequest {
	return records.ClaimRequest{Kind: records.KindArchive, Limit: limit, InstanceID: "one", SpoolID: "spool of one", TTL: 10 * time.Minute}
}

// One call has to leave behind exactly what the statements do: the same rows,
// the same jobs handed out.
func TestOneCallDoesWhatTheStatementsDo(t *testing.T) {
	onPostgres(t, func(t *testing.T, w *world) {
		w.instance("one")
		type result struct {
			jobs   []records.Job
			image  records.Image
			events []records.Event
			next   []records.Job
			seq    int64
		}
		run := func(name string, advance func(list []records.Settlement, r records.ClaimRequest) []records.Job) (r result) {
			person := w.person(name)
			images := w.imports(person, 3)
			w.Exec(t, `UPDATE images SET width = 7, thumb = 'jpg', reason = 'r', provider_message = 'm', favorite = TRUE, trashed_at = created_at,
				source_expires_at = created_at, next_attempt_at = created_at, params = '{"a":1}' WHERE user_id = ?`, person)
			first := advance(nil, w.request(1))
			s := w.archived(person, first[0])
			s.Images[0].Event.Detail, s.Images[0].Event.StartedAt = "why \x00 not", w.Now()
			s.Next = []records.NextJob{{Kind: records.KindThumbnail, Ref: *first[0].Ref, UserID: person, Lane: records.LaneIdle}}
			r.jobs = advance([]records.Settlement{s}, w.request(2))
			r.image = *w.image(person, *first[0].Ref)
			r.events, _ = w.Events(t.Context(), person, r.image.ID)
			r.next, _ = w.JobsOf(t.Context(), r.image.ID)
			r.seq = r.image.Seq
			// What differs by its nature.
			for n := range r.jobs {
				j := &r.jobs[n]
				if j.Image == nil || j.Image.ID != *j.Ref || j.ID == "" || j.Owner == "" || j.LeasedUntil.IsZero() {
					t.Fatalf("%s: job %+v", name, j)
				}
				if *j.Ref == r.image.ID || j.Image.ID != images[1].ID && j.Image.ID != images[2].ID {
					t.Fatalf("%s: claimed the wrong job", name)
				}
				i := *j.Image
				i.ID, i.UserID, i.ImportID, i.SourceExpiresAt, i.NextAttemptAt = "", "", nil, records.Time{}, records.Time{}
				i.Position, i.Seq, i.SourceURL, i.Prompt, i.Sidecar = 0, 0, "", "", "" // which of the two is first, their ids say
				i.TrashedAt, i.CreatedAt, i.UpdatedAt = records.Time{}, records.Time{}, records.Time{}
				*j = records.Job{Kind: j.Kind, State: j.State, Lane: j.Lane, Deadline: j.Deadline, Claim: j.Claim, InstanceID: j.InstanceID,
					Attempt: j.Attempt, Image: &i}
			}
			r.image.ID, r.image.UserID, r.image.ImportID, r.image.ObjectKey, r.image.Position = "", "", nil, "", 0
			r.image.SourceExpiresAt, r.image.TrashedAt, r.image.CreatedAt, r.image.UpdatedAt, r.image.ArchivedAt, r.image.NextAttemptAt = records.Time{}, records.Time{}, records.Time{}, records.Time{}, records.Time{}, records.Time{}
			r.image.Prompt, r.image.Sidecar = "", "" // random
			for n := range r.events {
				if r.events[n].ID == "" || r.events[n].At.IsZero() {
					t.Fatalf("%s: event %+v", name, r.events[n])
				}
				r.events[n] = records.Event{Kind: r.events[n].Kind, Detail: r.events[n].Detail, Attempt: r.events[n].Attempt}
			}
			for n := range r.next {
				j := &r.next[n]
				if j.ID == "" || j.RunAt.IsZero() || *j.DedupeKey != j.Kind+":"+*j.Ref || j.UserID != person {
					t.Fatalf("%s: next job %+v", name, j)
				}
				*j = records.Job{Kind: j.Kind, State: j.State, Lane: j.Lane, Deadline: j.Deadline}
			}
			w.Exec(t, `DELETE FROM jobs`)
			return r
		}
		one := run("one call", func(list []records.Settlement, r records.ClaimRequest) []records.Job {
			jobs, ok := w.AdvanceInOneCall(t.Context(), list, r)
			if !ok {
				t.Fatal("the common case did not take the one call")
			}
			return jobs
		})
		many := run("statements", func(list []records.Settlement, r records.ClaimRequest) []records.Job {
			errs, jobs, err := w.AdvanceByStatements(t.Context(), list, r)
			if err := errors.Join(append(errs, err)...); err != nil {
				t.Fatal(err)
			}
			return jobs
		})
		if !reflect.DeepEqual(one, many) {
			t.Errorf("one call:   %+v\nstatements: %+v", one, many)
		}
		if len(one.jobs) != 2 || len(one.events) != 2 || len(one.next) != 1 || one.image.Status != records.Archived {
			t.Errorf("%+v", one)
		}
	})
}

// A column that is added to an image or a job must be handed over too.
func TestOneCallHandsOverEveryColumn(t *testing.T) {
	onPostgres(t, func(t *testing.T, w *world) {
		var names string
		w.Get(t, &names, `SELECT array_to_string(proargnames, ' ') FROM pg_proc WHERE proname = 'complete_and_claim'`)
		handed := strings.Fields(names)
		for prefix, row := range map[string]any{"": records.Job{}, "image.": records.Image{}} {
			for f := range reflect.TypeOf(row).Fields() {
				column := f.Tag.Get("db")
				if column == "-" || column == "deleted_at" || !f.IsExported() {
					continue // no column
				}
				if !slices.Contains(handed, prefix+column) {
					t.Errorf("complete_and_claim does not hand over %s%s", prefix, column)
				}
			}
		}
	})
}

func TestOneCallLeavesWhatIsOutOfTheOrdinary(t *testing.T) {
	onPostgres(t, func(t *testing.T, w *world) {
		w.instance("one")
		ada := w.person("ada")
		w.imports(ada, 4)
		jobs := w.claims(records.KindArchive, 2)
		lost := w.archived(ada, jobs[0])
		lost.Job.Claim++
		good := w.archived(ada, jobs[1])
		if _, ok := w.AdvanceInOneCall(t.Context(), []records.Settlement{lost, good}, w.request(1)); ok {
			t.Fatal("a lost claim was taken as usual")
		}
		if i := w.image(ada, *jobs[1].Ref); i.Status == records.Archived {
			t.Error("something was written all the same")
		}
		errs, next, err := w.Advance(t.Context(), []records.Settlement{lost, good}, w.request(1))
		if err != nil || !errors.Is(errs[0], records.ErrLeaseLost) || errs[1] != nil || len(next) != 1 {
			t.Errorf("errs %v, claimed %d, err %v", errs, len(next), err)
		}
		if i := w.image(ada, *jobs[1].Ref); i.Status != records.Archived {
			t.Errorf("the good one is %s", i.Status)
		}
		for name, s := range map[string]records.Settlement{
			"a failure":    {Job: next[0], Verdict: records.Release},
			"a generation": {Job: next[0], Generation: &records.Generation{}},
			"a thumbnail":  {Job: next[0], Images: []records.ImageChange{{Image: &records.Image{}, ThumbOnly: true}}},
		} {
			if _, ok := w.AdvanceInOneCall(t.Context(), []records.Settlement{s}, records.ClaimRequest{}); ok {
				t.Errorf("%s was settled in one call", name)
			}
		}
	})
}

// A job that was written by hand, about an image that does not exist, is handed
// out without one, for its handler to discard.
func TestOneCallAboutNoImage(t *testing.T) {
	onPostgres(t, func(t *testing.T, w *world) {
		w.instance("one")
		w.Exec(t, `INSERT INTO jobs (id, kind, ref, state, deadline, run_at, created_at) VALUES ('x', 'archive', 'gone', 'ready', ?, ?, ?)`,
			records.Never, w.Now(), w.Now())
		jobs, ok := w.AdvanceInOneCall(t.Context(), nil, w.request(1))
		if !ok || len(jobs) != 1 || jobs[0].Image != nil || *jobs[0].Ref != "gone" {
			t.Errorf("%v %+v", ok, jobs)
		}
	})
}
