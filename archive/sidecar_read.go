package archive

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"afterimage/records"
)

// check refuses what we would not have written: the store may have been in
// other hands.
func (s *Sidecar) check(id string) error {
	sum, err := hex.DecodeString(s.SHA256)
	switch {
	case s.Version != sidecarVersion:
		return fmt.Errorf("it has version %d, this program knows %d", s.Version, sidecarVersion)
	case s.ID != id:
		return errors.New("it is about another image")
	case !records.IsUsername(s.Owner):
		return errors.New("it has no owner")
	case !strings.HasPrefix(s.Object, objectKey(id)+"."):
		return errors.New("it names an object that is not the image's")
	case err != nil || len(sum) != 32 || s.Bytes <= 0 || s.Width <= 0 || s.Height <= 0 || s.MIME == "":
		return errors.New("it does not say what the object is")
	case s.CreatedAt.IsZero() || s.ArchivedAt.IsZero():
		return errors.New("it has no time")
	case s.Generation != nil && (!records.IsID(s.Generation.ID) || s.Generation.CreatedAt.IsZero()):
		return errors.New("it names no generation")
	case s.Import != nil && (!records.IsID(s.Import.ID) || s.Import.CreatedAt.IsZero()):
		return errors.New("it names no import")
	}
	return nil
}

// restorable is the image that a sidecar describes.
func (s *Sidecar) restorable() records.Restorable {
	k := records.Restorable{Image: records.Image{
		ID: s.ID, Status: records.Archived,
		Prompt: s.Prompt, NegativePrompt: s.NegativePrompt, Provider: s.Provider, Model: s.Model, Params: s.Params,
		ProviderMessage: s.ProviderMessage, ObjectKey: s.Object, MIME: s.MIME, Bytes: s.Bytes, Width: s.Width, Height: s.Height,
		SHA256: s.SHA256, Thumb: s.Thumb, Placeholder: s.Placeholder, Attempt: s.Attempt, Favorite: s.Favorite,
		CreatedAt: s.CreatedAt, ArchivedAt: s.ArchivedAt, TrashedAt: s.TrashedAt, SourceExpiresAt: s.SourceExpiresAt,
	}, Origin: records.Origin{Owner: s.Owner}}
	k.UpdatedAt = k.ArchivedAt
	if k.TrashedAt.After(k.UpdatedAt.Time) {
		k.UpdatedAt = k.TrashedAt
	}
	if g := s.Generation; g != nil {
		k.GenerationID, k.Position = &g.ID, g.Position
		k.Generation = &records.Generation{ID: g.ID, N: g.N, Provider: g.Provider, Model: g.Model, Prompt: g.Prompt,
			NegativePrompt: g.NegativePrompt, Params: g.Params, CreatedAt: g.CreatedAt, SubmittedAt: g.SubmittedAt, FinishedAt: g.FinishedAt}
	}
	if s.Import != nil {
		k.ImportID, k.Position, k.ImportedAt = &s.Import.ID, s.Import.Position, s.Import.CreatedAt
	}
	return k
}
