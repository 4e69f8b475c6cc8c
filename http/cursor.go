package http

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strings"
	"time"

	"afterimage/records"
)

// A cursor is opaque and signed for one person and one kind of list, so that
// nobody builds on what is in it or tries one that is not theirs.

const macLen = 12

func (s *Server) seal(kind, user string, payload []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(payload, s.mac(kind, user, payload)...))
}

func (s *Server) unseal(kind, user, cursor string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil && len(raw) > macLen && len(raw) <= 128 {
		payload := raw[:len(raw)-macLen]
		if hmac.Equal(raw[len(raw)-macLen:], s.mac(kind, user, payload)) {
			return payload, nil
		}
	}
	return nil, badRequest(codeCursor, "The cursor is broken or not yours. Start again without one.")
}

func (s *Server) mac(kind, user string, payload []byte) []byte {
	h := hmac.New(sha256.New, s.cursorKey)
	h.Write([]byte(kind + "\n" + user + "\n"))
	h.Write(payload)
	return h.Sum(nil)[:macLen]
}

func (s *Server) placeCursor(user string, p records.Place) string {
	payload := binary.BigEndian.AppendUint64(nil, uint64(p.CreatedAt.UnixMicro()))
	return s.seal("place", user, append(payload, p.ID...))
}

func (s *Server) readPlace(user, cursor string) (records.Place, error) {
	b, err := s.unseal("place", user, cursor)
	if err != nil {
		return records.Place{}, err
	}
	at := time.UnixMicro(int64(binary.BigEndian.Uint64(b)))
	return records.Place{CreatedAt: records.At(at), ID: string(b[8:])}, nil
}

func (s *Server) seqCursor(user string, seq int64) string {
	return s.seal("seq", user, binary.BigEndian.AppendUint64(nil, uint64(seq)))
}

func (s *Server) readSeq(user, cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	b, err := s.unseal("seq", user, cursor)
	if err != nil {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(b)), nil
}

type historyAnswer struct {
	Items   []any  `json:"items"`
	Cursor  string `json:"cursor"`
	HasMore bool   `json:"has_more"`
}

// history answers with what changed since a cursor; with wait only once
// something has.
func (s *Server) history(w http.ResponseWriter, r *http.Request) {
	user := viewerOf(r).user.ID
	limit, err := limitOf(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	wait, err := waitOf(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	since, err := s.readSeq(user, r.URL.Query().Get("since"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var h records.History
	err = s.hub.waitFor(r.Context(), user, wait, func() (bool, error) {
		h, err = s.DB.History(r.Context(), user, since, limit)
		return len(h.Images) > 0, err
	})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	answer := historyAnswer{Items: make([]any, len(h.Images)), Cursor: s.seqCursor(user, h.Seq), HasMore: h.HasMore}
	for n := range h.Images {
		if i := &h.Images[n]; i.DeletedAt.IsZero() {
			answer.Items[n] = s.imageJSON(r, i)
		} else {
			answer.Items[n] = deletedJSON{i.ID, "deleted"}
		}
	}
	s.writeTagged(w, r, answer)
}

// matches reports whether an If-None-Match header names a tag.
func matches(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return tag != ""
		}
	}
	return false
}
