package records

import (
	"context"
	"fmt"
	"time"
)

// Figures are what operators watch: what there is and what waits.
type Figures struct {
	Queue         []QueueCount
	OldestPending Time // when the oldest image that is not archived yet was enqueued; zero: none waits
	NextExpiry    Time // of a source whose bytes we do not have yet; zero: none
	// Expiring are such sources that die within 5 minutes, 15 minutes and an hour.
	Expiring [3]int64
}

// expiringWithin are the times of Figures.Expiring.
var expiringWithin = [3]time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour}

// unsecured are images that are lost if their source dies now.
const unsecured = `status IN ('generated', 'archiving', 'retry_wait') AND source_expires_at IS NOT NULL AND spool_id = ''`

// Figures reads the figures. It costs a look at the whole queue, so ask for
// them a few times a minute at most.
func (db *DB) Figures(ctx context.Context) (Figures, error) {
	var f Figures
	var err error
	if f.Queue, err = db.QueueCounts(ctx); err != nil {
		return f, err
	}
	err = db.get(ctx, &f.OldestPending, `SELECT min(created_at) FROM (SELECT created_at FROM jobs
		WHERE kind = ? AND state <> 'discarded' ORDER BY id LIMIT 1) AS first`, KindArchive)
	if err != nil {
		return f, fmt.Errorf("find the oldest image that waits: %w", err)
	}
	now := db.Now()
	if err := db.get(ctx, &f.NextExpiry, `SELECT min(source_expires_at) FROM images WHERE `+unsecured+` AND source_expires_at > ?`, now); err != nil {
		return f, fmt.Errorf("find the next source to die: %w", err)
	}
	for n, within := range expiringWithin {
		err := db.get(ctx, &f.Expiring[n], `SELECT count(*) FROM images WHERE `+unsecured+` AND source_expires_at > ? AND source_expires_at <= ?`,
			now, now.Add(within))
		if err != nil {
			return f, fmt.Errorf("count sources that are about to die: %w", err)
		}
	}
	return f, nil
}

// StatusCount is how many images are in a state.
type StatusCount struct {
	Status Status `db:"status" json:"status"`
	N      int64  `db:"n" json:"n"`
}

// StatusCounts counts everybody's images by status. It reads them all, which
// takes seconds for millions: ask every few minutes at most.
func (db *DB) StatusCounts(ctx context.Context) ([]StatusCount, error) {
	var list []StatusCount
	if err := db.all(ctx, &list, `SELECT status, count(*) AS n FROM images GROUP BY status ORDER BY status`); err != nil {
		return nil, fmt.Errorf("count images by status: %w", err)
	}
	return list, nil
}
