package http

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"afterimage/generate"
	"afterimage/records"
)

// openAIAnswer is one answer on its way: from the request to the last byte.
type openAIAnswer struct {
	*Server
	w    http.ResponseWriter
	r    *http.Request
	kind string // image_generation or image_edit, as events are named
	req  *openAIRequest

	user   string
	id     string // of the generation
	sights <-chan generate.Sight
	leave  func() // nobody waits here any more
}

// retryCount is the header by which OpenAI's own clients say that they send a
// request once more.
const retryCount = "X-Stainless-Retry-Count"

// place records what was asked for, or finds what an earlier attempt at it
// recorded.
func (a *openAIAnswer) place() error {
	v := viewerOf(a.r)
	a.user = v.user.ID
	key, err := idempotencyOf(a.r, a.req.digest)
	if err != nil {
		a.dropInputs(a.req.inputs)
		return err
	}
	req := a.req.generationRequest
	req.id = records.NewID()
	req.attempt.Fingerprint = fingerprint(v, a.req.digest)
	if count := a.r.Header.Get(retryCount); count != "" && count != "0" {
		req.attempt.Join = a.attempts.join
	}
	a.look(req.id)
	// Whoever goes away just now shall not leave half of it.
	g, _, err := a.generate(context.WithoutCancel(a.r.Context()), a.user, req, key)
	if err != nil {
		a.leave()
		return err
	}
	if g.ID != req.id {
		a.leave()
		a.look(g.ID)
	}
	return nil
}

// look begins to wait for a generation, before there is one.
func (a *openAIAnswer) look(id string) {
	a.id = id
	done := a.attempts.wait(id)
	a.leave = done
	if a.req.partials == 0 || a.Watch == nil {
		return
	}
	sights, stop := a.Watch(id)
	a.sights, a.leave = sights, func() { stop(); done() }
}

// answerHold is how long an answer waits for its images: longer than a provider
// may take and the archive worker may try. Most clients give up before.
const answerHold = 40 * time.Minute

// answer waits for all images and writes them in one piece.
func (a *openAIAnswer) answer() {
	var g *records.Generation
	var images []records.Image
	settled := false
	err := a.hub.waitFor(a.r.Context(), a.user, answerHold, func() (_ bool, err error) {
		g, images, err = a.DB.Generation(a.r.Context(), a.user, a.id)
		settled = err == nil && a.settled(images)
		return settled, err
	})
	switch ready := a.ready(images); {
	case a.r.Context().Err() != nil: // nobody is there; the image will be in the history
	case err != nil:
		a.fail(a.w, a.r, err)
	case !settled:
		a.fail(a.w, a.r, stillAtIt())
	case len(ready) == 0:
		a.fail(a.w, a.r, a.whyNot(a.r, g, images))
	default:
		a.write(g, ready)
	}
}

// settled reports whether nothing more is to be waited for.
func (a *openAIAnswer) settled(images []records.Image) bool {
	for n := range images {
		if !a.has(&images[n]) && !images[n].Status.Final() {
			return false
		}
	}
	return true
}

// has reports whether an image can be handed over: its bytes are safe and, if
// they are what was asked for, can be read here.
func (a *openAIAnswer) has(i *records.Image) bool {
	if a.req.format == formatURL {
		return i.Secured()
	}
	return i.ObjectKey != "" || i.SpoolID == a.Spool.ID()
}

// ready are the images that can be handed over.
func (a *openAIAnswer) ready(images []records.Image) (list []records.Image) {
	for _, i := range images {
		if a.has(&i) {
			list = append(list, i)
		}
	}
	return list
}

// openAIItem is one image of an answer, but for its base64.
type openAIItem struct {
	URL           string         `json:"url,omitempty"`
	RevisedPrompt string         `json:"revised_prompt,omitempty"`
	Afterimage    afterimageJSON `json:"afterimage"`
}

