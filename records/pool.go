package records

// PoolRest is the pool of the jobs whose own pool nobody runs any more, as
// when a provider is no longer set up.
const PoolRest = "-"

// leavePools moves jobs to PoolRest whose pool no living instance runs, and
// those of a kind with pools that name none.
func (t *tx) leavePools() error {
	var kinds []string
	err := t.all(&kinds, `UPDATE jobs SET pool = '`+PoolRest+`'
		WHERE state IN ('ready', 'waiting', 'suspect') AND pool <> '`+PoolRest+`' AND created_at < ?
			AND EXISTS (SELECT 1 FROM instances WHERE kinds LIKE '% ' || jobs.kind || '/`+PoolRest+` %')
			AND NOT EXISTS (SELECT 1 FROM instances WHERE kinds LIKE '% ' || jobs.kind || '/' || jobs.pool || ' %')
		RETURNING kind`, t.now.Add(-unknownAfter))
	for _, kind := range kinds {
		t.ready(kind)
	}
	return err
}
