package http

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// keyFresh is how long a key that was looked up is believed: a poller
	// must not cost a query for each request. A key that another instance or
	// the command line revokes works that much longer.
	keyFresh = 5 * time.Second
	// maxKeys bounds the memory; beyond it all are forgotten.
	maxKeys = 10_000
)

// keys remembers API keys by the hash of their secret.
type keys struct {
	mu      sync.Mutex
	known   map[[sha256.Size]byte]knownKey
	version int // rises when all are forgotten, so that a look-up from before is not kept
}

type knownKey struct {
	viewer *viewer // never changed
	at     time.Time
}

// forget makes every key be looked up again: one was revoked, or a person
// changed.
func (k *keys) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known = nil
	k.version++
}

func (k *keys) get(secret [sha256.Size]byte) (v *viewer, version int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known, ok := k.known[secret]; ok && time.Since(known.at) < keyFresh {
		return known.viewer, k.version
	}
	return nil, k.version
}

func (k *keys) keep(secret [sha256.Size]byte, version int, v *viewer, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.version != version {
		return
	}
	if k.known == nil || len(k.known) >= maxKeys {
		k.known = map[[sha256.Size]byte]knownKey{}
	}
	k.known[secret] = knownKey{v, at}
}

// lookUpKey finds out whose a key is, from memory while that is fresh.
func (s *Server) lookUpKey(ctx context.Context, secret string) (*viewer, error) {
	hash := sha256.Sum256([]byte(secret))
	v, version := s.keys.get(hash)
	if v != nil && (v.key.ExpiresAt.IsZero() || v.key.ExpiresAt.After(s.DB.Now().Time)) {
		return v, nil
	}
	asked := time.Now()
	key, user, err := s.DB.KeyUser(ctx, secret)
	if err != nil {
		return nil, err
	}
	if err := s.DB.TouchKey(ctx, key); err != nil {
		s.Log.Warn("the use of an API key was not recorded", "key", key.ID, "err", err)
	}
	v = &viewer{user: user, key: key}
	s.keys.keep(hash, version, v, asked)
	return v, nil
}
