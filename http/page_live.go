package http

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"

	"afterimage/records"
	"afterimage/web"
)

// livePage is one open page.
type livePage struct {
	*stream
	image string // the page of this image; empty: a wall
}

// live tells a page what changes after it was rendered: whole fragments, each
// image as it is now. The id of an event is where the next connection goes on.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	l := &livePage{stream: s.newStream(w, r), image: r.URL.Query().Get("image")}
	var err error
	if l.image != "" {
		_, err = s.imageOf(r, l.image)
	}
	if err == nil {
		err = l.begin()
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	l.tell = l.tellPage
	l.serve()
}

// tellPage sends what changed since the last time.
func (l *livePage) tellPage(ctx context.Context) error {
	for {
		h, err := l.DB.History(ctx, l.user.ID, l.seq, liveImages)
		if err != nil || h.Seq == l.seq {
			return err
		}
		l.seq = h.Seq
		html, err := l.fragment(ctx, h.Images)
		if err != nil {
			return err
		}
		if html != "" {
			if err := l.send(l.event(html)); err != nil {
				return err
			}
		}
		if !h.HasMore {
			return nil
		}
	}
}

// fragment is what replaces changed images on the page; empty if none of them
// is there. Deleted ones stay until the page is loaded again.
func (l *livePage) fragment(ctx context.Context, images []records.Image) (string, error) {
	var html bytes.Buffer
	var tiles []web.Tile
	for n := range images {
		i := &images[n]
		switch {
		case !i.DeletedAt.IsZero():
		case l.image == "":
			tiles = append(tiles, l.tile(i))
		case l.image == i.ID:
			view, err := l.readImageView(ctx, l.layout(l.r, ""), l.user.ID, i.ID)
			if err != nil {
				return "", err
			}
			err = l.Site.RenderImage(&html, l.lang, view)
			return html.String(), err
		}
	}
	if len(tiles) == 0 {
		return "", nil
	}
	err := l.Site.RenderTiles(&html, l.lang, tiles)
	return html.String(), err
}

// lineEnds are all that end a line in an event stream. A prompt may have any
// of them.
var lineEnds = strings.NewReplacer("\r\n", "\ndata: ", "\r", "\ndata: ", "\n", "\ndata: ")

func (l *livePage) event(html string) []byte {
	return fmt.Appendf(nil, "id: %s\ndata: %s\n\n", l.seqCursor(l.user.ID, l.seq), lineEnds.Replace(strings.TrimSpace(html)))
}
