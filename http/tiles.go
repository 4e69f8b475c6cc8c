package http

import (
	"cmp"
	"crypto/rand"

	"afterimage/archive"
	"afterimage/archive/thumbs"
	"afterimage/records"
	"afterimage/web"
)

// tile is an image as a wall shows it.
func (s *Server) tile(i *records.Image) web.Tile {
	t := web.Tile{
		ID: i.ID, Prompt: i.Prompt, Status: string(i.Status), Reason: s.reason(i),
		Attempt: i.Attempt, MaxAttempts: s.MaxAttempts, CanRetry: i.Retryable(), Secured: i.Secured(),
		NextAttemptAt: s.nextAttempt(i).Time, SourceExpires: i.SourceExpiresAt.Time,
		CreatedAt: i.CreatedAt.Time, TrashedAt: i.TrashedAt.Time,
		Width: i.Width, Height: i.Height, Favorite: i.Favorite, Placeholder: i.Placeholder,
	}
	if archive.ThumbType(i) != "" {
		for _, size := range thumbs.Sizes(i.Width, i.Height) {
			width, _ := thumbs.Fit(i.Width, i.Height, size)
			t.Thumbs = append(t.Thumbs, web.Thumb{Size: size, Width: width})
		}
	}
	if i.Status == records.Generating || i.Status == records.Archiving {
		t.StartedAt = i.UpdatedAt.Time // the change to this state
	}
	return t
}

func (s *Server) tiles(images []records.Image) []web.Tile {
	list := make([]web.Tile, len(images))
	for n := range images {
		list[n] = s.tile(&images[n])
	}
	return list
}

// imageView is an image as its own page shows it, without what surrounds it.
func (s *Server) imageView(l web.Layout, i *records.Image, events []records.Event) web.ImageView {
	v := web.ImageView{
		Layout: l, Tile: s.tile(i), NegativePrompt: i.NegativePrompt, Provider: i.Provider, Model: i.Model,
		ProviderMessage: i.ProviderMessage, MIME: i.MIME, Bytes: i.Bytes, SHA256: i.SHA256,
		ArchivedAt: i.ArchivedAt.Time, BaseURL: s.BaseURL, IdempotencyKey: rand.Text(), CanEdit: len(s.modelsForImages()) > 0,
	}
	v.Seed, v.HasSeed = seedOf(i)
	for _, e := range events {
		line := s.event(i, e)
		if e.Kind == records.EventGenerated {
			v.Took = line.Took
		}
		if e.Reason != "" && e.Reason == i.Reason {
			v.Reason.Detail = cmp.Or(e.Detail, v.Reason.Detail) // the latest
		}
		v.Events = append(v.Events, line)
	}
	if !l.IsAdmin {
		v.Reason.Detail = ""
		for n := range v.Events {
			v.Events[n].Reason.Detail = ""
		}
	}
	return v
}

// seedOf is the seed that makes this very image: the one of its request counts
// up from image to image, until each has its own on record.
func seedOf(i *records.Image) (int64, bool) {
	seed, ok := i.Params.Int("seed")
	if ok && !i.Secured() && i.SourceURL == "" {
		seed += int64(i.Position)
	}
	return seed, ok
}

// liveURL is the event stream that goes on from a change number.
func (s *Server) liveURL(user string, seq int64, image string) string {
	url := "/live?since=" + s.seqCursor(user, seq)
	if image != "" {
		url += "&image=" + image
	}
	return url
}
