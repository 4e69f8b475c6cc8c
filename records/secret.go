package records

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
)

// Secret returns 32 random bytes that all instances share under a name, and
// makes them when they are first asked for.
func (db *DB) Secret(ctx context.Context, name string) ([]byte, error) {
	fresh := make([]byte, 32)
	rand.Read(fresh)
	var value string
	err := db.write(ctx, func(t *tx) error {
		_, err := t.exec(`INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING`, name, hex.EncodeToString(fresh))
		if err != nil {
			return err
		}
		return t.get(&value, `SELECT value FROM secrets WHERE name = ?`, name)
	})
	if err != nil {
		return nil, fmt.Errorf("read the secret %s: %w", name, err)
	}
	b, err := hex.DecodeString(value)
	if err != nil {
		return nil, fmt.Errorf("the secret %s in the database is damaged: %w", name, err)
	}
	return b, nil
}
