package storage

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// gofakes3 and s3rver stored the trailer's framing as part of the object and
// said yes; versitygw#2414 published half an upload; a proxy may change a byte
// and keep the size. Whatever the server checks, that is never a success, and
// what is not the object is not left there.
func TestAServerThatStoresOtherBytesIsNoSuccess(t *testing.T) {
	for _, change := range []struct {
		name   string
		alters func([]byte) []byte
	}{
		{"framing stored", func(b []byte) []byte { return append([]byte("7\r\n"), append(b, "\r\n"...)...) }},
		{"half published", func(b []byte) []byte { return b[:len(b)/2] }},
		{"a byte changed", func(b []byte) []byte { return bytes.Replace(b, []byte("i"), []byte("j"), 1) }},
		{"nothing kept", func([]byte) []byte { return nil }},
	} {
		for _, server := range serversByProof() {
			t.Run(change.name+", "+server.name, func(t *testing.T) {
				stub := newStub(t, server.adapt)
				s := stub.store(t)
				noError(t, s.Check(t.Context()))
				stub.alters = change.alters
				_, err := s.Put(t.Context(), object("a.png", "picture"), strings.NewReader("picture"))
				if e := wantReason(t, err, ReasonError); e.Setting != "S3_ENDPOINT" {
					t.Errorf("names %q: %v", e.Setting, err)
				}
				if left, ok := stub.held("/bucket/a.png"); ok {
					t.Errorf("%q is still there", left)
				}
			})
		}
	}
}

type serverByProof struct {
	name        string
	adapt       func(*stub)
	proof       string
	heads, gets int  // for each put
	md5         bool // is sent
}

func serversByProof() []serverByProof {
	return []serverByProof{
		{"which compares the signed hash: nothing is read back", func(*stub) {},
			"the server checks the signed SHA-256", 0, 0, false},
		{"which compares only Content-MD5: its size is read back", func(s *stub) { s.careless, s.checksMD5 = true, true },
			"the server checks Content-MD5, and its size is read back", 1, 0, true},
		{"which compares nothing but answers the MD5: its ETag is read back", func(s *stub) { s.careless, s.etagMD5 = true, true },
			"the server checks nothing, so each object is read back", 1, 0, true},
		{"which compares nothing and has ETags of another kind: all is read back", func(s *stub) { s.careless = true },
			"the server checks nothing, so each object is read back", 1, 1, true},
	}
}

// Reading back costs a request for each image; a server that refused a wrong
// hash once has proven every later put by saying yes.
func TestWhatIsReadBackIsWhatTheServerDoesNotProve(t *testing.T) {
	for _, row := range serversByProof() {
		t.Run(row.name, func(t *testing.T) {
			server := newStub(t, row.adapt)
			s := server.store(t)
			noError(t, s.Check(t.Context()))
			for range 3 {
				put(t, s, "a.png", "picture")
			}
			heads, gets := len(server.seen(http.MethodHead)), len(server.seen(http.MethodGet))
			if heads != 3*row.heads || gets != 3*row.gets {
				t.Errorf("%d HEADs and %d GETs for 3 puts, want %d and %d for each", heads, gets, row.heads, row.gets)
			}
			if got := s.Proof(); got != row.proof {
				t.Errorf("it says: %s; want: %s", got, row.proof)
			}
			for _, r := range server.seen(http.MethodPut) {
				if sent := r.Header.Get("Content-Md5") != ""; sent != row.md5 {
					t.Errorf("Content-MD5 sent: %v", sent)
				}
			}
			if len(server.objects) != 1 {
				t.Errorf("a probe is left behind: %d objects", len(server.objects))
			}
		})
	}
}

// Until the server is known it is trusted with nothing, and the first put finds
// out: none has to wait for a check.
func TestTheFirstPutFindsOutWhatTheServerProves(t *testing.T) {
	server := newStub(t, func(*stub) {})
	s := server.store(t)
	if got := s.Proof(); got != "not known yet" {
		t.Errorf("before any request: %s", got)
	}
	put(t, s, "a.png", "picture")
	put(t, s, "b.png", "picture")
	puts := server.seen(http.MethodPut)
	if len(puts) != 2 || puts[0].Header.Get("Content-Md5") == "" || puts[1].Header.Get("Content-Md5") != "" {
		t.Errorf("%d puts; only the first should carry an MD5", len(puts))
	}
}

// A body that changed in the spool must not pause the whole store: bytes are
// looked at before anybody is blamed, and do not get to a server that would not
// notice.
func TestWrongBytesAreBlamedOnWhoeverChangedThem(t *testing.T) {
	for _, row := range serversByProof() {
		t.Run("our bytes, and a server "+row.name, func(t *testing.T) {
			server := newStub(t, row.adapt)
			s := server.store(t)
			noError(t, s.Check(t.Context()))
			_, err := s.Put(t.Context(), object("a.png", "picture"), strings.NewReader("pictura"))
			wantReason(t, err, ReasonMismatch)
			if _, held := server.held("/bucket/a.png"); held {
				t.Error("the server holds them")
			}
		})
	}
	t.Run("a proxy", func(t *testing.T) {
		for _, code := range []string{"XAmzContentSHA256Mismatch", "BadDigest"} {
			_, err := answering(t, http.StatusBadRequest, code).store(t).Put(t.Context(), object("a.png", "picture"), strings.NewReader("picture"))
			if e := wantReason(t, err, ReasonError); e.Setting != "S3_ENDPOINT" {
				t.Errorf("%s names %q", code, e.Setting)
			}
		}
	})
}
