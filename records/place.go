package records

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
)

// place is where a job stands in the queue of its kind.
type place struct {
	lane, turn int64
	deadline   Time
	id         string
}

// front is before every job.
var front = place{lane: math.MinInt64, turn: math.MinInt64, deadline: At(time.Unix(0, 0))}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.lane, q.lane), cmp.Compare(p.turn, q.turn), p.deadline.Compare(q.deadline.Time), cmp.Compare(p.id, q.id))
}

func (j *Job) place() place { return place{int64(j.Lane), j.Turn, j.Deadline, j.ID} }

// String is the place as a notification carries it.
func (p place) String() string {
	return strings.Join([]string{strconv.FormatInt(p.lane, 10), strconv.FormatInt(p.turn, 10), p.deadline.UTC().Format(timeLayout), p.id}, " ")
}

// readPlace reads what String wrote; anything else is the front.
func readPlace(s string) place {
	part := strings.Split(s, " ")
	if len(part) != 4 {
		return front
	}
	lane, laneErr := strconv.ParseInt(part[0], 10, 64)
	turn, turnErr := strconv.ParseInt(part[1], 10, 64)
	deadline, err := time.Parse(timeLayout, part[2])
	if laneErr != nil || turnErr != nil || err != nil {
		return front
	}
	return place{lane, turn, At(deadline), part[3]}
}

// marks remember, for each kind and pool, the place before which a claim need
// not look: jobs there are gone, but until PostgreSQL has vacuumed them, which
// an old transaction can keep it from for hours, each look would step over
// every one of them. Whoever adds or gives back jobs before the mark tells the
// place, and the mark goes back to it.
type marks struct {
	mu    sync.Mutex
	at    map[pool]place
	moved map[string]int // how often a kind's marks were moved back
}

type pool struct{ kind, name string }

// back moves a kind's marks back to a place, if they are behind it.
func (m *marks) back(kind string, to place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.moved == nil {
		m.at, m.moved = map[pool]place{}, map[string]int{}
	}
	m.moved[kind]++
	for p, at := range m.at {
		if p.kind == kind && to.compare(at) < 0 {
			m.at[p] = to
		}
	}
}

// get returns a mark, and a version to set it anew with.
func (m *marks) get(p pool) (place, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.at[p]
	if !ok {
		at = front
	}
	return at, m.moved[p.kind]
}

// set moves a mark to the last job that was claimed, unless it was moved back
// since its version was read: then something may be before it.
func (m *marks) set(p pool, version int, claimed []Job) {
	if len(claimed) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.moved[p.kind] != version {
		return
	}
	if m.moved == nil {
		m.at, m.moved = map[pool]place{}, map[string]int{}
	}
	m.at[p] = claimed[len(claimed)-1].place()
}
