package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Input is an image that a generation starts from: one of its owner's own, or
// one that was uploaded for it and lies in a spool.
type Input struct {
	ImageID string `json:"image,omitempty"`

	File    string `json:"file,omitempty"`  // the name in the spool
	SpoolID string `json:"spool,omitempty"` // which has it
	MIME    string `json:"mime,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
	Width   int    `json:"width,omitempty"`
	Height  int    `json:"height,omitempty"`

	Mask bool `json:"mask,omitempty"` // says what to change of the first one
}

// Inputs are in the order in which the provider gets them.
type Inputs []Input

// Scan implements sql.Scanner.
func (i *Inputs) Scan(src any) error { return scanJSON(src, i) }

// spoolOf is the spool that holds uploads, empty if there are none.
func spoolOf(inputs []Input) string {
	for _, i := range inputs {
		if i.SpoolID != "" {
			return i.SpoolID
		}
	}
	return ""
}

// Call is one call of a provider, written before it is made.
type Call struct {
	ID        string `json:"id"`
	Positions []int  `json:"positions"` // of the images it is for, in the order of what the provider gives
	// Task is what the provider calls it; empty: it gave no name, or its answer
	// never came.
	Task string `json:"task,omitempty"`
	At   Time   `json:"at"`             // when it began
	Done bool   `json:"done,omitempty"` // its outcome is known
}

// Calls are in the order in which they were made.
type Calls []Call

// Scan implements sql.Scanner.
func (c *Calls) Scan(src any) error { return scanJSON(src, c) }

// Of finds the last call that was made for the image at a position.
func (c Calls) Of(position int) (Call, bool) {
	for _, one := range slices.Backward(c) {
		if slices.Contains(one.Positions, position) {
			return one, true
		}
	}
	return Call{}, false
}

// open reports that the provider works on something that has a name.
func (c Calls) open() bool {
	return slices.ContainsFunc(c, func(one Call) bool { return !one.Done && one.Task != "" })
}

// SaveCalls writes what was asked of the provider, while the job is ours.
// BeginCall does so before a call.
func (db *DB) SaveCalls(ctx context.Context, f Fence, generationID string, calls Calls) error {
	err := db.write(ctx, func(t *tx) error {
		if err := t.hold(f); err != nil {
			return err
		}
		_, err := t.exec(`UPDATE generations SET calls = ? WHERE id = ?`, jsonText(calls), generationID)
		return err
	})
	if err != nil {
		return fmt.Errorf("record the calls of generation %s: %w", generationID, err)
	}
	return nil
}

// ShowProgress says how far a running generation is, in per cent.
func (db *DB) ShowProgress(ctx context.Context, f Fence, generationID string, percent int) error {
	err := db.write(ctx, func(t *tx) error {
		if err := t.hold(f); err != nil {
			return err
		}
		if _, err := t.exec(`UPDATE generations SET progress = ? WHERE id = ?`, percent, generationID); err != nil {
			return err
		}
		var images []Image
		err := t.all(&images, `SELECT `+imageColumns+` FROM images WHERE generation_id = ? AND status = 'generating'`, generationID)
		changes := make([]ImageChange, len(images)) // for those who watch them
		for n := range images {
			changes[n] = ImageChange{Image: &images[n]}
		}
		return errors.Join(err, t.changeImages(changes))
	})
	if err != nil {
		return fmt.Errorf("show the progress of generation %s: %w", generationID, err)
	}
	return nil
}

func (t *tx) enqueueGenerate(g *Generation) error {
	_, err := t.enqueue(newJob{kind: KindGenerate, ref: g.ID, userID: g.UserID, spoolID: spoolOf(g.Inputs), pool: g.Provider})
	return err
}

func scanJSON(src, into any) error {
	var text []byte
	switch v := src.(type) {
	case string:
		text = []byte(v)
	case []byte:
		text = v
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read a column's JSON: %w", err)
	}
	return nil
}

// jsonText is a list's column value; ours always is JSON.
func jsonText[T any](list []T) string {
	if len(list) == 0 {
		return "[]"
	}
	b, err := json.Marshal(list)
	if err != nil {
		return "[]"
	}
	return string(b)
}