// afterimageJSON is the one thing that OpenAI's answers do not have.
type afterimageJSON struct {
	ID     string  `json:"id"`
	Status string  `json:"status"`
	SHA256 *string `json:"sha256"`
	URL    string  `json:"url"`
}

func (a *openAIAnswer) item(i *records.Image) openAIItem {
	item := openAIItem{Afterimage: afterimageJSON{ID: i.ID, Status: string(i.Status), SHA256: optional(i.SHA256), URL: a.BaseURL + "/img/" + i.ID}}
	item.RevisedPrompt, _ = i.Params["revised_prompt"].(string)
	if a.req.format == formatURL {
		item.URL = item.Afterimage.URL
	}
	return item
}

// openAILook is what an image looks like, as answers and events tell it.
type openAILook struct {
	Background   string `json:"background,omitempty"`
	OutputFormat string `json:"output_format,omitempty"`
	Quality      string `json:"quality,omitempty"`
	Size         string `json:"size"`
}

func lookOf(i *records.Image) (l openAILook) {
	l.Background, _ = i.Params["background"].(string)
	l.Quality, _ = i.Params["quality"].(string)
	l.OutputFormat = strings.TrimPrefix(i.MIME, "image/")
	l.Size = "auto"
	if i.Width > 0 {
		l.Size = fmt.Sprintf("%dx%d", i.Width, i.Height)
	}
	return l
}

// write writes the answer while it reads the images: however many and large
// they are, no more than a buffer of them is in memory.
func (a *openAIAnswer) write(g *records.Generation, images []records.Image) {
	bodies, err := a.open(images)
	if err != nil {
		a.fail(a.w, a.r, err)
		return
	}
	defer func() {
		for _, b := range bodies {
			b.Close()
		}
	}()
	h := a.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	out := bufio.NewWriterSize(a.w, 32<<10)
	fmt.Fprintf(out, `{"created":%d,"data":[`, g.CreatedAt.Unix())
	for n := range images {
		if n > 0 {
			out.WriteByte(',')
		}
		if err := writeImage(out, bodies[n], a.item(&images[n])); err != nil {
			a.breakOff(err)
		}
	}
	out.WriteString(`],`)
	text, _ := json.Marshal(lookOf(&images[0])) // plain values: cannot fail
	out.Write(text[1:])
	if err := out.Flush(); err == nil {
		a.attempts.handOver(a.id)
	} // else the client went away: its repeat finds the same images
}

// open opens each image whose bytes go into the answer, so that one that is
// missing is an answer of its own. An object is read from its store only when
// its turn comes.
func (a *openAIAnswer) open(images []records.Image) ([]io.ReadCloser, error) {
	bodies := make([]io.ReadCloser, len(images))
	for n := range images {
		bodies[n] = http.NoBody
		if a.req.format != formatBytes {
			continue
		}
		body, err := a.openImage(a.r.Context(), &images[n], readAll)
		if err != nil {
			for _, b := range bodies[:n] {
				b.Close()
			}
			return nil, err
		}
		bodies[n] = body
	}
	return bodies, nil
}

// breakOff ends an answer of which a part is out already, so that nobody takes
// it for whole.
func (a *openAIAnswer) breakOff(err error) {
	if a.r.Context().Err() == nil {
		a.Log.Error("an answer broke off", "request", requestID(a.r), "generation", a.id, "err", err)
	}
	panic(http.ErrAbortHandler)
}

// writeImage writes an object: its base64, if there are bytes, and then about,
// which is never empty.
func writeImage(out *bufio.Writer, body io.ReadCloser, about any) error {
	defer body.Close()
	out.WriteByte('{')
	if body != http.NoBody {
		out.WriteString(`"b64_json":"`)
		encoder := base64.NewEncoder(base64.StdEncoding, out)
		if _, err := io.Copy(encoder, body); err != nil {
			return err
		}
		if err := encoder.Close(); err != nil {
			return err
		}
		out.WriteString(`",`)
	}
	text, err := json.Marshal(about)
	if err != nil {
		return err
	}
	_, err = out.Write(text[1:]) // without its brace
	return err
}
