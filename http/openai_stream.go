package http

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"afterimage/generate"
	"afterimage/records"
)

// openAIStream is an answer in events: unfinished pictures as they come, and
// each image as soon as it is safe.
type openAIStream struct {
	*openAIAnswer
	out   *bufio.Writer // nil until the first event
	given map[string]bool
}

// keepAlive is a comment. No empty line follows: some clients take one for the
// end of an event, even of none.
const keepAlive = ": still at it\n"

// openAIEvent is what an event tells of its picture, beside the base64.
type openAIEvent struct {
	Type      string `json:"type"`
	CreatedAt int64  `json:"created_at"`
	openAILook
	PartialIndex *int            `json:"partial_image_index,omitempty"`
	Revised      string          `json:"revised_prompt,omitempty"`
	Afterimage   *afterimageJSON `json:"afterimage,omitempty"`
}

// stream answers in events. What fails before the first of them is answered as
// it would be without a stream.
func (a *openAIAnswer) stream() {
	s := &openAIStream{openAIAnswer: a, given: map[string]bool{}}
	g, images, err := s.run()
	switch {
	case a.r.Context().Err() != nil: // nobody is there; the image will be in the history
	case err != nil:
		s.end(a.asOpenAI(a.r, err))
	case !a.settled(images):
		s.end(stillAtIt())
	case len(s.given) == 0:
		s.end(a.whyNot(a.r, g, images))
	default:
		s.end(nil)
	}
}

// run sends what there is to send until there is nothing more, or until an
// answer takes too long.
func (s *openAIStream) run() (g *records.Generation, images []records.Image, err error) {
	ctx, cancel := context.WithTimeout(s.r.Context(), answerHold)
	defer cancel()
	changed, done := s.hub.subscribe(s.user)
	defer done()
	again, beat := time.NewTicker(lookAgain), time.NewTicker(liveBeat)
	defer again.Stop()
	defer beat.Stop()
	for {
		if g, images, err = s.DB.Generation(ctx, s.user, s.id); err != nil {
			return nil, nil, err
		}
		if err := s.completed(g, images); err != nil || s.settled(images) {
			return g, images, err
		}
		for waiting := true; waiting; {
			select {
			case sight := <-s.sights:
				err = s.partial(sight, g, images)
			case <-beat.C:
				err = s.send(func(out *bufio.Writer) error { _, err := out.WriteString(keepAlive); return err })
			case <-changed:
				waiting = false
			case <-again.C:
				waiting = false
			case <-s.hub.closed:
				return g, images, nil
			case <-ctx.Done():
				return g, images, nil
			}
			if err != nil {
				return g, images, err
			}
		}
	}
}

// completed sends the images that are safe and were not sent yet.
func (s *openAIStream) completed(g *records.Generation, images []records.Image) error {
	ready := s.ready(images)
	for n := range ready {
		i := &ready[n]
		if s.given[i.ID] {
			continue
		}
		body, err := s.openImage(s.r.Context(), i, readAll)
		if err != nil {
			return err
		}
		item := s.item(i)
		err = s.event(body, openAIEvent{Type: s.kind + ".completed", CreatedAt: g.CreatedAt.Unix(), openAILook: lookOf(i),
			Revised: item.RevisedPrompt, Afterimage: &item.Afterimage})
		if err != nil {
			return err
		}
		s.given[i.ID] = true
	}
	return nil
}

// partial sends an unfinished picture, which is kept nowhere.
func (s *openAIStream) partial(sight generate.Sight, g *records.Generation, images []records.Image) error {
	if len(sight.Partial) == 0 || sight.Position >= len(images) {
		return nil
	}
	look := lookOf(&images[sight.Position])
	look.OutputFormat = strings.TrimPrefix(http.DetectContentType(sight.Partial), "image/")
	return s.event(io.NopCloser(strings.NewReader(string(sight.Partial))), openAIEvent{Type: s.kind + ".partial_image",
		CreatedAt: g.CreatedAt.Unix(), openAILook: look, PartialIndex: &sight.Index})
}

func (s *openAIStream) event(body io.ReadCloser, about openAIEvent) error {
	return s.send(func(out *bufio.Writer) error {
		out.WriteString("event: " + about.Type + "\ndata: ")
		if err := writeImage(out, body, about); err != nil {
			return err
		}
		_, err := out.WriteString("\n\n")
		return err
	})
}

// send writes and flushes; the headers go out with the first of it.
func (s *openAIStream) send(write func(out *bufio.Writer) error) error {
	if s.out == nil {
		h := s.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // nginx would keep events back
		s.out = bufio.NewWriterSize(s.w, 32<<10)
	}
	if err := write(s.out); err != nil {
		s.breakOff(err) // half an event is out
	}
	if err := s.out.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}

// end ends the stream, with an error if there is one.
func (s *openAIStream) end(e *openAIError) {
	if e != nil && s.out == nil {
		s.failOpenAI(s.w, s.r, e)
		return
	}
	last := []byte("data: [DONE]\n\n")
	if e != nil {
		last = errorEvent(e)
	}
	err := s.send(func(out *bufio.Writer) error { _, err := out.Write(last); return err })
	if err == nil && e == nil {
		s.attempts.handOver(s.id)
	}
}
