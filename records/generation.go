package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// Generation is one request for images.
type Generation struct {
	ID              string           `db:"id"`
	UserID          string           `db:"user_id"`
	Status          GenerationStatus `db:"status"`
	Provider        string           `db:"provider"`
	Model           string           `db:"model"`
	Prompt          string           `db:"prompt"`
	NegativePrompt  string           `db:"negative_prompt"`
	Params          Params           `db:"params"`
	N               int              `db:"n"`
	Inputs          Inputs           `db:"inputs"`
	Calls           Calls            `db:"calls"`
	Progress        int              `db:"progress"` // per cent, while it runs; 0 where the provider does not say
	Reason          string           `db:"reason"`
	ProviderMessage string           `db:"provider_message"`
	CreatedAt       Time             `db:"created_at"`
	SubmittedAt     Time             `db:"submitted_at"` // when the paid call began
	FinishedAt      Time             `db:"finished_at"`
}

const generationColumns = `id, user_id, status, provider, model, prompt, negative_prompt, params, n, inputs, calls, progress, reason,
	provider_message, created_at, submitted_at, finished_at`

// NewGeneration is what somebody asked for.
type NewGeneration struct {
	ID             string // default: a new one
	UserID         string
	Provider       string
	Model          string
	Prompt         string
	NegativePrompt string
	Params         Params
	N              int
	Inputs         []Input
	Width, Height  int // of each image, for its place on the page; 0: not known
	Idempotency    Idempotency
	Attempt        Attempt
}

