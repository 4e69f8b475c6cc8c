package records_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"afterimage/records"
	"afterimage/records/recordstest"
)

// model is what the queue must do, without a database: three workers on one
// table of jobs. Random steps are taken on both and compared after each.
type model struct {
	*world
	random  *rand.Rand
	user    string
	jobs    map[string]*modelJob // by image
	workers []*modelWorker
	stale   []records.Job // claims of processes that ended, which may settle all the same
	woken   int           // how often the database said that there are jobs
	starts  int
	steps   []string
}

type modelJob struct {
	image   string
	state   string // as of a row; "archived" and "failed" have none
	claim   int64
	attempt int
	crashes int
	runAt   time.Time
	leased  time.Time
	worker  string
}

type modelWorker struct {
	spool  string
	id     string
	beat   time.Time
	frozen bool
	held   []records.Job // what it believes to run
}

const modelTTL = 20 * time.Second

// TestQueueKeepsToTheModel: no image is archived twice, none is lost, the claim
// number only rises, and whatever becomes ready is told.
func TestQueueKeepsToTheModel(t *testing.T) {
	t.Parallel()
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		synctest.Test(t, func(t *testing.T) {
			w := &world{DB: recordstest.Open(t, c), Raw: recordstest.OpenRaw(t, c), t: t, config: c}
			sequences := 15
			if w.Postgres() {
				sequences = 5
			}
			if os.Getenv("TEST_LONG") != "" {
				sequences *= 200
			}
			user := w.person("model")
			for n := range sequences {
				m := &model{world: w, random: rand.New(rand.NewPCG(uint64(n), 1)), user: user, jobs: map[string]*modelJob{}}
				w.OnJobs(func(string) { m.woken++ })
				if !m.run() {
					t.Fatalf("sequence %d: %q", n, m.steps)
				}
			}
		})
	})
}

// run takes some steps and then lets all work end well.
func (m *model) run() bool {
	for range 3 {
		m.workers = append(m.workers, &modelWorker{spool: records.NewID()})
		m.restart(m.workers[len(m.workers)-1])
	}
	steps := []func(){m.enqueue, m.claim, m.claim, m.settle, m.settle, m.settle, m.settleStale, m.crash, m.pass, m.pass, m.sweep, m.freeze, m.renew}
	for range 25 {
		steps[m.random.IntN(len(steps))]()
		if !m.same() {
			return false
		}
	}
	return m.end()
}

func (m *model) step(format string, args ...any) {
	m.steps = append(m.steps, fmt.Sprintf(format, args...))
}

func (m *model) any() *modelWorker { return m.workers[m.random.IntN(len(m.workers))] }

// told checks that the database told of what became ready.
func (m *model) told(before int, ready bool) {
	if ready && m.woken == before {
		m.t.Errorf("nobody was told of new jobs after %s", m.steps[len(m.steps)-1])
	}
}

func (m *model) enqueue() {
	before := m.woken
	m.step("enqueue")
	for _, i := range m.imports(m.user, 1+m.random.IntN(3)) {
		m.jobs[i.ID] = &modelJob{image: i.ID, state: records.JobReady}
	}
	m.told(before, true)
}

func (m *model) claim() { m.claimBy(m.any(), 1+m.random.IntN(3), m.random.IntN(3) == 0) }

func (m *model) claimBy(w *modelWorker, limit int, suspects bool) {
	if w.frozen {
		return
	}
	want := records.JobReady
	if suspects {
		want, limit = records.JobSuspect, 1
	}
	m.step("%s claims %d %s", w.id, limit, want)
	_, got, err := m.Advance(m.t.Context(), nil, records.ClaimRequest{Kind: records.KindArchive, Limit: limit, Suspects: suspects,
		InstanceID: w.id, SpoolID: w.spool, TTL: modelTTL})
	if err != nil {
		m.t.Fatal(err)
	}
	there := 0
	for _, j := range m.jobs {
		if j.state == want {
			there++
		}
	}
	if len(got) != min(limit, there) {
		m.t.Errorf("claimed %d of %d jobs", len(got), there)
	}
	for _, g := range got {
		j := m.jobs[*g.Ref]
		if j.state != want || g.Claim != j.claim+1 {
			m.t.Errorf("claim %d of a job that is %s after claim %d", g.Claim, j.state, j.claim)
		}
		j.state, j.claim, j.worker, j.leased = records.JobRunning, g.Claim, w.id, time.Now().Add(modelTTL)
	}
	w.held = append(w.held, got...)
}

func (m *model) settle() {
	w := m.any()
	if w.frozen || len(w.held) == 0 {
		return
	}
	n := m.random.IntN(len(w.held))
	if m.settleAs(w.id, w.held[n], m.random.IntN(6)) {
		w.held = slices.Delete(w.held, n, n+1)
	}
}

// settleStale is the late settlement of a process that ended for everybody
// else.
func (m *model) settleStale() {
	if len(m.stale) > 0 {
		m.settleAs("a zombie", m.stale[m.random.IntN(len(m.stale))], m.random.IntN(6))
	}
}

// refused is a way to settle that the database does not take.
const refused = 5

