package records

import "fmt"

// interrupted says what it means for images that the process ended which ran
// a job.
func (t *tx) interrupted(j Job) ([]ImageChange, error) {
	if j.State == JobDiscarded {
		return t.givenUp(j, ReasonInterrupted, fmt.Sprintf("job %s ended with its process %d times", j.ID, j.Crashes))
	}
	if j.Kind != KindArchive || j.Ref == nil {
		return nil, nil // a generation goes on where it was, see generate
	}
	var images []Image
	err := t.all(&images, `SELECT `+imageColumns+` FROM images
		WHERE id = ? AND status IN ('generated', 'retry_wait', 'archiving')`, *j.Ref)
	changes := make([]ImageChange, len(images))
	for n := range images {
		i := &images[n]
		changes[n] = ImageChange{Image: i, Event: &Event{Kind: EventInterrupted, Attempt: j.Attempt + 1, Reason: ReasonInterrupted}}
		i.Status, i.Attempt, i.NextAttemptAt, i.Reason = Generated, j.Attempt, Time{}, ReasonInterrupted
	}
	return changes, err
}

// givenUp ends what a discarded job was about, so that nobody waits for it.
func (t *tx) givenUp(j Job, reason, detail string) ([]ImageChange, error) {
	switch {
	case j.Ref == nil:
		return nil, nil
	case j.Kind == KindArchive:
		return t.givenUpImage(*j.Ref, reason, detail)
	case j.Kind == KindGenerate:
		return t.givenUpGeneration(*j.Ref, reason, detail)
	case j.Kind == KindThumbnail:
		return t.givenUpThumb(*j.Ref)
	}
	return nil, nil
}

func (t *tx) givenUpImage(id, reason, detail string) ([]ImageChange, error) {
	var images []Image
	err := t.all(&images, `SELECT `+imageColumns+` FROM images
		WHERE id = ? AND status IN ('generated', 'archiving', 'retry_wait')`, id)
	changes := make([]ImageChange, len(images))
	for n := range images {
		i := &images[n]
		i.Status, i.Reason, i.NextAttemptAt = ArchiveFailed, reason, Time{}
		changes[n] = ImageChange{Image: i, Event: &Event{Kind: EventArchiveFailed, Attempt: i.Attempt, Reason: reason, Detail: detail}}
	}
	return changes, err
}

// givenUpGeneration ends a generation as unknown if its call had begun: the
// provider may have made and charged what never came.
func (t *tx) givenUpGeneration(id, reason, detail string) ([]ImageChange, error) {
	var found []Generation
	err := t.all(&found, `SELECT `+generationColumns+` FROM generations
		WHERE id = ? AND status IN ('queued', 'generating')`, id)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var images []Image
	if err := t.all(&images, `SELECT `+imageColumns+` FROM images WHERE generation_id = ?`, id); err != nil {
		return nil, err
	}
	g, status, event := &found[0], GenerateFailed, EventGenerateFailed
	g.Status, g.Reason, g.FinishedAt = GenerationFailed, reason, t.now
	if !g.SubmittedAt.IsZero() {
		status, event, g.Status, g.Reason = Unknown, EventUnknown, GenerationUnknown, ReasonUnknownOutcome
	}
	var changes []ImageChange
	reason = g.Reason
	for n := range images {
		i := &images[n]
		switch i.Status {
		case Queued, Generating:
			i.Status, i.Reason = status, reason
			changes = append(changes, ImageChange{Image: i, Event: &Event{Kind: event, Reason: reason, Detail: detail}})
		case Generated, Archiving, RetryWait, Archived, ArchiveFailed:
			g.Status, g.Reason = GenerationSucceeded, ""
		}
	}
	return changes, t.changeGeneration(g)
}
