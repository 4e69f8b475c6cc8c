package records

import (
	"context"
	"fmt"
)

// The kinds of job.
const (
	KindGenerate = "generate" // ref: a generation
	KindArchive  = "archive"  // ref: an image
	KindDelete   = "delete"   // ref: an image that is gone; data: the key of its object

	KindThumbnail = "thumbnail" // ref: an archived image: its thumbnails, and its sidecar

	KindGenerationTimeout = "generation_timeout" // ref: a generation
	KindUnknownSettle     = "unknown_settle"     // ref: a generation
	KindImportFinish      = "import_finish"      // ref: an import
	KindTrashPurge        = "trash_purge"        // ref: an image
	KindWebhook           = "webhook"            // ref: a delivery
	KindWatch             = "watch"              // one for ever
	KindDigest            = "digest"             // daily for a person; ref: their day
	KindUsageDaily        = "usage_daily"        // daily; ref: the day
	KindConservation      = "conservation"       // daily
	KindVerify            = "verify"             // daily
	KindCleanup           = "cleanup"            // daily
)

// The lanes, in the order in which they are served.
const (
	LaneInteractive = 0 // somebody waits for it
	LaneBulk        = 1 // an import
	LaneIdle        = 2 // whenever there is time
)

// The states of a job's row. A completed job has none.
const (
	JobReady     = "ready"     // may be claimed
	JobWaiting   = "waiting"   // becomes ready at RunAt
	JobHeld      = "held"      // becomes ready when its store is back
	JobSuspect   = "suspect"   // ended with its process twice: is run alone
	JobRunning   = "running"   // claimed
	JobDiscarded = "discarded" // given up; stays until somebody revives it
)

// Job is one piece of work.
type Job struct {
	ID          string  `db:"id"`
	Kind        string  `db:"kind"`
	Ref         *string `db:"ref"` // what it is about; nil only if written by hand
	UserID      string  `db:"user_id"`
	Data        string  `db:"data"`
	State       string  `db:"state"`
	Lane        int     `db:"lane"`
	Turn        int64   `db:"turn"`
	Deadline    Time    `db:"deadline"`
	RunAt       Time    `db:"run_at"`
	Claim       int64   `db:"claim"`
	Owner       string  `db:"owner"`
	InstanceID  string  `db:"instance_id"`
	LeasedUntil Time    `db:"leased_until"`
	Attempt     int     `db:"attempt"` // failures so far
	Crashes     int     `db:"crashes"` // claims that ended with their process
	SpoolID     string  `db:"spool_id"`
	Pool        string  `db:"pool"` // within its kind; of a generate job: the provider
	DedupeKey   *string `db:"dedupe_key"`
	LastError   string  `db:"last_error"`
	CreatedAt   Time    `db:"created_at"`

	// Image is what an archive job is about, as it was when it was claimed.
	Image *Image `db:"-"`
}

// Fence names one claim of one job. A settle that names an older claim, or one
// that somebody else has taken over, changes nothing.
type Fence struct {
	JobID string
	Claim int64
	Owner string
}

// Fence is the claim that the job was handed out with.
func (j *Job) Fence() Fence { return Fence{j.ID, j.Claim, j.Owner} }

const jobColumns = `id, kind, ref, user_id, data, state, lane, turn, deadline, run_at, claim, owner, instance_id,
	leased_until, attempt, crashes, spool_id, pool, dedupe_key, last_error, created_at`

// newJob is what an enqueue says of a job.
type newJob struct {
	kind, ref, userID, data string
	lane                    int
	deadline                Time // zero: none
	turn                    int64
	runAt                   Time // zero: now
	spoolID                 string
	pool                    string
	dedupe                  string // empty: kind:ref
}

// enqueue adds jobs in the transaction that makes them necessary, and returns
// how many. If one with the same dedupe key is there, it stays as it is: a
// repeat is no error.
func (t *tx) enqueue(jobs ...newJob) (added int, err error) {
	rows := make([][]any, len(jobs))
	for n, j := range jobs {
		rows[n] = t.jobValues(j)
	}
	n, err := t.insert(`jobs (`+newJobColumns+`)`, rows, ` ON CONFLICT (dedupe_key) DO NOTHING`)
	if err != nil {
		return 0, fmt.Errorf("enqueue: %w", err)
	}
	return int(n), nil
}

const newJobColumns = `id, kind, ref, user_id, data, state, lane, turn, deadline, run_at, spool_id, pool, dedupe_key, created_at`

// jobValues are the row of a new job. Who runs its kind is told at the commit.
func (t *tx) jobValues(j newJob) []any {
	state := JobReady
	if j.runAt.IsZero() {
		j.runAt = t.now
	} else if j.runAt.After(t.now.Time) {
		state = JobWaiting
	}
	if j.deadline.IsZero() {
		j.deadline = Never
	}
	if j.dedupe == "" {
		j.dedupe = j.kind + ":" + j.ref
	}
	id := t.orderedID()
	t.readyAt(j.kind, place{int64(j.lane), j.turn, j.deadline, id})
	if j.lane != LaneIdle { // other instances find idle work when they look: it has time
		t.enqueued[j.kind] = true
	}
	return []any{id, j.kind, j.ref, j.userID, j.data, state, j.lane, j.turn, j.deadline, j.runAt, j.spoolID, j.pool, j.dedupe, t.now}
}

// JobsOf lists the jobs about one thing.
func (db *DB) JobsOf(ctx context.Context, ref string) ([]Job, error) {
	var list []Job
	if err := db.all(ctx, &list, `SELECT `+jobColumns+` FROM jobs WHERE ref = ? ORDER BY id`, ref); err != nil {
		return nil, fmt.Errorf("list the jobs of %s: %w", ref, err)
	}
	return list, nil
}

// QueueCount is how many jobs of a kind are in a state.
type QueueCount struct {
	Kind  string `db:"kind" json:"kind"`
	State string `db:"state" json:"state"`
	N     int    `db:"n" json:"n"`
}

// QueueCounts counts the jobs by kind and state.
func (db *DB) QueueCounts(ctx context.Context) ([]QueueCount, error) {
	var list []QueueCount
	err := db.all(ctx, &list, `SELECT kind, state, count(*) AS n FROM jobs GROUP BY kind, state ORDER BY kind, state`)
	if err != nil {
		return nil, fmt.Errorf("count jobs: %w", err)
	}
	return list, nil
}
