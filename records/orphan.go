package records

import "fmt"

// orphanBatch bounds one round.
const orphanBatch = 1000

// enqueueOrphans finds images that were made but have no job: written by hand
// or by an older version.
func (t *tx) enqueueOrphans() (int, error) {
	var images []Image
	err := t.all(&images, `SELECT `+imageColumns+` FROM images
		WHERE status IN ('generated', 'archiving', 'retry_wait')
			AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.ref = images.id AND jobs.kind = 'archive')
		ORDER BY created_at, id LIMIT ?`, orphanBatch)
	if err != nil {
		return 0, err
	}
	jobs := make([]newJob, len(images))
	for n := range images {
		jobs[n] = archiveJob(&images[n], LaneInteractive)
	}
	return t.enqueue(jobs...)
}

// endDiscarded finds unfinished things whose job was given up and ends them
// too. They are not tried again by themselves: that could go on for ever.
func (t *tx) endDiscarded() (int, error) {
	var jobs []Job
	err := t.all(&jobs, `SELECT `+jobColumns+` FROM jobs WHERE state = 'discarded' AND (
			kind = 'archive' AND ref IN (SELECT id FROM images WHERE status IN ('generated', 'archiving', 'retry_wait'))
			OR kind = 'generate' AND ref IN (SELECT id FROM generations WHERE status IN ('queued', 'generating')))
			AND NOT EXISTS (SELECT 1 FROM jobs other WHERE other.ref = jobs.ref AND other.kind = jobs.kind AND other.state <> 'discarded')
		ORDER BY id LIMIT ?`+t.skipLocked(), orphanBatch)
	if err != nil {
		return 0, err
	}
	var changes []ImageChange
	found := 0
	for _, j := range jobs {
		c, err := t.givenUp(j, ReasonInternal, fmt.Sprintf("job %s was given up: %s", j.ID, j.LastError))
		if err != nil {
			return 0, err
		}
		changes = append(changes, c...)
		if len(c) > 0 {
			found++
		}
	}
	return found, t.changeImages(changes)
}
