package storage

import (
	"errors"
	"io/fs"
	"path"
	"time"
)

// quarantineDir is where files of the spool wait that nobody knows.
const quarantineDir = ".quarantine" // no id begins with a dot

// Quarantine takes a file out of the spool without losing it: it stays on the
// same disk until EmptyQuarantine. A missing file is no error.
func (s *Spool) Quarantine(id string) error {
	const op = "quarantine spool file"
	if !validSegment(id) {
		return badSpoolID(op, id)
	}
	if err := s.root.MkdirAll(quarantineDir, 0o700); err != nil {
		return diskError(op, id, err)
	}
	name := path.Join(quarantineDir, id)
	if err := s.root.Rename(id, name); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return diskError(op, id, err)
	}
	now := time.Now()
	if err := s.root.Chtimes(name, now, now); err != nil { // its time here begins
		return diskError(op, id, err)
	}
	return nil
}

// EmptyQuarantine removes what was put there longer ago than age, and says how
// many files that were.
func (s *Spool) EmptyQuarantine(age time.Duration) (removed int, err error) {
	const op = "empty quarantine"
	entries, err := fs.ReadDir(s.root.FS(), quarantineDir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, diskError(op, "", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < age {
			continue // gone meanwhile, or too young
		}
		if err := s.root.Remove(path.Join(quarantineDir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, diskError(op, e.Name(), err)
		}
		removed++
	}
	return removed, nil
}
