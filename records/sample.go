package records

import (
	"context"
	"fmt"
	"time"
)

// SampleStep is the time that one sample stands for.
const SampleStep = 5 * time.Minute

// Sample is how the queue was during a SampleStep, all instances together.
type Sample struct {
	At         Time  `db:"at" json:"at"`                 // its beginning
	Generating int64 `db:"generating" json:"generating"` // jobs, the most there were
	Archiving  int64 `db:"archiving" json:"archiving"`
	Retrying   int64 `db:"retrying" json:"retrying"`
	Running    int64 `db:"running" json:"running"` // slots in use, the most there were, of
	Slots      int64 `db:"slots" json:"slots"`
	Oldest     int64 `db:"oldest_ms" json:"oldest_ms"` // how long the oldest had waited
	Archived   int64 `db:"archived" json:"archived"`   // images
	Bytes      int64 `db:"bytes" json:"bytes"`
	P50        int64 `db:"p50_ms" json:"p50_ms"` // from made to archived; the slowest instance's
	P95        int64 `db:"p95_ms" json:"p95_ms"`
}

// AddSample adds what one instance saw to the sample of that time.
func (db *DB) AddSample(ctx context.Context, s Sample) error {
	most := func(column string) string {
		return column + ` = CASE WHEN excluded.` + column + ` > samples.` + column + ` THEN excluded.` + column + ` ELSE samples.` + column + ` END`
	}
	err := db.write(ctx, func(t *tx) error {
		_, err := t.exec(`INSERT INTO samples (at, generating, archiving, retrying, running, slots, oldest_ms, archived, bytes, p50_ms, p95_ms)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (at) DO UPDATE SET archived = samples.archived + excluded.archived, bytes = samples.bytes + excluded.bytes, `+
			most("generating")+`, `+most("archiving")+`, `+most("retrying")+`, `+most("running")+`, `+most("slots")+`, `+
			most("oldest_ms")+`, `+most("p50_ms")+`, `+most("p95_ms"),
			At(s.At.Truncate(SampleStep)), s.Generating, s.Archiving, s.Retrying, s.Running, s.Slots, s.Oldest, s.Archived, s.Bytes, s.P50, s.P95)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep a sample: %w", err)
	}
	return nil
}

// Samples are those since a moment, oldest first.
func (db *DB) Samples(ctx context.Context, since Time) ([]Sample, error) {
	var list []Sample
	err := db.all(ctx, &list, `SELECT at, generating, archiving, retrying, running, slots, oldest_ms, archived, bytes, p50_ms, p95_ms
		FROM samples WHERE at >= ? ORDER BY at`, since)
	if err != nil {
		return nil, fmt.Errorf("read samples: %w", err)
	}
	return list, nil
}

// LiveInstances counts the processes that run now, and says when one of them
// last said so.
func (db *DB) LiveInstances(ctx context.Context) (n int, lastBeat Time, err error) {
	var row struct {
		N    int  `db:"n"`
		Last Time `db:"last"`
	}
	err = db.get(ctx, &row, `SELECT count(*) AS n, max(beat_at) AS last FROM instances WHERE beat_at >= ?`, db.Now().Add(-deadAfter))
	if err != nil {
		return 0, Time{}, fmt.Errorf("count instances: %w", err)
	}
	return row.N, row.Last, nil
}
