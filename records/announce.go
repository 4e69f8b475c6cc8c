package records

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lib/pq"
)

// changeChannel is the name under which instances on one PostgreSQL tell each
// other whose images changed.
const changeChannel = "afterimage_changes"

const (
	// announceGap is the time between two announcements. The commit of each
	// takes a lock that the whole database shares, so they are not part of the
	// transactions that they tell of; what is lost is found by looking again.
	announceGap = 20 * time.Millisecond
	// announceUsers fit into one notification, of 8,000 bytes at most.
	announceUsers = 200
	// announceAll stands for everybody.
	announceAll = "*"
)

// announcer collects whose images changed until the others are told.
type announcer struct {
	mu    sync.Mutex
	users map[string]bool
	wake  chan struct{}
	name  string // tells our own announcements from theirs
}

func newAnnouncer() *announcer {
	return &announcer{users: map[string]bool{}, wake: make(chan struct{}, 1), name: newToken()}
}

func (a *announcer) add(userID string) {
	a.mu.Lock()
	a.users[userID] = true
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *announcer) take() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	users := slices.Sorted(maps.Keys(a.users))
	clear(a.users)
	if len(users) > announceUsers {
		users = []string{announceAll}
	}
	return strings.Join(users, ",")
}

// announce tells the other instances of changes until the context ends.
func (db *DB) announce(ctx context.Context) {
	gap := time.NewTicker(announceGap)
	defer gap.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-db.announcer.wake:
		}
		if users := db.announcer.take(); users != "" {
			// An error needs no word: whoever waits looks again by itself.
			_, _ = db.sqlx.ExecContext(ctx, `SELECT pg_notify($1, $2)`, changeChannel, db.announcer.name+" "+users)
		}
		select {
		case <-ctx.Done():
			return
		case <-gap.C:
		}
	}
}

// heardChange passes on that another instance changed somebody's images.
func (db *DB) heardChange(n *pq.Notification) {
	from, users, _ := strings.Cut(n.Extra, " ")
	if from == db.announcer.name {
		return // told already, at the commit
	}
	for user := range strings.SplitSeq(users, ",") {
		if user == announceAll {
			db.heardOfAll()
			continue
		}
		db.heads.changed(user)
		db.onChange(user)
	}
}

func (db *DB) heardOfAll() {
	db.heads.allChanged()
	db.onChange("")
}
