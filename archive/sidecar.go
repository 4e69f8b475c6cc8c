package archive

import (
	stdbytes "bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"afterimage/records"
	"afterimage/storage"
)

// Sidecar is what the store keeps about an image beside its bytes, so that
// people's histories can be restored from the store alone. It says what lasts,
// the owner's marks among it, and holds no secrets. Times are in UTC.
type Sidecar struct {
	Version         int                `json:"version"` // of this form: 1
	ID              string             `json:"id"`
	Owner           string             `json:"owner"` // the username
	Prompt          string             `json:"prompt"`
	NegativePrompt  string             `json:"negative_prompt,omitempty"`
	Provider        string             `json:"provider,omitempty"`
	Model           string             `json:"model,omitempty"`
	Params          records.Params     `json:"params,omitempty"`
	ProviderMessage string             `json:"provider_message,omitempty"`
	Object          string             `json:"object"` // its key
	MIME            string             `json:"mime"`
	Bytes           int64              `json:"bytes"`
	Width           int                `json:"width"`
	Height          int                `json:"height"`
	SHA256          string             `json:"sha256"`
	Thumb           string             `json:"thumb,omitempty"`       // jpg, png or none; empty: not drawn yet
	Placeholder     string             `json:"placeholder,omitempty"` // base64 of a thumbhash
	Attempt         int                `json:"attempt"`
	Favorite        bool               `json:"favorite"`
	CreatedAt       records.Time       `json:"created_at"`
	ArchivedAt      records.Time       `json:"archived_at"`
	TrashedAt       records.Time       `json:"trashed_at"`
	SourceExpiresAt records.Time       `json:"source_expires_at"`
	Generation      *SidecarGeneration `json:"generation,omitempty"`
	Import          *SidecarImport     `json:"import,omitempty"`
}

// SidecarGeneration is the request that an image was made for. What was asked
// for may differ from what an image was made with.
type SidecarGeneration struct {
	ID             string         `json:"id"`
	Position       int            `json:"position"` // of the image within it
	N              int            `json:"n"`
	Provider       string         `json:"provider"`
	Model          string         `json:"model"`
	Prompt         string         `json:"prompt"`
	NegativePrompt string         `json:"negative_prompt,omitempty"`
	Params         records.Params `json:"params,omitempty"`
	CreatedAt      records.Time   `json:"created_at"`
	SubmittedAt    records.Time   `json:"submitted_at"`
	FinishedAt     records.Time   `json:"finished_at"`
}

// SidecarImport is the import that an image came with.
type SidecarImport struct {
	ID        string       `json:"id"`
	Position  int          `json:"position"`
	CreatedAt records.Time `json:"created_at"`
}

const sidecarVersion = 1

func newSidecar(i *records.Image, o records.Origin) Sidecar {
	s := Sidecar{
		Version: sidecarVersion, ID: i.ID, Owner: o.Owner,
		Prompt: i.Prompt, NegativePrompt: i.NegativePrompt, Provider: i.Provider, Model: i.Model, Params: i.Params,
		ProviderMessage: i.ProviderMessage, Object: i.ObjectKey,
		MIME: i.MIME, Bytes: i.Bytes, Width: i.Width, Height: i.Height, SHA256: i.SHA256,
		Thumb: i.Thumb, Placeholder: i.Placeholder, Attempt: i.Attempt, Favorite: i.Favorite,
		CreatedAt: i.CreatedAt, ArchivedAt: i.ArchivedAt, TrashedAt: i.TrashedAt, SourceExpiresAt: i.SourceExpiresAt,
	}
	if g := o.Generation; g != nil {
		s.Generation = &SidecarGeneration{
			ID: g.ID, Position: i.Position, N: g.N, Provider: g.Provider, Model: g.Model, Prompt: g.Prompt,
			NegativePrompt: g.NegativePrompt, Params: g.Params,
			CreatedAt: g.CreatedAt, SubmittedAt: g.SubmittedAt, FinishedAt: g.FinishedAt,
		}
	}
	if i.ImportID != nil {
		s.Import = &SidecarImport{ID: *i.ImportID, Position: i.Position, CreatedAt: o.ImportedAt}
	}
	return s
}

const sidecars = "meta/"

// sidecarPrefix is where an image's sidecar lies. The rest of the key is
// random: whoever knows an image's address must not be able to guess it, even
// if the bucket is public.
func sidecarPrefix(id string) string { return sidecars + dated(id) + "-" }

func sidecarKey(i *records.Image) string { return sidecarPrefix(i.ID) + i.Sidecar + ".json" }

// writeSidecar writes an image's sidecar. Somebody may be changing the image
// meanwhile, and another instance may be writing too: whoever finds after the
// write that it is outdated writes again, so the last one is right.
func (a *Archiver) writeSidecar(ctx context.Context, i *records.Image) error {
	if err := a.DB.GiveSidecar(ctx, i); err != nil {
		return err
	}
	for now, written := *i, []byte(nil); ; {
		origin, err := a.DB.Origin(ctx, &now)
		if err != nil {
			return err
		}
		body, err := json.MarshalIndent(newSidecar(&now, origin), "", "  ")
		if err != nil {
			return fmt.Errorf("write a sidecar: %w", err)
		}
		if stdbytes.Equal(body, written) {
			return nil
		}
		if err := a.putSidecar(ctx, sidecarKey(&now), body); err != nil {
			return err
		}
		written = body
		again, err := a.DB.ImageByLink(ctx, i.ID)
		if errors.Is(err, records.ErrNotFound) {
			return nil // deleted; the sidecar goes when this job turns out to be lost
		}
		if err != nil {
			return err
		}
		again.Thumb, again.Placeholder = i.Thumb, i.Placeholder // about to be settled
		now = *again
	}
}

func (a *Archiver) putSidecar(ctx context.Context, key string, body []byte) error {
	_, err := a.Store.Put(ctx, storage.Object{
		Key: key, ContentType: "application/json", Size: int64(len(body)), SHA256: sha256.Sum256(body),
	}, stdbytes.NewReader(body))
	return err
}

// removeSidecar deletes whatever the store holds of an image's sidecar.
func (a *Archiver) removeSidecar(ctx context.Context, id string) error {
	return a.removeAll(ctx, sidecarPrefix(id))
}

// removeAll deletes what an image has under a prefix.
func (a *Archiver) removeAll(ctx context.Context, prefix string) error {
	found, err := a.Store.List(ctx, prefix, "", 0)
	for _, o := range found {
		err = errors.Join(err, a.Store.Delete(ctx, o.Key))
	}
	return err
}