// settleAs settles a claim in one of several ways, and reports whether the
// worker is rid of it.
func (m *model) settleAs(who string, job records.Job, way int) bool {
	j, s := m.jobs[*job.Ref], m.archived(m.user, job)
	i := s.Images[0].Image
	stands := j.state == records.JobRunning && j.claim == job.Claim
	next, runAt := *j, time.Now().Add(30*time.Second)
	switch way {
	case 0, 1:
		next.state = "archived"
	case 2:
		s.Verdict, s.RunAt, i.Status, s.Images[0].Event = records.Retry, records.At(runAt), records.RetryWait, nil
		next.state, next.runAt, next.attempt = records.JobWaiting, runAt, j.attempt+1
	case 3:
		s.Verdict, i.Status, s.Images[0].Event = records.Release, records.Generated, nil
		next.state = records.JobReady
	case 4:
		s.Verdict, s.RunAt, i.Status, s.Images[0].Event = records.Defer, records.At(runAt), records.Generated, nil
		next.state, next.runAt = records.JobWaiting, runAt
	case refused:
		i.Status = "nonsense"
	}
	before := m.woken
	m.step("%s settles claim %d in way %d", who, job.Claim, way)
	err := m.settles(s)
	switch {
	case !stands:
		if !errors.Is(err, records.ErrLeaseLost) {
			m.t.Errorf("a lost claim was settled: %v", err)
		}
		return true
	case way == refused:
		if err == nil || errors.Is(err, records.ErrLeaseLost) {
			m.t.Errorf("nonsense was settled: %v", err)
		}
		return false
	}
	if err != nil {
		m.t.Errorf("a claim that stands was not settled: %v", err)
	}
	*j = next
	m.told(before, j.state == records.JobReady)
	return true
}

// crash ends a worker's process and starts it again.
func (m *model) crash() { m.restart(m.any()) }

func (m *model) restart(w *modelWorker) {
	m.starts++
	former := w.id
	w.id, w.frozen, w.beat = fmt.Sprintf("%s-%d", w.spool, m.starts), false, time.Now()
	m.stale, w.held = append(m.stale, w.held...), nil
	before := m.woken
	m.step("%s starts", w.id)
	if _, err := m.StartInstance(m.t.Context(), records.Instance{ID: w.id, SpoolID: w.spool, Kinds: []string{records.KindArchive}}); err != nil {
		m.t.Fatal(err)
	}
	m.told(before, m.giveBack(func(j *modelJob) bool { return j.worker == former }))
}

// giveBack is what becomes of jobs whose process has ended, and reports
// whether there were any.
func (m *model) giveBack(lost func(*modelJob) bool) (found bool) {
	for _, j := range m.jobs {
		if j.state != records.JobRunning || !lost(j) {
			continue
		}
		found = true
		j.crashes++
		switch {
		case j.crashes >= 5:
			j.state = "failed"
		case j.crashes >= 2:
			j.state = records.JobSuspect
		default:
			j.state = records.JobReady
		}
	}
	return found
}

// pass lets time pass, in steps that hit the end of a lease exactly.
func (m *model) pass() {
	for range 1 + m.random.IntN(4) {
		m.step("10 s pass")
		time.Sleep(10 * time.Second)
		for _, w := range m.workers {
			if !w.frozen {
				w.beat = time.Now()
				if err := m.Beat(m.t.Context(), records.Instance{ID: w.id, SpoolID: w.spool, Kinds: []string{records.KindArchive}}); err != nil {
					m.t.Fatal(err)
				}
			}
		}
	}
}

// freeze stops a worker, or lets it go on.
func (m *model) freeze() {
	w := m.any()
	w.frozen = !w.frozen
	m.step("%s is frozen: %v", w.id, w.frozen)
}

func (m *model) renew() {
	w := m.any()
	if w.frozen || len(w.held) == 0 {
		return
	}
	fences := make([]records.Fence, len(w.held))
	for n := range w.held {
		fences[n] = w.held[n].Fence()
	}
	m.step("%s renews %d", w.id, len(fences))
	lost, err := m.Renew(m.t.Context(), fences, modelTTL)
	if err != nil {
		m.t.Fatal(err)
	}
	for n, f := range fences {
		j := m.jobs[*w.held[n].Ref]
		stands := j.state == records.JobRunning && j.claim == f.Claim
		if stands == slices.Contains(lost, f) {
			m.t.Errorf("a claim that stands (%v) was lost: %v", stands, !stands)
		}
		if stands {
			j.leased = time.Now().Add(modelTTL)
		}
	}
}

func (m *model) sweep() {
	before, now, ready := m.woken, time.Now(), false
	m.step("sweep")
	got := m.swept()
	for _, j := range m.jobs {
		if j.state == records.JobWaiting && !j.runAt.After(now) {
			j.state, ready = records.JobReady, true
		}
	}
	alive := map[string]bool{}
	for _, w := range m.workers {
		alive[w.id] = now.Sub(w.beat) <= 30*time.Second
	}
	found := m.giveBack(func(j *modelJob) bool { return j.leased.Before(now) || !alive[j.worker] })
	m.told(before, ready || found)
	if got.Orphans != 0 {
		m.t.Errorf("the sweep found %d orphans: something was lost", got.Orphans)
	}
}
