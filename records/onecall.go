package records

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// advanceInOneCall is Advance by PostgreSQL's function complete_and_claim,
// which is several times faster. It only takes what the worker does for almost
// every image: jobs that are done, and the claim of the next archive jobs. It
// reports whether it did it; if not, nothing was written.
func (db *DB) advanceInOneCall(ctx context.Context, list []Settlement, r ClaimRequest, from place) ([]Job, bool) {
	if !db.postgres || !isCommon(list, r) {
		return nil, false
	}
	t := db.newTx(ctx, nil)
	args, err := t.oneCallArgs(list, r, from)
	if err != nil {
		return nil, false
	}
	var rows []claimedRow
	// What is not as usual comes as an error, which the statements of Advance
	// meet again and sort out.
	if err := db.all(ctx, &rows, `SELECT * FROM complete_and_claim(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, args...); err != nil {
		return nil, false
	}
	jobs := make([]Job, len(rows))
	for n := range rows {
		jobs[n] = rows[n].Job
		if i := &rows[n].Row; i.ID != "" {
			beginArchiving(i, &jobs[n])
			jobs[n].Image = i
		}
	}
	sortClaimed(jobs)
	db.tell(t)
	return jobs, true
}

func isCommon(list []Settlement, r ClaimRequest) bool {
	if r.Suspects || r.Pool != "" || len(r.Show) > 0 || r.Limit > 0 && r.Kind != KindArchive {
		return false
	}
	for i := range list {
		s := &list[i]
		if s.Verdict != Complete || s.Generation != nil || slices.ContainsFunc(s.Images, func(c ImageChange) bool { return c.ThumbOnly }) {
			return false
		}
	}
	return r.Limit > 0 || len(list) > 0
}

func (t *tx) oneCallArgs(list []Settlement, r ClaimRequest, from place) ([]any, error) {
	type fence struct {
		Job   string `json:"job"`
		Claim int64  `json:"claim"`
		Owner string `json:"owner"`
	}
	type change struct {
		Image jsonRow `json:"image"`
		Event jsonRow `json:"event"`
	}
	done, next, changes := []fence{}, []jsonRow{}, []change{}
	var images []ImageChange
	for _, s := range list {
		done = append(done, fence{s.Job.ID, s.Job.Claim, s.Job.Owner})
		images = append(images, s.Images...)
		for _, j := range s.nextJobs() {
			next = append(next, jsonRow{newJobColumns, t.jobValues(j)})
		}
	}
	slices.SortFunc(done, func(a, b fence) int { return cmp.Compare(a.Job, b.Job) })
	sortChanges(images)
	for _, c := range images {
		c.Image.UpdatedAt = t.now
		row := change{Image: jsonRow{changedColumns, c.Image.changedValues()}}
		if c.Event != nil {
			e := *c.Event
			e.ImageID = c.Image.ID
			row.Event = jsonRow{eventColumns, t.eventValues(e)}
		}
		changes = append(changes, row)
		t.changed[c.Image.UserID] = true
	}
	args := make([]any, 0, 13)
	for _, v := range []any{done, next, changes} {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("encode what is settled: %w", err)
		}
		args = append(args, string(text))
	}
	return append(args, r.Kind, r.Limit, NewID(), r.InstanceID, r.SpoolID, t.now.Add(r.TTL), from.lane, from.turn, from.deadline, from.id), nil
}

// jsonRow is a row of a table as PostgreSQL's json_populate_record takes it;
// null without columns.
type jsonRow struct {
	columns string // separated by commas
	values  []any
}

// MarshalJSON implements json.Marshaler.
func (r jsonRow) MarshalJSON() ([]byte, error) {
	if r.columns == "" {
		return []byte("null"), nil
	}
	row := make(map[string]any, len(r.values))
	n := 0
	for column := range strings.SplitSeq(r.columns, ",") {
		row[strings.TrimSpace(column)] = r.values[n]
		n++
	}
	return json.Marshal(row)
}

// claimedRow is a job and what it is about.
type claimedRow struct {
	Job
	Row Image `db:"image"`
}