// CreateGeneration writes a request, one image for each of its n and the job
// that makes them. If the idempotency key was used before, or this is another
// attempt at an earlier request, it returns what that request made.
func (db *DB) CreateGeneration(ctx context.Context, g NewGeneration) (*Generation, []Image, error) {
	var id string
	err := db.write(ctx, func(t *tx) error {
		id = cmp.Or(g.ID, NewID())
		ref, err := t.once(g.UserID, g.Idempotency, id)
		if err == nil && ref == id && g.Idempotency.Key == "" {
			ref, err = t.join(g.UserID, g.Attempt, id)
		}
		if err != nil || ref != id {
			id = ref
			return err
		}
		_, err = t.exec(`INSERT INTO generations (id, user_id, status, provider, model, prompt, negative_prompt, params, n, inputs, created_at, fingerprint)
			VALUES (?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			id, g.UserID, g.Provider, g.Model, g.Prompt, g.NegativePrompt, g.Params.text(), g.N, jsonText(g.Inputs), t.now, g.Attempt.Fingerprint)
		if err != nil {
			return err
		}
		if err := t.enqueueGenerate(&Generation{ID: id, UserID: g.UserID, Provider: g.Provider, Inputs: g.Inputs}); err != nil {
			return err
		}
		images := make([]Image, g.N)
		for n := range images {
			images[n] = Image{UserID: g.UserID, GenerationID: &id, Position: n, Status: Queued, Prompt: g.Prompt,
				NegativePrompt: g.NegativePrompt, Provider: g.Provider, Model: g.Model, Params: g.Params,
				Width: g.Width, Height: g.Height}
		}
		return t.insertImages(g.UserID, images)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("create a generation: %w", err)
	}
	return db.Generation(ctx, g.UserID, id)
}

// Generation returns one request of a person and its images in order.
func (db *DB) Generation(ctx context.Context, userID, id string) (*Generation, []Image, error) {
	var g Generation
	err := db.get(ctx, &g, `SELECT `+generationColumns+` FROM generations WHERE id = ? AND user_id = ?`, id, userID)
	if err != nil {
		return nil, nil, fmt.Errorf("read generation %s: %w", id, err)
	}
	images, err := db.imagesOf(ctx, `generation_id`, userID, id)
	return &g, images, err
}

// GenerationWork returns a request and its images for the worker that a job
// sent there.
func (db *DB) GenerationWork(ctx context.Context, id string) (*Generation, []Image, error) {
	var owner string
	if err := db.get(ctx, &owner, `SELECT user_id FROM generations WHERE id = ?`, id); err != nil {
		return nil, nil, fmt.Errorf("read generation %s: %w", id, err)
	}
	return db.Generation(ctx, owner, id)
}

// BeginCall records that the paid call is about to be made, the last of calls. Whoever finds it
// so after a crash must not make it again.
func (db *DB) BeginCall(ctx context.Context, f Fence, generationID string, calls Calls) error {
	err := db.write(ctx, func(t *tx) error {
		if err := t.hold(f); err != nil {
			return err
		}
		_, err := t.exec(`UPDATE generations SET submitted_at = ?, calls = ? WHERE id = ?`, t.now, jsonText(calls), generationID)
		return err
	})
	if err != nil {
		return fmt.Errorf("begin the call of generation %s: %w", generationID, err)
	}
	return nil
}

// ImageMade records that one image of a running generation was made and
// enqueues its archiving, while the others may still be in the making.
func (db *DB) ImageMade(ctx context.Context, f Fence, c ImageChange) error {
	i := c.Image
	err := db.write(ctx, func(t *tx) error {
		if err := t.hold(f); err != nil {
			return err
		}
		if err := t.changeImages([]ImageChange{c}); err != nil {
			return err
		}
		return t.enqueueArchive(i, LaneInteractive)
	})
	if err != nil {
		return fmt.Errorf("record image %s: %w", i.ID, err)
	}
	return nil
}

func (t *tx) enqueueArchive(i *Image, lane int) error {
	_, err := t.enqueue(archiveJob(i, lane))
	return err
}

func archiveJob(i *Image, lane int) newJob {
	return newJob{kind: KindArchive, ref: i.ID, userID: i.UserID, lane: lane, deadline: i.SourceExpiresAt, spoolID: i.SpoolID}
}

// hold makes sure that a claim is ours until the transaction ends.
func (t *tx) hold(f Fence) error {
	var id string
	err := t.get(&id, `SELECT id FROM jobs WHERE `+fenced+t.forUpdate(), f.args()...)
	if errors.Is(err, ErrNotFound) {
		return ErrLeaseLost
	}
	return err
}

func (t *tx) changeGeneration(g *Generation) error {
	_, err := t.exec(`UPDATE generations SET status = ?, calls = ?, reason = ?, provider_message = ?, submitted_at = ?, finished_at = ?
		WHERE id = ?`, string(g.Status), jsonText(g.Calls), g.Reason, validText(g.ProviderMessage), g.SubmittedAt, g.FinishedAt, g.ID)
	if err != nil {
		return fmt.Errorf("write generation %s: %w", g.ID, err)
	}
	if g.Status == GenerationFailed {
		return t.tell([]telling{{g.UserID, HookGenerationFailed, g.ID}})
	}
	return nil
}

// CancelGeneration calls off what has not been made yet. The job goes, so a
// worker that is at it loses its claim; images made already stay.
func (db *DB) CancelGeneration(ctx context.Context, userID, id string) error {
	err := db.write(ctx, func(t *tx) error {
		if _, err := t.exec(`DELETE FROM jobs WHERE kind = ? AND ref = ? AND user_id = ?`, KindGenerate, id, userID); err != nil {
			return err
		}
		t.ready(KindGenerate) // whoever is at it looks whether it still is its to do
		var g Generation
		err := t.get(&g, `SELECT `+generationColumns+` FROM generations WHERE id = ? AND user_id = ?`, id, userID)
		if err != nil {
			return err
		}
		if g.Status != GenerationQueued && g.Status != GenerationGenerating {
			return nil
		}
		var images []Image
		err = t.all(&images, `SELECT `+imageColumns+` FROM images WHERE generation_id = ? AND user_id = ?`, id, userID)
		if err != nil {
			return err
		}
		if g.Calls.open() { // the provider has to be told, by whoever can
			if err := t.enqueueGenerate(&g); err != nil {
				return err
			}
		}
		g.Status, g.FinishedAt = GenerationCanceled, t.now
		var changes []ImageChange
		for n := range images {
			switch images[n].Status {
			case Queued, Generating:
				images[n].Status = Canceled
				changes = append(changes, ImageChange{Image: &images[n], Event: &Event{Kind: EventCanceled}})
			default:
				g.Status = GenerationSucceeded
			}
		}
		if err := t.changeGeneration(&g); err != nil {
			return err
		}
		return t.changeImages(changes)
	})
	if err != nil {
		return fmt.Errorf("cancel generation %s: %w", id, err)
	}
	return nil
}
