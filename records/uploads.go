package records

import (
	"context"
	"fmt"
)

// WaitingUploads are the files in spools that were uploaded for generations
// which are not over.
func (db *DB) WaitingUploads(ctx context.Context) (map[string]bool, error) {
	var list []Inputs
	err := db.all(ctx, &list, `SELECT g.inputs FROM jobs j JOIN generations g ON g.id = j.ref
		WHERE j.kind = ? AND g.inputs <> '[]'`, KindGenerate)
	if err != nil {
		return nil, fmt.Errorf("list uploads that are needed: %w", err)
	}
	files := map[string]bool{}
	for _, inputs := range list {
		for _, i := range inputs {
			if i.File != "" {
				files[i.File] = true
			}
		}
	}
	return files, nil
}
