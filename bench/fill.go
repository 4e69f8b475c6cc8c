package main

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// filler writes very many rows by statements of its own, since the app has no
// way to write a million at once. Its ids sort before all that the app makes.
type filler struct {
	db      *sqlx.DB
	persons []string // to whom the rows belong in turn
	next    int64    // number of the next row
}

// statements run with the numbers of the first and the last of n new rows as
// $1 and $2. The number is the row's change number too, so it is beyond those
// that the app has given.
func (f *filler) statements(ctx context.Context, n int, list ...string) error {
	if n == 0 {
		return nil
	}
	var given int64
	if err := f.db.GetContext(ctx, &given, `SELECT coalesce(max(seq), 0) FROM change_heads`); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	f.next = max(f.next, given)
	from, to := f.next+1, f.next+int64(n)
	f.next = to
	for _, s := range list {
		if _, err := f.db.ExecContext(ctx, s, from, to); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
	}
	return nil
}

// person is an SQL expression that deals rows out to the persons.
func (f *filler) person() string {
	list := "ARRAY['" + f.persons[0]
	for _, p := range f.persons[1:] {
		list += "','" + p
	}
	return "(" + list + fmt.Sprintf("'])[1 + n %% %d]", len(f.persons))
}

// Ids of rows: what a job is about has the same number as the job.
const (
	rowID = `'0' || lpad(n::text, 31, '0')`
	rows1 = ` FROM generate_series($1::bigint, $2::bigint) n`
)

// images is the statement for images in a state.
func (f *filler) images(columns, values string) string {
	return `INSERT INTO images (id, user_id, seq, status, prompt, created_at, updated_at, ` + columns + `)
		SELECT ` + rowID + `, ` + f.person() + `, n, ` + values + rows1
}

// jobs is the statement for the jobs of images.
func (f *filler) jobs(state, lane, runAt string) string {
	return `INSERT INTO jobs (id, kind, ref, user_id, state, lane, deadline, run_at, dedupe_key, created_at)
		SELECT ` + rowID + `, 'archive', ` + rowID + `, ` + f.person() + `, '` + state + `', ` + lane + `,
		'9999-12-31', ` + runAt + `, 'archive:' || ` + rowID + `, now()` + rows1
}

// heads moves each person's change number past the rows.
func (f *filler) heads() string {
	return `INSERT INTO change_heads (user_id, seq) SELECT DISTINCT ` + f.person() + `, $2::bigint` + rows1 + `
		ON CONFLICT (user_id) DO UPDATE SET seq = greatest(change_heads.seq, excluded.seq)`
}

// ready writes images that wait for their first claim; %s in the address is
// the row's number.
func (f *filler) ready(ctx context.Context, n int, source string) error {
	return f.statements(ctx, n,
		f.images(`source_url`, `'generated', 'a lighthouse', now(), now(), format('`+source+`', n)`),
		f.jobs(`ready`, `1`, `now()`), f.heads())
}

// history writes images that were archived, with the columns that such images
// have.
func (f *filler) history(ctx context.Context, n int) error {
	return f.statements(ctx, n,
		f.images(`archived_at, object_key, object_etag, mime, bytes, width, height, sha256, attempt`,
			`'archived', 'a lighthouse in the rain, oil on canvas', now(), now(), now(), 'images/2026/01/' || `+rowID+` || '.png',
			md5(n::text), 'image/png', 200000, 258, 258, md5(n::text) || md5((-n)::text), 1`),
		f.heads())
}

// waiting writes jobs whose next attempt comes in an hour to a day.
func (f *filler) waiting(ctx context.Context, n int) error {
	return f.statements(ctx, n,
		f.images(`source_url, attempt, next_attempt_at, reason`,
			`'retry_wait', 'a lighthouse', now(), now(), 'http://127.0.0.1/gone', 1, now() + '1 h', 'source_unreachable'`),
		f.jobs(`waiting`, `1`, `now() + '1 h' + n % 82800 * interval '1 s'`), f.heads())
}

// fillImports writes imports that wait into the database of a product.
func (b *bench) fillImports(ctx context.Context, r *running, n int) error {
	db, err := connect(r.config)
	if err != nil {
		return err
	}
	defer db.Close()
	f := &filler{db: db, persons: []string{r.person}}
	return f.ready(ctx, n, fmt.Sprintf("http://%s:%d/img/%%s?size=%d", host(0), b.source.port, small))
}
