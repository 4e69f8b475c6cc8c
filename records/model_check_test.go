package records_test

import (
	"fmt"
	"strings"

	"afterimage/records"
)

// same compares every row with the model.
func (m *model) same() bool {
	if len(m.jobs) == 0 {
		return !m.t.Failed()
	}
	var rows string
	m.Get(m.t, &rows, `SELECT string_agg(i.id || ' ' || i.status || ' ' || coalesce(j.state, 'none') || ' ' || coalesce(j.claim, 0) || ' '
			|| coalesce(j.attempt, 0) || ' ' || coalesce(j.crashes, 0), ';')
		FROM images i LEFT JOIN jobs j ON j.ref = i.id WHERE i.user_id = ?`, m.user)
	found := map[string]string{}
	for row := range strings.SplitSeq(rows, ";") {
		id, rest, _ := strings.Cut(row, " ")
		found[id] = rest
	}
	for id, j := range m.jobs {
		if !strings.HasSuffix(found[id], j.row()) {
			m.t.Errorf("an image and its job are %q, in the model %q", found[id], j.row())
		}
	}
	return !m.t.Failed()
}

// row is the end of what the database says. The states of images between are
// the concern of other tests.
func (j *modelJob) row() string {
	counts := fmt.Sprintf("%d %d %d", j.claim, j.attempt, j.crashes)
	switch j.state {
	case "archived":
		return "archived none 0 0 0"
	case "failed":
		return "archive_failed discarded " + counts
	}
	return " " + j.state + " " + counts
}

// end lets all work end well and counts what came of it.
func (m *model) end() bool {
	for _, w := range m.workers {
		m.restart(w)
	}
	for round := 0; len(m.unfinished()) > 0; round++ {
		m.pass()
		m.sweep()
		w := m.workers[0]
		m.claimBy(w, 100, false)
		m.claimBy(w, 1, true)
		for _, j := range w.held {
			m.settleAs(w.id, j, 0)
		}
		w.held = nil
		if !m.same() || round > 100 {
			m.t.Errorf("not finished: %+v", m.unfinished())
			return false
		}
	}
	for _, j := range m.jobs {
		archived := 0
		for _, kind := range m.events(m.user, j.image) {
			if kind == records.EventArchived {
				archived++
			}
		}
		if want := map[string]int{"archived": 1}[j.state]; archived != want {
			m.t.Errorf("an image that is %s was archived %d times", j.state, archived)
		}
	}
	m.Exec(m.t, `DELETE FROM jobs`)
	m.Exec(m.t, `DELETE FROM instances`)
	m.Exec(m.t, `DELETE FROM images`)
	return !m.t.Failed()
}

func (m *model) unfinished() (list []*modelJob) {
	for _, j := range m.jobs {
		if j.state != "archived" && j.state != "failed" {
			list = append(list, j)
		}
	}
	return list
}
